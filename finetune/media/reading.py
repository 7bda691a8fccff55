"""A span of a working copy, and its outline for drawing; never the whole of it in memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engines.base import Sound
from engines.errors import AudioError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# A resampler hears what is around a sample. With less, a span would begin and end otherwise than
# the same span of the whole.
_AROUND_SECONDS = 0.05
_BLOCK_SECONDS = 8


def read(path: Path, start: float, end: float, rate: int | None = None) -> Sound:
    """Read from `start` to `end`, in seconds; what lies outside the recording is not there."""
    with _open(path) as file:
        rate = rate or file.samplerate
        first, last = _within(file, start, end)
        if rate == file.samplerate:
            return Sound(_span(file, first, last), rate)
        return Sound(_resampled(file, first, last, rate), rate)


def seconds(path: Path) -> float:
    """How long a working copy is."""
    with _open(path) as file:
        return float(file.frames / file.samplerate)


def peaks(path: Path, points_per_second: int = 50) -> NDArray[np.float32]:
    """The lowest and highest sample of each stretch: one row a point, ready to be drawn."""
    import numpy as np

    with _open(path) as file:
        rate, found = file.samplerate, []
        # Whole seconds hold whole points, whatever the rate.
        for block in file.blocks(rate * _BLOCK_SECONDS, dtype="float32"):
            points = math.ceil(len(block) * points_per_second / rate)
            begins = np.arange(points) * rate // points_per_second
            lows = np.minimum.reduceat(block, begins)
            found.append(np.stack((lows, np.maximum.reduceat(block, begins)), axis=1))
    return np.concatenate(found) if found else np.zeros((0, 2), np.float32)


def _resampled(file: Any, first: int, last: int, rate: int) -> NDArray[np.float32]:
    """
    Resample with what is around it, cut where the whole would be cut.

    It begins where a sample of the old rate and one of the new fall together.
    """
    import soxr

    old = file.samplerate
    together = old // math.gcd(old, rate)
    around = int(old * _AROUND_SECONDS)
    begin = max(0, first - around) // together * together
    samples = soxr.resample(_span(file, begin, min(file.frames, last + around)), old, rate)
    offset = begin * rate // old
    cut: NDArray[np.float32] = samples[
        _at(first, old, rate) - offset : _at(last, old, rate) - offset
    ]
    return cut


def _at(sample: int, old: int, rate: int) -> int:
    """Where a sample of the old rate is in the new one."""
    return round(sample * rate / old)


def _within(file: Any, start: float, end: float) -> tuple[int, int]:
    first = min(max(0, round(start * file.samplerate)), file.frames)
    return first, min(max(first, round(end * file.samplerate)), file.frames)


def _span(file: Any, first: int, last: int) -> NDArray[np.float32]:
    file.seek(first)
    samples: NDArray[np.float32] = file.read(last - first, dtype="float32")
    if len(samples) < last - first:
        raise _damaged(Path(file.name))
    return samples


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    import soundfile  # here, because it loads numpy and a C library

    try:
        with soundfile.SoundFile(path) as file:
            yield file
    except soundfile.LibsndfileError as error:
        raise _damaged(path) from error


def _damaged(path: Path) -> AudioError:
    return AudioError(
        f"The working copy {path.name} is missing or damaged.",
        "Import the recording again; its original is kept and no edit is lost.",
    )
