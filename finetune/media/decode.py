"""A file of any kind to a working copy, decoded where a hostile or broken one can do no harm."""

from __future__ import annotations

import os
import queue
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO

import psutil

from engines.errors import AudioError
from finetune.jobs.process import MARK
from finetune.jobs.worker import StopWork
from finetune.media.decoded import Decoded, Order, Reading, Refused, from_line, order_to_line
from voices import files

Progress = Callable[[float, float], None]
"""Told seconds done and seconds in all, which is 0 until it can be guessed."""
Stop = Callable[[], bool]

_ROOT = Path(__file__).parents[2]
_COMMAND = [sys.executable, "-X", "faulthandler", "-m", "finetune.media.decoder"]
_POLL_SECONDS = 0.1
# What a process needs of its surroundings. Tokens and passwords live in the rest.
_KEPT = (
    *("PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"),
    *("PYTHONHOME", "PYTHONUTF8", "LANG", "LC_ALL", "LC_CTYPE", MARK),
)
# A pool of threads costs memory and the decoder may start none.
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


@dataclass(frozen=True, slots=True)
class Limits:
    """When a decoder is ended because no healthy recording needs so much."""

    silent_seconds: float = 30.0
    """It says something four times a second, unless it hangs."""
    memory_mb: int = 1024
    """It holds 60 to 110 MB, whatever the length (Linux, PyAV 18)."""
    grace_seconds: float = 120.0
    seconds_per_mb: float = 2.0
    seconds_per_second: float = 0.5
    """Measured: 0.003. A slow or busy machine may be a hundred times slower."""

    def seconds(self, size: int, decoded: float) -> float:
        """How long it may take for so much file and so much sound."""
        for_the_file = self.seconds_per_mb * size / 1e6
        return self.grace_seconds + for_the_file + self.seconds_per_second * decoded


def decode(
    source: Path, target: Path, progress: Progress, stop: Stop, limits: Limits | None = None
) -> Decoded:
    """
    Make the working copy of a recording: one channel, 16 bit, FLAC, whole or not at all.

    Raise AudioError for what cannot be used, DiskFullError, or StopWork soon after `stop` says so.
    """
    with Decoder(limits or Limits()) as decoder:
        return decoder.decode(source, target, progress, stop)


class Decoder:
    """The process that opens files. One for each file, so that none can touch the next."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._process = subprocess.Popen(
            _COMMAND,
            cwd=_ROOT,
            env=_surroundings(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            creationflags=_no_window(),
        )
        assert self._process.stdout is not None and self._process.stdin is not None
        self._orders = self._process.stdin
        self._listener = threading.Thread(
            target=_listen, args=(self._process.stdout, self._lines), daemon=True
        )
        self._listener.start()

    def __enter__(self) -> Decoder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._listener.join()
        self._process.communicate()  # closes both pipes, also with an order nobody took

    @property
    def alive(self) -> bool:
        """Whether it can take another order."""
        return self._process.poll() is None

    def decode(self, source: Path, target: Path, progress: Progress, stop: Stop) -> Decoded:
        """Decode one file, as `decode` above."""
        size = size_of_a_file(source)
        progress(0.0, 0.0)
        with files.new_file(target) as file:
            self._send(Order(source.absolute(), Path(file.name).absolute()))
            decoded = self._follow(source, target, size, progress, stop)
        progress(decoded.seconds, decoded.seconds)
        return decoded

    def _send(self, order: Order) -> None:
        try:
            self._orders.write(order_to_line(order))
            self._orders.flush()
        except OSError:
            return  # it is gone already, which is noticed and named while following

    def _follow(
        self, source: Path, target: Path, size: int, progress: Progress, stop: Stop
    ) -> Decoded:
        watch = _Watch(self._process, source, size, self._limits)
        while True:
            if stop():
                raise StopWork(f"Stopped while reading {source.name}.")
            watch.check()
            try:
                line = self._lines.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                continue
            if line is None:
                raise _broke_off(source, self._process.wait())
            answer = from_line(line)
            if isinstance(answer, Reading):
                watch.heard(answer.seconds)
                progress(answer.seconds, answer.total)
            elif isinstance(answer, Refused):
                if answer.disk_full:
                    raise files.disk_full(target)
                raise AudioError(answer.what, answer.fix)
            elif answer is not None:
                return answer


class _Watch:
    """Ends a decoder that hangs, that grows, or that does not come to an end."""

    def __init__(
        self, process: subprocess.Popen[bytes], source: Path, size: int, limits: Limits
    ) -> None:
        self._process = psutil.Process(process.pid)
        self._source, self._size, self._limits = source, size, limits
        self._began = self._heard = time.monotonic()
        self._seconds = 0.0

    def heard(self, seconds: float) -> None:
        """It answered, and has decoded so many seconds."""
        self._heard, self._seconds = time.monotonic(), seconds

    def check(self) -> None:
        """Raise when a limit is passed. Whoever follows the decoder ends it then."""
        now, limits = time.monotonic(), self._limits
        name = self._source.name
        if now - self._heard > limits.silent_seconds:
            raise AudioError(
                f"{name} could not be read: for {limits.silent_seconds:.0f} s nothing came of it.",
                "If it lies on a network or USB disk, copy it to this computer; else it is damaged.",
            )
        if now - self._began > limits.seconds(self._size, self._seconds):
            raise AudioError(
                f"{name} keeps its decoder busy without an end: it is damaged.",
                "Copy it again from where it came from.",
            )
        if self._resident_mb() > limits.memory_mb:
            raise AudioError(
                f"{name} asks for more memory than any recording needs: it is damaged.",
                "Copy it again from where it came from.",
            )

    def _resident_mb(self) -> float:
        try:
            return float(self._process.memory_info().rss) / 2**20
        except psutil.Error:
            return 0.0  # it is gone; that is noticed where its answers end


def size_of_a_file(source: Path) -> int:
    """A pipe or a device would be waited for without an end."""
    try:
        found = source.stat()
    except OSError as error:
        raise unreadable(source, error) from error
    if not stat.S_ISREG(found.st_mode):
        raise AudioError(f"{source.name} is not a file.", "Choose audio or video files.")
    return found.st_size


def unreadable(source: Path, error: OSError) -> AudioError:
    """A file that the system does not let us read."""
    return AudioError(
        f"{source.name} cannot be opened ({error.strerror}).",
        "See whether it is still there and whether you may read it.",
    )


def _no_window() -> int:
    if sys.platform == "win32":
        return subprocess.CREATE_NO_WINDOW
    return 0


def _listen(answers: IO[bytes], lines: queue.Queue[bytes | None]) -> None:
    """Pass on what the decoder says; None when it is gone. A pipe has no timeout on Windows."""
    with answers:
        for line in answers:
            lines.put(line)
    lines.put(None)


def _surroundings() -> dict[str, str]:
    return {name: os.environ[name] for name in _KEPT if name in os.environ} | _ONE_THREAD


def _broke_off(source: Path, code: int) -> AudioError:
    """Why a decoder ended without a last word."""
    if sys.platform != "win32" and code in (-signal.SIGKILL, -signal.SIGTERM):
        return AudioError(
            f"The program that reads {source.name} was ended from outside.",
            "If nobody did, the computer ran out of memory: close other programs and try again.",
        )
    if code < 0 or code >= 0xC0000000:  # Windows names crashes so
        return AudioError(
            f"{source.name} is damaged in a way that crashes its decoder.",
            "Copy it again from where it came from, or save it in another format.",
        )
    return AudioError(
        f"{source.name} could not be read: the program that does it broke off (code {code}).",
        "The log says more. Save the file in another format to go on without it.",
    )
