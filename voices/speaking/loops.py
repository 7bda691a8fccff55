"""Stretches of a sound that are said again right after themselves, as a model that is stuck does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engines.base import Sound
from voices.speaking.voiced import FRAME_S, Floats

_BANDS = 24
_LOWEST_HZ, _HIGHEST_HZ = 80.0, 7600.0
_WINDOW_S = 0.032
_BELOW_LOUD_DB = 45.0
_SHORTEST_S, _LONGEST_S = 0.3, 6.0
# A stretch counts from this long: shorter ones are alike in any speech.
_STRETCH_S = 0.5
_SOUND_SHARE = 0.6
# A second time is said a little faster or slower: frames this far off may be the same ones, and
# further off by so much of the distance.
_LOOSE, _LOOSE_SHARE = 2, 0.03


@dataclass(frozen=True, slots=True)
class Loop:
    """What is said twice: from when, how long, and how alike both times are, up to 1."""

    start_s: float
    lasts_s: float
    alike: float


def strongest(sound: Sound) -> Loop:
    """Find the stretch that is most like what follows right after it."""
    frames = spectra(sound)
    longest = min(len(frames) // 2, round(_LONGEST_S / FRAME_S))
    shortest = round(_SHORTEST_S / FRAME_S)
    if longest < shortest:
        return Loop(0.0, 0.0, 0.0)
    first = shortest - _loose(shortest)
    alike = _likenesses(frames, first, longest + _loose(longest))
    sounds = np.asarray(frames.any(axis=1), np.bool_)
    found = (
        _best(_row(alike, lag - first, _loose(lag)), sounds, lag)
        for lag in range(shortest, longest + 1)
    )
    return max(found, key=lambda loop: loop.alike)


def spectra(sound: Sound) -> Floats:
    """
    What is heard in each frame, as a direction: sounds alike in kind point the same way.

    Bands are told from their own mean over the sound, so that the voice itself is no likeness;
    frames without sound point nowhere.
    """
    hop, size = round(FRAME_S * sound.rate), round(_WINDOW_S * sound.rate)
    samples = np.pad(sound.samples, (size // 2, size)).astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(samples, size)[::hop]
    powers = np.abs(np.fft.rfft(windows * np.hanning(size).astype(np.float32), axis=1)) ** 2
    bands = 10 * np.log10(powers @ _bands(size, sound.rate) + 1e-10)
    floor = np.percentile(bands.max(axis=1), 95) - _BELOW_LOUD_DB
    loud = bands.max(axis=1) > floor
    if not loud.any():
        return np.zeros_like(bands, np.float32)
    bands = np.maximum(bands, floor)
    bands -= bands[loud].mean(axis=0)
    bands[~loud] = 0
    lengths = np.linalg.norm(bands, axis=1, keepdims=True)
    return np.asarray(bands / np.maximum(lengths, 1e-6), np.float32)


def _bands(size: int, rate: int) -> Floats:
    """Triangles that are even on the scale of hearing: which share of a line is in which band."""
    highest = min(_HIGHEST_HZ, 0.48 * rate)
    edges = np.linspace(np.log1p(_LOWEST_HZ / 700), np.log1p(highest / 700), _BANDS + 2)
    lines = np.log1p(np.fft.rfftfreq(size, 1 / rate) / 700)[:, None]
    rising = (lines - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - lines) / (edges[2:] - edges[1:-1])
    return np.asarray(np.maximum(0, np.minimum(rising, falling)), np.float32)


def _likenesses(frames: Floats, first: int, last: int) -> Floats:
    """How like each frame is to the one so many frames later; a row for each distance."""
    alike = np.zeros((last - first + 1, len(frames)), np.float32)
    for row, lag in enumerate(range(first, min(last, len(frames) - 1) + 1)):
        alike[row, : len(frames) - lag] = np.einsum("tb,tb->t", frames[:-lag], frames[lag:])
    return alike


def _loose(lag: int) -> int:
    return max(_LOOSE, round(_LOOSE_SHARE * lag))


def _row(alike: Floats, row: int, loose: int) -> Floats:
    """The best of a distance and those near it, for each frame."""
    return np.asarray(alike[row - loose : row + loose + 1].max(axis=0), np.float32)


def _best(alike: Floats, sounds: NDArray[np.bool_], lag: int) -> Loop:
    """Where a stretch as long as the distance is most like what follows it, all along."""
    width, last = max(lag, round(_STRETCH_S / FRAME_S)), len(alike) - lag
    if width > last:
        return Loop(0.0, 0.0, 0.0)
    # Silence is like silence, which says nothing: only frames with sound in one of both count.
    counts = _sums(sounds[:last] | sounds[lag:], width)
    means = _sums(alike[:last], width) / np.maximum(counts, _SOUND_SHARE * width)
    at = int(np.argmax(means))
    return Loop(at * FRAME_S, lag * FRAME_S, float(means[at]))


def _sums(values: NDArray[Any], width: int) -> NDArray[np.float64]:
    """The sum of every so many neighbours."""
    sums = np.concatenate(([0.0], np.cumsum(values, dtype=np.float64)))
    return sums[width:] - sums[:-width]
