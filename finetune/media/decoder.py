"""
The process that opens a file nobody has vouched for: `python -m finetune.media.decoder`.

It takes orders on its input and answers on its output, both one JSON object a line. It has little
memory, may start nothing and ends with whoever started it. Nothing it is fed can do more than end
it.
"""

from __future__ import annotations

import errno
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import BinaryIO

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from engines.errors import AudioError
from finetune.media.decoded import (
    Answer,
    Decoded,
    Order,
    Reading,
    Refused,
    order_from_line,
    to_line,
)
from finetune.media.levels import Levels
from finetune.media.meter import Meter
from finetune.media.sound import Block, Recording
from voices import files

# What every later step can take, and no engine trains above: of a rate between, none is lost.
# Below, 16 kHz is what speech detection and Whisper listen to; a telephone is stretched to it.
RATES = (16_000, 48_000)
SHORTEST_SECONDS = 0.1
LONGEST_SECONDS = 48 * 3600
ADDRESS_SPACE_MB = 1536
"""Python, numpy and FFmpeg map 260 MB and hold 60 to 110 MB (Linux, PyAV 18)."""
SAY_EVERY_SECONDS = 0.25


def main() -> None:
    """Follow orders until there are no more."""
    answers = _keep_output_to_ourselves()
    orders: queue.Queue[bytes] = queue.Queue()
    # Unbuffered: a lock on the buffer, held by a thread that waits, turns any exit into a crash.
    given = os.fdopen(0, "rb", buffering=0)
    threading.Thread(target=_take_orders, args=(given, orders), daemon=True).start()
    _limit_ourselves()
    while True:
        order = order_from_line(orders.get())
        _follow(order, lambda answer: _say(answers, answer))


def _follow(order: Order, say: Callable[[Answer], None]) -> None:
    try:
        say(decode(order, say))
    except AudioError as error:
        say(Refused(error.what, error.fix))
    except MemoryError:
        say(_too_large(order.source))
    except OSError as error:
        say(_unreadable(order, error))


def decode(order: Order, say: Callable[[Answer], None]) -> Decoded:
    """Stream a file into its working copy, measured on the way."""
    reporter = _Reporter(say)
    with order.source.open("rb") as file:
        recording = Recording(order.source, file, reporter.tick)
        reporter.recording = recording
        copy = WorkingCopy(order.target)
        try:
            for block in recording.blocks():
                copy.add(block)
                reporter.seconds = copy.seconds
                reporter.tick()
                if copy.seconds > LONGEST_SECONDS:
                    raise _too_long(order.source)
            levels = copy.finish()
        finally:
            copy.close()
        if copy.seconds < SHORTEST_SECONDS:
            raise _too_short(order.source, copy.seconds)
        return _decoded(recording, copy, levels)


def _decoded(recording: Recording, copy: WorkingCopy, levels: Levels) -> Decoded:
    return Decoded(
        seconds=copy.seconds,
        rate=copy.rate,
        source_rate=copy.source_rate,
        channels=recording.channels,
        container=recording.container,
        codec=recording.codec,
        levels=levels,
        lost_seconds=recording.lost_seconds,
        notes=tuple(recording.notes),
    )


class WorkingCopy:
    """One channel, 16 bit, FLAC, written and measured as the sound comes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: soundfile.SoundFile | None = None
        self._resampler: soxr.ResampleStream | None = None
        self._meter = Meter(RATES[0])
        self._from_rate = 0
        self._written = 0
        self.rate = self.source_rate = 0

    @property
    def seconds(self) -> float:
        return self._written / self.rate if self.rate else 0.0

    def add(self, block: Block) -> None:
        """Take in the next sound; its rate may change on the way, that of the copy does not."""
        if self._file is None:
            self._begin(block.rate)
        if block.rate != self._from_rate:
            self._end_resampling()
            self._from_rate = block.rate
            if block.rate != self.rate:
                self._resampler = soxr.ResampleStream(block.rate, self.rate, 1, dtype="float32")
        if self._resampler is None:
            self._write(block.samples)
        else:
            self._write(self._resampler.resample_chunk(block.samples))

    def finish(self) -> Levels:
        """Write what is left, make sure that all of it is there, and say how it sounds."""
        self._end_resampling()
        self.close()
        if self._written:
            self._check()
        return self._meter.levels()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _begin(self, rate: int) -> None:
        self.source_rate = rate
        self.rate = min(max(rate, RATES[0]), RATES[1])
        self._meter = Meter(self.rate)
        self._file = soundfile.SoundFile(
            self._path, "w", self.rate, 1, subtype="PCM_16", format="FLAC"
        )

    def _end_resampling(self) -> None:
        if self._resampler is not None:
            self._write(self._resampler.resample_chunk(np.zeros(0, np.float32), last=True))
            self._resampler = None

    def _write(self, samples: NDArray[np.float32]) -> None:
        self._meter.feed(samples)
        whole = np.clip(np.rint(samples * 32768), -32768, 32767).astype(np.int16)
        assert self._file is not None
        with _full_disk_is_an_os_error(self._path):
            self._file.write(whole)
        self._written += len(whole)

    def _check(self) -> None:
        """Read the end back: libsndfile closes a file that found no room without a word."""
        with _full_disk_is_an_os_error(self._path), soundfile.SoundFile(self._path) as file:
            file.seek(self._written - 1)
            if len(file.read(2)) != 1:
                raise OSError(errno.EIO, "The working copy is not what was written")


class _Reporter:
    """Says how far it is, often enough to be believed alive and not more."""

    def __init__(self, say: Callable[[Answer], None]) -> None:
        self._say = say
        self._next = 0.0
        self.seconds = 0.0
        self.recording: Recording | None = None

    def tick(self) -> None:
        """Called whenever something was read or written."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + SAY_EVERY_SECONDS
        total = self.recording.progress(self.seconds) if self.recording else 0.0
        self._say(Reading(self.seconds, total))


@contextmanager
def _full_disk_is_an_os_error(path: Path) -> Iterator[None]:
    """soundfile reports a short write as an assertion, and the reason as "system error"."""
    try:
        yield
    except (soundfile.LibsndfileError, AssertionError) as error:
        code = errno.ENOSPC if files.is_full(path) else errno.EIO
        raise OSError(code, os.strerror(code)) from error


def _unreadable(order: Order, error: OSError) -> Refused:
    reason = error.strerror or str(error)
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    return Refused(
        f"{order.source.name} could not be read to its end ({reason}).",
        "See whether the disk or network folder it lies on still answers, then try again.",
        disk_full=full,
    )


def _too_large(source: Path) -> Refused:
    return Refused(
        f"{source.name} asks for more memory than any recording needs: it is damaged.",
        "Copy it again from where it came from.",
    )


def _too_short(source: Path, seconds: float) -> AudioError:
    return AudioError(
        f"{source.name} has only {seconds * 1000:.0f} ms of sound.",
        f"Choose recordings of at least {SHORTEST_SECONDS * 1000:.0f} ms, better of minutes.",
    )


def _too_long(source: Path) -> AudioError:
    hours = LONGEST_SECONDS // 3600
    return AudioError(f"{source.name} is longer than {hours} hours.", "Cut it into several files.")


def _say(answers: BinaryIO, answer: Answer) -> None:
    answers.write(to_line(answer))
    answers.flush()


def _keep_output_to_ourselves() -> BinaryIO:
    """Whatever a library prints goes to the log, not among our answers."""
    ours = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return ours


def _take_orders(given: FileIO, orders: queue.Queue[bytes]) -> None:
    """Pass orders on, and end at once when the process that gives them is gone."""
    for line in given:
        orders.put(line)
    os._exit(0)


def _limit_ourselves() -> None:
    """What the system can hold us to. The parent watches memory and time everywhere."""
    if sys.platform == "win32":
        return
    import resource

    wanted = {
        resource.RLIMIT_AS: ADDRESS_SPACE_MB << 20,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NPROC: 0,  # no children; also no more threads
        resource.RLIMIT_FSIZE: LONGEST_SECONDS * RATES[1] * 2,
    }
    for limit, value in wanted.items():
        try:
            resource.setrlimit(limit, (value, value))
        except (ValueError, OSError) as error:  # macOS refuses some
            print(f"No limit {limit}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
