"""How loud a recording is in steps of 10 ms, and where it is quietest."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

STEP_S = 0.01
SILENCE_DB = -100.0
"""Digital silence, and everything quieter: 16-bit audio ends at -96."""

Levels = NDArray[np.float32]
"""Decibels below full scale, one for each 10 ms of a recording."""

# A stretch counts as quiet when it lies in the lower part of what is heard around it. Below 6 dB
# between loudest and quietest there is no telling.
QUIET_SHARE = 0.4
LEAST_CONTRAST_DB = 6.0
# Digital silence would make the faintest noise count as speech.
MOST_CONTRAST_DB = 50.0


def levels(samples: NDArray[Any], rate: int) -> Levels:
    """Measure the level of each 10 ms; hand a long recording over in blocks of whole seconds."""
    count = math.ceil(len(samples) * 100 / rate)
    bounds = np.rint(np.arange(count + 1) * rate / 100).astype(np.int64)
    bounds = np.minimum(bounds, len(samples))
    # NaN and infinity come from broken float files, and would spread over everything after them.
    power = np.square(np.nan_to_num(samples, posinf=1.0, neginf=-1.0), dtype=np.float64)
    sums = np.diff(np.concatenate(([0.0], np.cumsum(power)))[bounds])
    mean = sums / np.maximum(np.diff(bounds), 1)
    decibels = 10 * np.log10(np.maximum(mean, 10 ** (SILENCE_DB / 10)))
    return decibels.astype(np.float32)


def clipped_share(samples: NDArray[Any], full_scale: float = 0.999) -> float:
    """Measure how much of a clip stands at full scale for three samples or more in a row."""
    loud = np.abs(samples) >= full_scale
    if len(loud) < 3:
        return 0.0
    in_a_row = loud[:-2] & loud[1:-1] & loud[2:]
    stands = np.zeros(len(loud), dtype=bool)
    for shift in range(3):
        stands[shift : len(loud) - 2 + shift] |= in_a_row
    return float(stands.mean())


def quietest(heard: Levels, start: float, end: float) -> float:
    """Find the middle of the quietest 10 ms between two times; of equals the most central."""
    first, last = _steps(heard, start, end)
    if last <= first:
        return (start + end) / 2
    part = heard[first:last]
    equal = np.flatnonzero(part == part.min())
    step = first + int(equal[np.argmin(np.abs(equal - (len(part) - 1) / 2))])
    return min(max((step + 0.5) * STEP_S, start), end)


def quiet_runs(heard: Levels, start: float, end: float) -> list[tuple[float, float]]:
    """Find the quiet stretches between two times, compared with what is heard around them."""
    first, last = _steps(heard, start, end)
    part = heard[first:last]
    if len(part) == 0:
        return []
    high = float(part.max())
    low = max(float(part.min()), high - MOST_CONTRAST_DB)
    if high - low < LEAST_CONTRAST_DB:
        return []
    quiet = np.concatenate(([False], part < low + QUIET_SHARE * (high - low), [False]))
    edges = np.flatnonzero(np.diff(quiet)).reshape(-1, 2) + first
    return [(max(begin * STEP_S, start), min(stop * STEP_S, end)) for begin, stop in edges.tolist()]


def sounding(heard: Levels, start: float, end: float, doubt: float = 0.0) -> tuple[float, float]:
    """Find the longest stretch between two times that is not quiet; the first counts for less."""
    quiet = quiet_runs(heard, start, end)
    begins = [start, *(stop for _, stop in quiet)]
    stops = [*(begin for begin, _ in quiet), end]
    lengths = [stop - begin for begin, stop in zip(begins, stops, strict=True)]
    lengths[0] -= doubt
    longest = lengths.index(max(lengths))
    return begins[longest], stops[longest]


def _steps(heard: Levels, start: float, end: float) -> tuple[int, int]:
    """The steps that lie between two times, at least in part."""
    first = max(int(start / STEP_S + 1e-6), 0)
    return first, min(max(math.ceil(end / STEP_S - 1e-6), first), len(heard))
