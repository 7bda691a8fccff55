"""Check a take the moment it was recorded: its level, its noise, and that nothing is cut off."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from finetune.quiet import STEP_S, Levels, levels

_SILENT_DB = -60.0
_QUIET_DB = -36.0
_NOISY_DB = 20.0
_SHORTEST_SECONDS = 0.3
# Speech is heard where it is this far above the noise, and within so much of its own level.
_ABOVE_NOISE_DB = 8.0
_BELOW_SPEECH_DB = 25.0
_EDGE_SECONDS = 0.06
_PAD_SECONDS = 0.15
# A clipped wave stays at its top for some samples; a loud one touches it once.
_TOP = 0.985
_FLAT_SAMPLES = 3
_FLAT_RUNS = 3


@dataclass(frozen=True, slots=True)
class Take:
    """What was measured of a take, and what to tell the reader."""

    speech_db: float
    """Level of the speech, in dB below full scale."""
    noise_db: float
    clipped: int
    """How many times the wave was cut off at the top."""
    start: float
    """Where speech begins and ends, with a little room: what the clip will be."""
    end: float
    problems: tuple[str, ...]

    @property
    def good(self) -> bool:
        return not self.problems


def check_take(samples: NDArray[np.float32], rate: int) -> Take:
    """Measure a take, one channel from -1 to 1, and say what is wrong with it."""
    seconds = len(samples) / rate
    if seconds < _SHORTEST_SECONDS:
        return _unusable(seconds, "It is too short to hold a sentence: record it again.")
    if not np.isfinite(samples).all():
        return _unusable(seconds, "It holds broken samples: record it again.")
    # Without the constant part that cheap inputs add.
    heard = levels(samples - samples.mean(dtype=np.float64), rate)
    speech, noise = float(np.percentile(heard, 95)), float(np.percentile(heard, 5))
    if speech < _SILENT_DB:
        return _unusable(seconds, "Nothing was recorded: choose the right microphone, or unmute.")
    first, last = _span(heard, speech, noise)
    clipped = _flat_tops(samples)
    start = max(0.0, first * STEP_S - _PAD_SECONDS)
    end = min(seconds, (last + 1) * STEP_S + _PAD_SECONDS)
    problems = (*_level_problems(speech, noise, clipped), *_cut_problems(heard, first, last))
    return Take(speech, noise, clipped, start, end, problems)


def _span(heard: Levels, speech: float, noise: float) -> tuple[int, int]:
    """The first and the last 10 ms that are speech."""
    floor = max(noise + _ABOVE_NOISE_DB, speech - _BELOW_SPEECH_DB)
    loud = np.flatnonzero(heard >= min(floor, speech))
    return int(loud[0]), int(loud[-1])


def _flat_tops(samples: NDArray[np.float32]) -> int:
    """How often several samples in a row are at the largest value there is."""
    loudest = float(np.abs(samples).max())
    if loudest < _TOP:
        return 0
    # Each side for itself, or a fast swing from top to bottom would look flat.
    return sum(_runs(side * samples >= loudest * 0.9995) for side in (1, -1))


def _runs(at_top: NDArray[np.bool_]) -> int:
    edges = np.diff(np.concatenate(([0], at_top.astype(np.int8), [0])))
    lengths = np.flatnonzero(edges == -1) - np.flatnonzero(edges == 1)
    return int((lengths >= _FLAT_SAMPLES).sum())


def _level_problems(speech: float, noise: float, clipped: int) -> tuple[str, ...]:
    found = []
    if clipped >= _FLAT_RUNS:
        found.append(
            f"It is too loud: the sound is cut off {clipped} times."
            " Turn the microphone down or sit farther away."
        )
    if speech < _QUIET_DB:
        found.append(
            f"It is too quiet ({speech:.0f} dB): speak up, come closer or turn the microphone up."
        )
    if speech - noise < _NOISY_DB:
        found.append(
            f"There is too much noise ({speech - noise:.0f} dB below the voice):"
            " look for a quieter place."
        )
    return tuple(found)


def _cut_problems(heard: Levels, first: int, last: int) -> tuple[str, ...]:
    edge = math.ceil(_EDGE_SECONDS / STEP_S)
    found = []
    if first < edge:
        found.append("The beginning is cut off: wait a moment before you speak.")
    if last >= len(heard) - edge:
        found.append("The end is cut off: wait a moment before you stop.")
    return tuple(found)


def _unusable(seconds: float, problem: str) -> Take:
    return Take(-math.inf, -math.inf, 0, 0.0, seconds, (problem,))
