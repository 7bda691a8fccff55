"""shim.c from Python: building it, arming it, and reading its trace."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

COUNT, FAIL_ONCE, FAIL_FROM, EXIT, EXIT_MID_WRITE, SHORT_WRITE = range(6)
CREATED, TRUNCATED = 1, 2
FREEING = {"unlink", "rmdir", "truncate"}
HEAD = struct.Struct("<4I4iQq")
SOURCE = Path(__file__).with_name("shim.c")


@dataclass(frozen=True)
class Operation:
    """One call that changes a file, or a mark of the scenario's own."""

    name: str
    path: str
    other: str
    data: bytes
    result: int
    error: int
    struck: bool
    extra: int
    inode: int
    offset: int

    @property
    def needs_space(self) -> bool:
        opens_old = self.name == "open" and not self.extra & CREATED
        return self.name not in FREEING and not opens_old

    def describe(self, folder: Path) -> str:
        names = [_below(folder, name) for name in (self.path, self.other) if name]
        return f"{self.name} {' to '.join(names)}".rstrip()


@dataclass(frozen=True)
class Fault:
    """One way in which an operation goes wrong."""

    name: str
    action: int
    error: int = 0

    def can_strike(self, operation: Operation) -> bool:
        """Whether arming it here differs from an unharmed run, or from arming it later."""
        if self.action in (EXIT_MID_WRITE, SHORT_WRITE):
            return operation.name == "write"
        return self.error != errno.ENOSPC or operation.needs_space


FAULTS = [
    Fault("no space, once", FAIL_ONCE, errno.ENOSPC),
    Fault("no space from here on", FAIL_FROM, errno.ENOSPC),
    Fault("an I/O error, once", FAIL_ONCE, errno.EIO),
    Fault("I/O errors from here on", FAIL_FROM, errno.EIO),
    Fault("the process ends", EXIT),
    Fault("the process ends in the middle", EXIT_MID_WRITE),
    Fault("half a write, and no error", SHORT_WRITE),
]


class NoCompilerError(Exception):
    """There is no C compiler to build the shim with."""


def build(folder: Path) -> Path:
    """Compile shim.c and return the library."""
    library = folder / "shim.so"
    # Fortified headers would turn some calls into names the shim does not have.
    flags = ["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-U_FORTIFY_SOURCE"]
    command = [os.environ.get("CC", "cc"), *flags, "-o", str(library), str(SOURCE), "-ldl"]
    try:
        subprocess.run([*command, "-lpthread"], check=True, capture_output=True, text=True)
    except FileNotFoundError as missing:
        raise NoCompilerError(
            "The fault tests need a C compiler and found none. Install gcc or set CC."
        ) from missing
    except subprocess.CalledProcessError as failed:
        raise RuntimeError(f"shim.c does not compile:\n{failed.stderr}") from failed
    return library


@cache
def _loaded() -> ctypes.CDLL:
    preloaded = ctypes.CDLL(None)
    preloaded.shim_arm.argtypes = [
        ctypes.c_char_p,
        ctypes.c_long,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_int,
    ]
    preloaded.shim_count.restype = ctypes.c_long
    return preloaded


def arm(folder: Path, at: int, fault: Fault | None, trace: Path, *, keeps_data: bool) -> None:
    """From now on, count what happens below the folder, and let operation `at` go wrong."""
    action, error = (fault.action, fault.error) if fault else (COUNT, 0)
    names = os.fsencode(folder), os.fsencode(trace)
    if _loaded().shim_arm(names[0], at, action, error, names[1], keeps_data):
        raise RuntimeError(f"The shim cannot watch {folder} or write {trace}.")


def disarm() -> None:
    _loaded().shim_disarm()


def count() -> int:
    return int(_loaded().shim_count())


def mark(what: str) -> None:
    _loaded().shim_mark(what.encode())


def read_trace(trace: Path) -> Iterator[Operation]:
    """The operations of one run, in order, with the marks between them."""
    data = memoryview(trace.read_bytes()) if trace.exists() else memoryview(b"")
    place = 0
    while place < len(data):
        *sizes, result, error, struck, extra, inode, offset = HEAD.unpack_from(data, place)
        place += HEAD.size
        parts = []
        for size in sizes:
            parts.append(bytes(data[place : place + size]))
            place += size
        name, path, other = (os.fsdecode(part) for part in parts[:3])
        yield Operation(
            name, path, other, parts[3], result, error, bool(struck), extra, inode, offset
        )


def _below(folder: Path, name: str) -> str:
    path = Path(name)
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else name


def supported() -> bool:
    return sys.platform == "linux"
