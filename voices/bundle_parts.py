"""What the members of a packed voice may hold, looked at without opening any with its engine."""

from __future__ import annotations

import hashlib
import io
import math
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, BinaryIO

from engines.errors import BundleError
from voices.bundle_json import read_json, strings
from voices.bundle_privacy import place_in
from voices.bundle_zip import AGAIN, DISTRUST, NOTHING_KEPT
from voices.library import FACTS

Place = Callable[[str], str]
"""What of a text names a place on a computer, or ""."""

Told = Callable[[int], None]
"""Hears how many bytes more were read; what it raises ends the work."""

BLOCK = 1 << 20
MOST_TEXT_BYTES = 8_000_000
MOST_FACTS_BYTES = 1_000_000
MOST_FLAC_BYTES = 32_000_000
MOST_SECONDS = 120.0
"""Of a reference or a sample: engines look at 30 s, and a sample is one sentence."""

_MOST_HEADER_BYTES = 1_000_000
_MOST_DIMENSIONS = 16
_BITS = {
    **{"BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8},
    **{"U16": 16, "I16": 16, "F16": 16, "BF16": 16, "U32": 32, "I32": 32, "F32": 32},
    **{"U64": 64, "I64": 64, "F64": 64},
}
_RATES = (8_000, 96_000)
# What belongs to the sound; pictures and what programs add of their own could be anything.
_STREAM, _COMMENT = 0, 4
_FLAC_BLOCKS = {_STREAM: "stream", 1: "padding", 3: "seek points", _COMMENT: "comment"}
_MOST_FLAC_HEAD_BYTES = 256_000
_FRAMES_AT_ONCE = 1 << 16


@dataclass(frozen=True, slots=True)
class Stretch:
    """A member, wherever it lies in an open file."""

    file: BinaryIO
    start: int
    size: int

    def read(self, at: int, length: int) -> bytes:
        self.file.seek(self.start + at)
        return self.file.read(max(0, min(length, self.size - at)))

    def blocks(self) -> Iterator[bytes]:
        for at in range(0, self.size, BLOCK):
            yield self.read(at, BLOCK)


@dataclass(frozen=True, slots=True)
class Digest:
    """What a member must still be when it was copied."""

    size: int
    sha256: str
    crc: int


def untold(count: int) -> None:
    """Nobody listens."""


def digest(held: Stretch, copy: BinaryIO | None = None, told: Told = untold) -> Digest:
    """Size and sums of a member, which is copied on the way where there is a file for it."""
    size, sha256, crc = 0, hashlib.sha256(), 0
    for block in held.blocks():
        size, crc = size + len(block), zlib.crc32(block, crc)
        sha256.update(block)
        if copy:
            copy.write(block)
        told(len(block))
    return Digest(size, sha256.hexdigest(), crc)


def check(name: str, held: Stretch, place: Place = place_in) -> None:
    """Raise unless the content is what the name says, within bounds, and names no place."""
    kinds = {".json": _json, ".txt": _text, ".safetensors": _safetensors, ".flac": _flac}
    for text in strings(kinds[PurePosixPath(name).suffix](name, held)):
        if found := place(text):
            raise BundleError(
                f"{name} names a place on somebody's computer ({found[:60]!a}).",
                f"{NOTHING_KEPT} Take it out where the voice comes from, and pack it again.",
            )


def whole(name: str, held: Stretch, most: int) -> bytes:
    """The content of a small member."""
    if held.size > most:
        raise BundleError(
            f"{name} has {held.size / 1e6:,.1f} MB and may have {most / 1e6:,.0f} MB.", DISTRUST
        )
    return held.read(0, held.size)


def _json(name: str, held: Stretch) -> Any:
    most = MOST_FACTS_BYTES if name == FACTS else MOST_TEXT_BYTES
    return read_json(whole(name, held, most), name)


def _text(name: str, held: Stretch) -> list[str]:
    try:
        text = whole(name, held, MOST_TEXT_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise BundleError(f"{name} is no text in UTF-8.", AGAIN) from error
    if "\0" in text:
        raise BundleError(f"{name} is no text: there are zeros in it.", AGAIN)
    return [text]


# -- safetensors -------------------------------------------------------------------------------


def _safetensors(name: str, held: Stretch) -> list[Any]:
    first = held.read(0, 8)
    length = struct.unpack("<Q", first)[0] if len(first) == 8 else 0
    if not 2 <= length <= min(_MOST_HEADER_BYTES, held.size - 8):
        raise _no_weights(name, f"its header would have {length:,} bytes")
    header = read_json(held.read(8, length), f"The header of {name}")
    if not isinstance(header, dict):
        raise _no_weights(name, "its header is no list of tensors")
    notes = header.pop("__metadata__", {})
    if not isinstance(notes, dict) or not all(isinstance(each, str) for each in notes.values()):
        raise _no_weights(name, "its notes are no texts")
    spans = sorted(_span(name, tensor, each) for tensor, each in header.items())
    _refuse_gaps(name, spans, held.size - 8 - length)
    return [notes, list(header)]


def _span(name: str, tensor: str, given: Any) -> tuple[int, int]:
    """Where a tensor begins and ends, if it is as long as its shape says."""
    if not isinstance(given, dict) or given.keys() != {"dtype", "shape", "data_offsets"}:
        raise _no_weights(name, f"{tensor:.60} has no type, shape and place")
    bits, shape, offsets = _BITS.get(str(given["dtype"])), given["shape"], given["data_offsets"]
    if not bits or not _sizes(shape) or len(shape) > _MOST_DIMENSIONS:
        raise _no_weights(name, f"{tensor:.60} has a type or shape that no tensor has")
    if not _sizes(offsets) or len(offsets) != 2:
        raise _no_weights(name, f"{tensor:.60} has no place in the file")
    begin, end = offsets
    if end - begin != math.prod(shape) * bits // 8:
        raise _no_weights(name, f"{tensor:.60} has another size than its shape")
    return begin, end


def _sizes(given: Any) -> bool:
    return isinstance(given, list) and all(type(each) is int and each >= 0 for each in given)


def _refuse_gaps(name: str, spans: list[tuple[int, int]], size: int) -> None:
    """No tensor over another, none outside the file, nothing hidden between."""
    reached = 0
    for begin, end in spans:
        if begin != reached:
            raise _no_weights(name, "its tensors overlap or leave gaps")
        reached = end
    if reached != size:
        raise _no_weights(name, f"its tensors take {reached:,} bytes and there are {size:,}")


def _no_weights(name: str, why: str) -> BundleError:
    return BundleError(
        f"{name} does not hold weights as safetensors do: {ascii(why)[1:-1]}.", AGAIN
    )


# -- flac --------------------------------------------------------------------------------------


def _flac(name: str, held: Stretch) -> list[str]:
    content = whole(name, held, MOST_FLAC_BYTES)
    written = list(_comments(name, content))
    try:
        seconds = _seconds(content)
    except Exception as error:  # libsndfile's own; soundfile, whose it is, is not loaded for a name
        raise _no_sound(name, f"it cannot be decoded: {error!s:.80}") from error
    if not 0 < seconds <= MOST_SECONDS:
        raise _no_sound(
            name, f"it has no sound, or more than {MOST_SECONDS:g} s, or a strange rate"
        )
    return written


def _comments(name: str, content: bytes) -> Iterator[str]:
    """Walk the blocks before the sound, and give what is written in them."""
    if not content.startswith(b"fLaC\x00"):
        raise _no_sound(name, "it does not begin as one")
    at, last = 4, False
    while not last:
        kind, length = content[at] if at < len(content) else 127, content[at + 1 : at + 4]
        last, block = bool(kind & 0x80), content[at + 4 : at + 4 + int.from_bytes(length, "big")]
        at += 4 + int.from_bytes(length, "big")
        if kind & 0x7F not in _FLAC_BLOCKS or at > min(len(content), _MOST_FLAC_HEAD_BYTES):
            raise _no_sound(name, "something else than sound is packed into it")
        if kind & 0x7F == _COMMENT:
            yield block.decode("utf-8", "replace")


def _seconds(content: bytes) -> float:
    """How much sound there really is, decoded up to a bound; 0.0 where it is no usual sound."""
    import soundfile  # here, because what only lists voices hears nothing

    with soundfile.SoundFile(io.BytesIO(content)) as sound:
        rate = int(sound.samplerate)
        usual = sound.format == "FLAC" and sound.channels <= 2 and _RATES[0] <= rate <= _RATES[1]
        if not usual:
            return 0.0
        frames = 0
        while frames <= MOST_SECONDS * rate:
            found = len(sound.read(_FRAMES_AT_ONCE, dtype="int16"))
            if not found:
                return frames / rate
            frames += found
    return math.inf


def _no_sound(name: str, why: str) -> BundleError:
    return BundleError(f"{name} is no sound as Timbre keeps it: {ascii(why)[1:-1]}.", AGAIN)
