"""Where in a sound somebody speaks: its level from one hundredth of a second to the next."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from engines.base import Sound

Floats = NDArray[np.float32]

FRAME_S = 0.01
SILENT_DB = -120.0
# An f at a word's end lies 40 dB below a vowel; what a vocoder leaves between words, 50 and more.
_BELOW_LOUD_DB = 45.0
_NEVER_HEARD_DB = -65.0
_NOTHING_DB = -90.0
_HAS_SILENCE_DB, _ABOVE_HISS_DB = 38.0, 6.0


def levels(sound: Sound) -> Floats:
    """The level of each frame of 10 ms, in dB below full scale; the last may be a short one."""
    size = frame_size(sound.rate)
    samples = np.nan_to_num(sound.samples, nan=0.0, posinf=0.0, neginf=0.0).astype(np.float32)
    frames = np.pad(samples, (0, -len(samples) % size)).reshape(-1, size)
    powers = np.mean(frames.astype(np.float64) ** 2, axis=1)
    return np.asarray(10 * np.log10(np.maximum(powers, 10 ** (SILENT_DB / 10))), np.float32)


def frame_size(rate: int) -> int:
    return max(1, round(rate * FRAME_S))


def heard(decibels: Floats) -> NDArray[np.bool_]:
    """Which frames are loud enough, beside the loud ones of the same sound, to be a voice."""
    if not len(decibels):
        return np.zeros(0, np.bool_)
    floor, loud = (float(np.percentile(decibels, share)) for share in (5, 95))
    least = max(_NEVER_HEARD_DB, loud - _BELOW_LOUD_DB)
    if loud - floor > _HAS_SILENCE_DB:  # then hiss, where there is any, is no voice
        least = max(least, floor + _ABOVE_HISS_DB)
    return decibels > least


def end_drop(decibels: Floats) -> float:
    """
    How far below its loud parts a voice is right before there is nothing at all, in dB.

    Infinite where it dies away: a voice that goes on in a room, or in hiss, is not cut.
    """
    at = np.flatnonzero(heard(decibels))
    if not len(at):
        return math.inf
    after = decibels[at[-1] + 1 : at[-1] + 3]
    if len(after) and after.max() > _NOTHING_DB:
        return math.inf
    # The last frame may hold a few samples only, so the one before it counts too.
    ends = float(decibels[max(0, at[-1] - 1) : at[-1] + 1].max())
    return float(np.percentile(decibels, 95)) - ends


def span(sound: Sound) -> tuple[int, int]:
    """The first sample of the voice and the one after its last; (0, 0) where there is none."""
    at = np.flatnonzero(heard(levels(sound)))
    if not len(at):
        return 0, 0
    size = frame_size(sound.rate)
    return int(at[0]) * size, min(len(sound.samples), (int(at[-1]) + 1) * size)
