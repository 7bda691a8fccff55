"""How far an installation is, in one line that a person understands."""

from __future__ import annotations

import re
import shutil
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

MIB = 2**20
# Measured on Linux: packages of 2,932 MiB arrived compressed, and uv wrote 5.86 GB.
UNPACKED_SHARE = 1.91

_BEGUN = re.compile(r"Downloading (\S+) \(([\d.]+)([KMG])iB\)")
_UNIT_MIB = {"K": 1 / 1024, "M": 1, "G": 1024}


@dataclass(frozen=True)
class Seen:
    """What uv has said so far. It names only packages of more than 1 MiB."""

    total: int = 0
    begun: tuple[tuple[str, float], ...] = ()
    """Name and MiB of each package whose download has begun."""
    arrived: frozenset[str] = frozenset()
    prepared: bool = False

    @property
    def current(self) -> str:
        """The largest package on its way: the one the others are waiting for."""
        coming = [(mib, name) for name, mib in self.begun if name not in self.arrived]
        return max(coming)[1] if coming else ""

    @property
    def expected_bytes(self) -> float:
        """About how much will be written; less than all of it when a part is in uv's cache."""
        return sum(mib for _, mib in self.begun) * MIB * UNPACKED_SHARE


def read_line(seen: Seen, line: str) -> Seen:
    """Take in one line of uv's output."""
    if begun := _BEGUN.search(line):
        mib = float(begun.group(2)) * _UNIT_MIB[begun.group(3)]
        return replace(seen, begun=(*seen.begun, (begun.group(1), mib)))
    if arrived := re.match(r" Downloaded (\S+)", line):
        return replace(seen, arrived=seen.arrived | {arrived.group(1)})
    if resolved := re.match(r"Resolved (\d+) package", line):
        return replace(seen, total=int(resolved.group(1)))
    if prepared := re.match(r"Prepared (\d+) package", line):
        return replace(seen, total=int(prepared.group(1)), prepared=True)
    return seen


def words(seen: Seen, written: int | None, rate: float, waited: float) -> str:
    """Say how far it is: in bytes where the system counts them, else in packages."""
    if seen.prepared:
        return f"putting {seen.total} packages in place"
    if written is None:
        parts = [f"{len(seen.arrived)} of {len(seen.begun)} large packages", duration(waited)]
    else:
        parts = [size(written), f"{size(rate)}/s"]
        left = seen.expected_bytes - written
        # uv announces what it fetches during the first seconds, and a stalled network has no rate.
        if waited > 3 and left > 0 and rate > 100_000:
            parts.append(f"{duration(left / rate)} left")
    return ", ".join(parts) + (f" · {seen.current}" if seen.current else "")


def rate(samples: Sequence[tuple[float, int]]) -> float:
    """Bytes a second between the first and the last of these (time, bytes)."""
    if len(samples) < 2 or samples[-1][0] <= samples[0][0]:
        return 0.0
    return (samples[-1][1] - samples[0][1]) / (samples[-1][0] - samples[0][0])


def size(count: float) -> str:
    """Bytes as a person reads them: 71 MB, 2.4 GB."""
    return f"{count / 1e9:.1f} GB" if count >= 0.995e9 else f"{count / 1e6:.0f} MB"


def duration(seconds: float) -> str:
    """Seconds as a person reads them: 50 s, 3 min 20 s, 1 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


class Line:
    """One line of progress: rewritten in place on a terminal, else printed now and then."""

    def __init__(self, stream: TextIO, every_s: float = 10.0) -> None:
        self._stream = stream
        self._every_s = every_s
        self._in_place = stream.isatty()
        self._printed_at = 0.0
        self._width = 0

    def show(self, text: str) -> None:
        """Show this now, or leave it when the last line is fresh enough."""
        if self._in_place:
            text = text[: max(20, shutil.get_terminal_size().columns - 1)]
            # Spaces, because old Windows consoles know no code for "clear to the end of the line".
            self._stream.write(f"\r{text.ljust(self._width)}")
            self._width = len(text)
        elif time.monotonic() - self._printed_at >= self._every_s or not self._printed_at:
            self._stream.write(f"{text}\n")
            self._printed_at = time.monotonic()
        self._stream.flush()

    def say(self, sentence: str) -> None:
        """Print a line that stays, in place of the progress."""
        self.clear()
        self._stream.write(f"{sentence}\n")
        self._stream.flush()

    def clear(self) -> None:
        """Take the progress away."""
        if self._width:
            self._stream.write(f"\r{' ' * self._width}\r")
        self._width = 0
        self._stream.flush()


class Watcher:
    """Follows one uv by its log and by the bytes the system says it wrote."""

    def __init__(self, log: Path, read_from: int, title: str, line: Line) -> None:
        self._log = log
        self._read_to = read_from
        self._title = title
        self._line = line
        self._seen = Seen()
        self._began = time.monotonic()
        self._samples: deque[tuple[float, int]] = deque(maxlen=20)

    def look(self, pid: int) -> None:
        """Read what is new and show it."""
        with self._log.open("rb") as log:
            log.seek(self._read_to)
            new = log.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._read_to += len(whole)
        for text in whole.decode("utf-8", "replace").splitlines():
            self._seen = read_line(self._seen, text)
        now = time.monotonic()
        written = bytes_written(pid)
        self._samples.append((now, written or 0))
        progress = words(self._seen, written, rate(self._samples), now - self._began)
        self._line.show(f"{self._title}: {progress}")


def bytes_written(pid: int, read: Callable[[Path], str] = Path.read_text) -> int | None:
    """How much a process has written so far; None where the system does not count it."""
    try:
        found = re.search(r"^wchar: (\d+)", read(Path(f"/proc/{pid}/io")), re.MULTILINE)
    except OSError:
        return None
    return int(found.group(1)) if found else None
