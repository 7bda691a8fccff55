"""
The zip that a voice travels in, in the one way Timbre writes it.

Names, sizes and checksums of the parts decide every other byte: nothing is packed tighter, no part
is locked, dated or a link, and nothing lies between, before or behind. So the reader makes those
bytes anew and compares. What two programs could understand in two ways is refused by that alone.
"""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, NoReturn

from engines.errors import BundleError

MOST_PARTS = 1000
MOST_NAME_BYTES = 150
NOTHING_KEPT = "Nothing of it was kept."
AGAIN = f"{NOTHING_KEPT} Ask for the file again, as Timbre wrote it."
DISTRUST = f"{NOTHING_KEPT} Do not use this file, and tell whoever gave it to you."

_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR = struct.Struct("<4sLQL")
_LOCAL_SIGN, _CENTRAL_SIGN, _END_SIGN = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
_END_64_SIGN, _LOCATOR_SIGN = b"PK\x06\x06", b"PK\x06\x07"
_ZIP_64 = 1  # the id of the field that holds what needs more than 32 bits
_FULL_16, _FULL_32 = 0xFFFF, 0xFFFFFFFF
_PLAIN, _LARGE = 20, 45  # the version of the format that a reader must know
_UNIX = 3 << 8
_DATE = 0x21  # 1 January 1980, the first day a zip knows: the same voice makes the same bytes
_FILE_MODE = 0o100644
_LOCKED = 0x2041
_MOST_DIRECTORY_BYTES = MOST_PARTS * (_CENTRAL.size + MOST_NAME_BYTES + 28) + 98


@dataclass(frozen=True, slots=True)
class Part:
    """One file in the zip."""

    name: str
    size: int
    crc: int
    at: int
    """Where its head begins in the file."""

    @property
    def start(self) -> int:
        """Where its content does."""
        return self.at + len(head(self))

    @property
    def end(self) -> int:
        return self.start + self.size


# -- What a list of parts looks like in bytes --------------------------------------------------


def head(part: Part) -> bytes:
    """The bytes before the content of a part."""
    large = part.size >= _FULL_32
    size = _FULL_32 if large else part.size
    extra = struct.pack("<2H2Q", _ZIP_64, 16, part.size, part.size) if large else b""
    name = part.name.encode("ascii")
    needs = _LARGE if large else _PLAIN
    start = _LOCAL.pack(
        *(_LOCAL_SIGN, needs, 0, 0, 0, _DATE, part.crc, size, size, len(name), len(extra))
    )
    return start + name + extra


def in_order(named: Iterable[tuple[str, int, int]]) -> list[Part]:
    """Parts of these names, sizes and checksums, one right behind the other."""
    parts: list[Part] = []
    for name, size, crc in named:
        parts.append(Part(name, size, crc, parts[-1].end if parts else 0))
    return parts


def tail(parts: Sequence[Part]) -> bytes:
    """The list of all parts, as it stands at the end of the file."""
    directory = b"".join(map(_listed, parts))
    count, length, begins = len(parts), len(directory), parts[-1].end if parts else 0
    large = b""
    if begins >= _FULL_32:
        versions = (_UNIX | _LARGE, _LARGE, 0, 0)
        size = _END_64.size - 12
        large = _END_64.pack(_END_64_SIGN, size, *versions, count, count, length, begins)
        large += _LOCATOR.pack(_LOCATOR_SIGN, 0, begins + length, 1)
    end = _END.pack(_END_SIGN, 0, 0, count, count, length, min(begins, _FULL_32), 0)
    return directory + large + end


def _listed(part: Part) -> bytes:
    wide = [part.size] * 2 if part.size >= _FULL_32 else []
    wide += [part.at] if part.at >= _FULL_32 else []
    extra = struct.pack(f"<2H{len(wide)}Q", _ZIP_64, 8 * len(wide), *wide) if wide else b""
    name, size = part.name.encode("ascii"), min(part.size, _FULL_32)
    needs = _LARGE if wide else _PLAIN
    start = _CENTRAL.pack(
        *(_CENTRAL_SIGN, _UNIX | needs, needs, 0, 0, 0, _DATE, part.crc, size, size),
        *(len(name), len(extra), 0, 0, 0, _FILE_MODE << 16, min(part.at, _FULL_32)),
    )
    return start + name + extra


# -- Reading -----------------------------------------------------------------------------------


def read_parts(file: BinaryIO) -> list[Part]:
    """List what is in the file; raise BundleError unless every byte is where Timbre puts it."""
    begins, listed, count = _directory(file)
    parts = in_order(_entries(listed, count))
    if not parts or parts[-1].end != begins or tail(parts) != listed:
        _refuse_as_changed("its list of contents does not fit the contents")
    for part in parts:
        file.seek(part.at)
        if file.read(len(head(part))) != head(part):
            _refuse_as_changed(f"{part.name} is not where the list says, or has two names or sizes")
    return parts


def _directory(file: BinaryIO) -> tuple[int, bytes, int]:
    """Where the list begins, all from there to the end, and how many parts it says there are."""
    size = file.seek(0, io.SEEK_END)
    _refuse_what_is_no_zip(file)
    _, disk, first, here, count, _, begins, comment = _END.unpack(
        _end_at(file, size - _END.size, _END)
    )
    if comment or disk or first or here != count:
        _refuse_as_changed("it has a comment or belongs to a zip in several files")
    if begins == _FULL_32:
        begins = _large_directory(file, size - _END.size)
    if count > MOST_PARTS or not 0 <= size - begins <= _MOST_DIRECTORY_BYTES:
        raise BundleError(
            f"The file says it holds {count:,} parts or a list of them that has no end;"
            f" a voice has at most {MOST_PARTS:,}.",
            DISTRUST,
        )
    file.seek(begins)
    return begins, file.read(), count


def _refuse_what_is_no_zip(file: BinaryIO) -> None:
    file.seek(0)
    if file.read(4) != _LOCAL_SIGN:
        raise BundleError(
            "The file is no voice that Timbre packed, or something was put before its beginning.",
            f"{NOTHING_KEPT} Choose a file whose name ends in .timbre.",
        )


def _end_at(file: BinaryIO, place: int, kind: struct.Struct) -> bytes:
    file.seek(max(place, 0))
    found = file.read(kind.size)
    if len(found) != kind.size or not found.startswith(_END_SIGN if kind is _END else _END_64_SIGN):
        _refuse_as_changed("its end is missing, or something was added behind it")
    return found


def _large_directory(file: BinaryIO, end: int) -> int:
    place = end - _LOCATOR.size - _END_64.size
    return int(_END_64.unpack(_end_at(file, place, _END_64))[-1])


def _entries(listed: bytes, count: int) -> Iterator[tuple[str, int, int]]:
    place = 0
    for _ in range(count):
        if not listed.startswith(_CENTRAL_SIGN, place) or place + _CENTRAL.size > len(listed):
            _refuse_as_changed("its list of contents ends too early")
        fields = _CENTRAL.unpack_from(listed, place)
        place += _CENTRAL.size
        name, extra = fields[10], fields[11]
        raw, wide = listed[place : place + name], listed[place + name : place + name + extra]
        place += name + extra + fields[12]
        yield _entry(raw, wide, fields)


def _entry(raw: bytes, wide: bytes, fields: tuple[int, ...]) -> tuple[str, int, int]:
    """Read one entry; say what an unusual one is, where the comparison would only find it other."""
    name = _name(raw)
    flags, method, crc, packed, size, attributes = (fields[n] for n in (3, 4, 7, 8, 9, 15))
    if flags & _LOCKED:
        raise BundleError(f"{name} is locked with a password.", AGAIN)
    if (attributes >> 16) & 0o170000 not in (0, 0o100000) or attributes & 0x10:
        raise BundleError(f"{name} is a link, a folder or a device, and no file.", DISTRUST)
    if size == _FULL_32 and len(wide) >= 12:
        size = packed = struct.unpack_from("<Q", wide, 4)[0]
    if method or packed != size:
        raise BundleError(
            f"{name} is packed to {packed:,} bytes and claims to become {size:,}"
            f" ({size / max(packed, 1):,.0f} times as much); Timbre keeps parts as they are.",
            AGAIN,
        )
    return name, size, crc


def _name(raw: bytes) -> str:
    """The name, if no reader anywhere can take it for another one."""
    if not raw or len(raw) > MOST_NAME_BYTES or not re.fullmatch(rb"[!-~ ]+", raw):
        shown = raw[:40].decode("ascii", "backslashreplace")
        raise BundleError(f"A part has a name that no part of a voice has: {shown!r}.", DISTRUST)
    return raw.decode("ascii")


def _refuse_as_changed(how: str) -> NoReturn:
    raise BundleError(
        f"The file is cut short, was changed, or was packed by another program: {how}.", AGAIN
    )
