"""Where somebody speaks: a working copy in stretches that divide no speech, each small enough."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from finetune import quiet
from finetune.media import reading

RATE = 16000
"""What voice detection and Whisper both hear."""

Span = tuple[float, float]
"""Seconds from the start of the recording."""

Samples = NDArray[np.float32]

# A sentence each: 24 of 24 come apart down to 0 dB of noise. faster-whisper's own two seconds of
# silence make 5 of them.
_SILENCE_MS = 400
_PAD_MS = 100
# Kept as silence before a stretch that begins where nobody spoke.
_MARGIN_S = 0.25
# Between words it is quiet for longer than inside one, where a "t" closes the mouth for 60 ms.
_QUIET_STEPS = 15


@dataclass(frozen=True, slots=True, eq=False)
class Stretch:
    """A part of a recording, from silence to silence, and where somebody speaks in it."""

    start: float
    end: float
    spans: tuple[Span, ...]
    samples: Samples
    """From start to end, at 16 kHz."""

    def part(self, span: Span) -> Samples:
        first, last = (max(0, round((time - self.start) * RATE)) for time in span)
        return self.samples[first:last]

    def quietest(self, start: float, end: float) -> float:
        """Where between two times to divide what has no pause."""
        return start + _quietest(self.part((start, end)))


def stretches(path: Path, begin: float = 0.0, about_seconds: float = 120.0) -> Iterator[Stretch]:
    """
    Read a working copy from `begin`, one stretch after another, each ending where nobody speaks.

    A stretch is decided by where it begins alone: from the end of any of them on, the same follow.
    """
    total = reading.seconds(path)
    while begin < total:
        # A little longer rather than a last one of a few seconds.
        near = total - begin <= 1.25 * about_seconds
        stretch = _stretch(path, begin, total if near else begin + about_seconds, near)
        yield stretch
        begin = stretch.end


def windows(
    spans: Iterable[Span],
    longest_seconds: float,
    longest_gap: float = 2.0,
    divide: Callable[[float, float], float] = lambda start, end: (start + end) / 2,
) -> list[Span]:
    """
    Group neighbouring spans into as few windows as hold them, none longer than `longest_seconds`.

    A silence of more than `longest_gap` is in no window: Whisper invents words for it. `divide`
    says where between two times a span is divided that is too long by itself.
    """
    found: list[Span] = []
    for span in spans:
        for start, end in _divided(span, longest_seconds, divide):
            if (
                found
                and start - found[-1][1] <= longest_gap
                and end - found[-1][0] <= longest_seconds
            ):
                found[-1] = (found[-1][0], end)
            else:
                found.append((start, end))
    return found


def spread(spans: Sequence[Span], count: int) -> list[Span]:
    """Choose a few of many, evenly from first to last."""
    if len(spans) <= count:
        return list(spans)
    return [spans[(2 * at + 1) * len(spans) // (2 * count)] for at in range(count)]


def _stretch(path: Path, begin: float, stop: float, is_last: bool) -> Stretch:
    samples = reading.read(path, begin, stop, RATE).samples
    spans = [(begin + start, begin + end) for start, end in _spoken(samples)]
    if is_last:
        return Stretch(begin, stop, tuple(spans), samples)
    end = _pause(spans, begin, stop)
    if end is None:
        half = (begin + stop) / 2
        end = half + _quietest(samples[round((half - begin) * RATE) :])
    # Whole hundredths are whole samples, and come back the same from a file.
    end = round(end, 2)
    return Stretch(begin, end, tuple(_until(end, spans)), samples[: round((end - begin) * RATE)])


def _spoken(samples: Samples) -> list[Span]:
    """Where somebody speaks, in seconds from the first sample."""
    from faster_whisper.vad import (
        VadOptions,
        get_speech_timestamps,
    )

    options = VadOptions(min_silence_duration_ms=_SILENCE_MS, speech_pad_ms=_PAD_MS)
    return [
        (it["start"] / RATE, it["end"] / RATE) for it in get_speech_timestamps(samples, options)
    ]


def _pause(spans: Sequence[Span], begin: float, stop: float) -> float | None:
    """The middle of the last pause, or shortly before `stop` when nobody speaks there."""
    after_last = spans[-1][1] if spans else begin
    if stop - after_last > _PAD_MS / 1000:
        return max((after_last + stop) / 2, stop - _MARGIN_S)
    if len(spans) < 2:
        return None
    return (spans[-2][1] + spans[-1][0]) / 2


def _until(end: float, spans: Iterable[Span]) -> Iterator[Span]:
    return ((start, min(stop, end)) for start, stop in spans if start < end)


def _quietest(samples: Samples) -> float:
    """The middle of the quietest place, in seconds from the first sample."""
    levels = quiet.levels(samples, RATE)
    around = np.ones(min(_QUIET_STEPS, max(len(levels), 1)), np.float32)
    # What lies outside counts as loud, so that it is not the first or the last step.
    smooth = np.convolve(levels, around / len(around), "same").astype(np.float32)
    return quiet.quietest(smooth, 0.0, len(samples) / RATE)


def _divided(span: Span, longest: float, divide: Callable[[float, float], float]) -> Iterator[Span]:
    """Divide a span that is too long, leaving no piece shorter than a quarter of the longest."""
    start, end = span
    while end - start > longest:
        high = min(start + longest, end - longest / 4)
        at = divide(high - longest / 2, high)
        yield start, at
        start = at
    yield start, end
