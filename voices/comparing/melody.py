"""
How high a voice speaks and how far it moves, by YIN (de Cheveigné and Kawahara, 2002). numpy only.

A frame counts as voiced only where the sound plainly repeats itself; of the rest nothing is told.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engines.base import Sound

Floats = NDArray[np.float32]

LOWEST_HZ, HIGHEST_HZ = 60.0, 550.0
_HOP_S = 0.01
# What a swing may differ from the next, as a share of its power. The authors take 0.1 to 0.15;
# speech that creaks a little needs the larger one.
_APERIODIC = 0.15
# Frames computed at once: an hour at once would be gigabytes.
_PIECE = 2048
_QUIET_DB = 35.0
# Shorter stretches are the buzz of a consonant, or chance.
_LEAST_FRAMES = 5
_ENOUGH_FRAMES = 20


@dataclass(frozen=True, slots=True)
class Melody:
    """The pitch of a voice, and how far it moves."""

    hertz: float
    """Half of what is voiced is higher."""
    semitones: float
    """From the pitch that 5 % of it lies below to the one that 5 % lies above."""


def melody(sound: Sound) -> Melody | None:
    """Measure a sound; None where less than a fifth of a second of it is voiced."""
    found = pitches(sound)
    voiced = found[found > 0]
    if len(voiced) < _ENOUGH_FRAMES:
        return None
    low, middle, high = np.percentile(voiced, (5, 50, 95))
    return Melody(float(middle), 12 * math.log2(float(high) / float(low)))


def pitches(sound: Sound) -> Floats:
    """Hertz every 10 ms; 0 where nothing is voiced."""
    samples = real_numbers(sound.samples)
    hop, longest = round(sound.rate * _HOP_S), math.ceil(sound.rate / LOWEST_HZ)
    size = 2 * longest + 2
    if len(samples) < size:
        return np.zeros(0, np.float32)
    frames = np.lib.stride_tricks.sliding_window_view(samples, size)[::hop]
    pieces = [
        _of_frames(frames[at : at + _PIECE], sound.rate) for at in range(0, len(frames), _PIECE)
    ]
    return _steady(np.concatenate(pieces), _loud(frames))


def real_numbers(samples: Floats) -> Floats:
    """Samples that can be reckoned with: what is no number is silent."""
    return np.nan_to_num(np.asarray(samples, np.float32), nan=0.0, posinf=0.0, neginf=0.0)


def _of_frames(frames: Floats, rate: int) -> Floats:
    """The first lag at which a frame repeats itself, as hertz; 0 where it does at none."""
    curve = _unlike(frames - frames.mean(axis=1, keepdims=True))
    first, last = int(rate / HIGHEST_HZ), curve.shape[1] - 1
    inner = curve[:, first:last]
    is_dip = (inner <= curve[:, first - 1 : last - 1]) & (inner < curve[:, first + 1 : last + 1])
    good = is_dip & (inner < _APERIODIC)
    at = np.argmax(good, axis=1)
    hertz = rate / (first + at + _between(curve, first + at))
    return np.where(good.any(axis=1), hertz, 0.0).astype(np.float32)


def _unlike(frames: Floats) -> Floats:
    """How unlike a frame is to itself a lag later, beside all shorter lags: YIN's steps 2 and 3."""
    size = frames.shape[1]
    half = size // 2
    # Only the first half is looked for in the whole, so that each lag compares as many samples.
    length = 1 << math.ceil(math.log2(size + half))
    both = np.fft.rfft(frames, length) * np.conj(np.fft.rfft(frames[:, :half], length))
    shared = np.fft.irfft(both, length)[:, : half + 1]
    sums = np.pad(np.cumsum(frames.astype(np.float64) ** 2, axis=1), ((0, 0), (1, 0)))
    power = sums[:, half : 2 * half + 1] - sums[:, : half + 1]
    difference = np.maximum(power[:, :1] + power - 2 * shared, 0)
    means = np.cumsum(difference[:, 1:], axis=1) / np.arange(1, half + 1)
    found = np.ones_like(difference)
    found[:, 1:] = difference[:, 1:] / np.maximum(means, 1e-12)
    return found.astype(np.float32)


def _between(curve: Floats, at: NDArray[np.intp]) -> Floats:
    """Where between samples the dip is lowest: high voices have few samples in a swing."""
    left, here, right = (
        np.take_along_axis(curve, (at + step)[:, None], axis=1)[:, 0] for step in (-1, 0, 1)
    )
    bend = left - 2 * here + right
    beside = 0.5 * (left - right) / np.where(np.abs(bend) < 1e-9, 1, bend)
    return np.clip(beside, -0.5, 0.5).astype(np.float32)


def _loud(frames: Floats) -> NDArray[np.bool_]:
    """What is not far below the loudest: a hum behind a voice repeats itself too."""
    powers = np.concatenate(
        [np.mean(frames[at : at + _PIECE] ** 2, axis=1) for at in range(0, len(frames), _PIECE)]
    )
    return np.asarray(powers > powers.max() * 10 ** (-_QUIET_DB / 10))


def _steady(hertz: Floats, loud: NDArray[np.bool_]) -> Floats:
    """Leave out what is far below the loudest, and what lasts too short."""
    kept = np.where(loud, hertz, 0)
    return np.where(_short(kept > 0), 0, kept).astype(np.float32)


def _short(voiced: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which frames are of a voiced stretch that is too short to be a vowel."""
    edges = np.flatnonzero(np.diff(voiced.astype(np.int8), prepend=0, append=0))
    short = np.zeros(len(voiced), np.bool_)
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        short[start:end] = end - start < _LEAST_FRAMES
    return short
