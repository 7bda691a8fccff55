"""What pocket hears in a sound: mel bands, pitch and voicing, sixty-two times a second. No torch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.signal import resample_poly

from engines.base import Sound
from engines.pocket.facts import BANDS, HOP, RATE, WINDOW

Floats = NDArray[np.float32]

_MEL_WINDOW = 800
_LOWEST_HZ, _HIGHEST_HZ = 40.0, 7900.0
_FLOOR = 1e-4
_PIECE = 4096
"""Frames that are computed at once: an hour at once would be gigabytes."""
_LEVEL = 0.1
"""Root mean square of where somebody speaks."""
_SPEAKS = 0.01
# Silence kept at both ends: the base learned with as much, and so does a voice.
_EDGE_SAMPLES = RATE // 10
_EDGE_WINDOW, _EDGE_SHARE = 400, 0.02


def at_rate(sound: Sound) -> Floats:
    """The samples at the rate of this engine."""
    samples: Floats = np.nan_to_num(np.asarray(sound.samples, np.float32))
    if sound.rate == RATE:
        return samples
    common = int(np.gcd(sound.rate, RATE))
    done = resample_poly(samples, RATE // common, sound.rate // common)
    found: Floats = done.astype(np.float32)
    return found


def levelled(samples: Floats) -> Floats:
    """Bring speech to one loudness, so that a network need not know quiet recordings from loud."""
    loudest = float(np.abs(samples).max(initial=0.0))
    if loudest == 0.0:
        return samples
    samples = samples / loudest
    speech = samples[np.abs(samples) > _SPEAKS]
    level = float(np.sqrt(np.mean(speech**2)))
    found: Floats = np.clip(samples * (_LEVEL / level), -1.0, 1.0).astype(np.float32)
    return found


def spoken_part(samples: Floats) -> tuple[int, int]:
    """From where to where somebody speaks, with a tenth of a second around it."""
    if not len(samples):
        return 0, 0
    ones = np.ones(_EDGE_WINDOW) / _EDGE_WINDOW
    loudness = np.convolve(np.abs(samples), ones, "same")
    (loud,) = np.nonzero(loudness > _EDGE_SHARE * loudness.max(initial=0.0))
    if not len(loud):
        return 0, len(samples)
    start = max(0, int(loud[0]) - _EDGE_SAMPLES)
    return start, min(len(samples), int(loud[-1]) + 1 + _EDGE_SAMPLES)


def speech_of(sound: Sound) -> Floats:
    """A sound as the base was taught: one loudness, little silence at the ends, whole frames."""
    samples = levelled(at_rate(sound))
    start, end = spoken_part(samples)
    return whole_frames(samples[start:end])


def whole_frames(samples: Floats) -> Floats:
    return samples[: len(samples) // HOP * HOP]


# ---- Mel bands ----


def mels(samples: Floats) -> Floats:
    """Frames of the natural logarithm of 80 mel bands."""
    frames = _frames(samples, WINDOW)
    pieces = [_mels(frames[start : start + _PIECE]) for start in range(0, len(frames), _PIECE)]
    return np.concatenate([np.zeros((0, BANDS), np.float32), *pieces])


def _mels(frames: Floats) -> Floats:
    spectrum = np.abs(np.fft.rfft(frames * _mel_window(), axis=1))
    bands = spectrum.astype(np.float32) @ mel_filters().T
    found: Floats = np.log(np.maximum(bands, _FLOOR), dtype=np.float32)
    return found


@cache
def mel_filters() -> Floats:
    """Triangles of one area from 40 to 7,900 Hz, a row for each band (Slaney's scale)."""
    low, high = _to_mels(np.array([_LOWEST_HZ, _HIGHEST_HZ]))
    edges = _from_mels(np.linspace(low, high, BANDS + 2))
    bins = np.linspace(0, RATE / 2, WINDOW // 2 + 1)
    rising = (bins - edges[:-2, None]) / np.diff(edges)[:-1, None]
    falling = (edges[2:, None] - bins) / np.diff(edges)[1:, None]
    triangles = np.maximum(0, np.minimum(rising, falling))
    return (triangles * (2 / (edges[2:] - edges[:-2]))[:, None]).astype(np.float32)


def _to_mels(hertz: NDArray[np.float64]) -> NDArray[np.float64]:
    linear = hertz * 3 / 200
    return np.where(
        hertz < 1000, linear, 15 + 27 * np.log(np.maximum(hertz, 1) / 1000) / np.log(6.4)
    )


def _from_mels(mel: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(mel < 15, mel * 200 / 3, 1000 * np.exp((mel - 15) * np.log(6.4) / 27))


@cache
def _mel_window() -> Floats:
    beside = (WINDOW - _MEL_WINDOW) // 2
    return np.pad(_hann(_MEL_WINDOW), beside).astype(np.float32)


def _hann(size: int) -> Floats:
    """The periodic window, as spectra want it."""
    return np.hanning(size + 1)[:-1].astype(np.float32)


def _frames(samples: Floats, size: int) -> Floats:
    """Overlapping windows, one around the start of each hop."""
    padded = np.pad(samples, (size // 2, size))
    windows = np.lib.stride_tricks.sliding_window_view(padded, size)
    return windows[: len(samples) // HOP * HOP : HOP]


# ---- Pitch ----

# 65 to 500 Hz: people speak between the two.
_SHORTEST, _LONGEST = 32, 246
_PITCH_WINDOW = 768
_CANDIDATES = 8
# What a way through the candidates costs: a jump of an octave, and to begin or to stop voicing.
_OCTAVE, _SWITCH, _UNVOICED = 1.2, 0.25, 0.55
_HIGHER_IS_LIKELIER = 0.04
_QUIET, _QUIET_SHARE = 0.003, 0.01


@dataclass(frozen=True, slots=True)
class Pitch:
    """How high a voice is, frame by frame."""

    logarithms: Floats
    """Natural logarithm of the pitch in hertz; drawn across where nothing is voiced."""
    voiced: NDArray[np.bool_]


def pitch(samples: Floats) -> Pitch:
    """Follow the pitch: autocorrelation, and the cheapest way through its peaks."""
    frames = _frames(samples, _PITCH_WINDOW)
    if not len(frames):
        return Pitch(np.zeros(0, np.float32), np.zeros(0, bool))
    window = np.hanning(_PITCH_WINDOW).astype(np.float32)
    frames = (frames - frames.mean(1, keepdims=True)) * window
    hertz, cost = _candidates(_autocorrelation(frames, window))
    loudness = np.sqrt((frames**2).mean(1))
    unvoiced = _UNVOICED - 0.5 * (loudness < _QUIET + _QUIET_SHARE * loudness.max())
    return _drawn_across(_cheapest(hertz, np.column_stack([cost, unvoiced])))


def _autocorrelation(frames: Floats, window: Floats) -> Floats:
    def of(signal: Floats) -> Floats:
        power = np.abs(np.fft.rfft(signal, 2 * 1024)) ** 2
        return np.asarray(np.fft.irfft(power)[..., : _LONGEST + 2], np.float32)

    found, own = of(frames), of(window)
    result: Floats = found / (found[:, :1] + 1e-7) / (own / own[0])
    return result


def _candidates(correlation: Floats) -> tuple[Floats, Floats]:
    """The best peaks of each frame, in hertz, and what each costs."""
    lags = np.arange(_SHORTEST, _LONGEST)
    here = correlation[:, _SHORTEST:_LONGEST]
    before = correlation[:, _SHORTEST - 1 : _LONGEST - 1]
    after = correlation[:, _SHORTEST + 1 : _LONGEST + 1]
    is_peak = (here > before) & (here >= after)
    # Between samples: the top of the parabola through the peak and its neighbours. High voices
    # have few samples in a swing, and their peaks lie far from any.
    beside = np.clip(0.5 * (before - after) / (before - 2 * here + after - 1e-9), -0.5, 0.5)
    tops = here - 0.25 * (before - after) * beside
    scores = np.where(is_peak, tops - _HIGHER_IS_LIKELIER * np.log2(lags / _SHORTEST), -1.0)
    best = np.argpartition(-scores, _CANDIDATES, axis=1)[:, :_CANDIDATES]
    score, off = (np.take_along_axis(each, best, 1) for each in (scores, beside))
    hertz = RATE / (lags[best] + off)
    return hertz.astype(np.float32), np.where(score < 0, 2.0, 1 - score).astype(np.float32)


def _cheapest(hertz: Floats, cost: Floats) -> Floats:
    """Hertz of each frame on the cheapest way, 0 where it is not voiced (the last column)."""
    count, ways = cost.shape
    octaves = np.log2(hertz)
    steps = np.full((count, ways, ways), _SWITCH, np.float32)  # [frame, from, to]
    steps[1:, :-1, :-1] = _OCTAVE * np.abs(octaves[1:, None, :] - octaves[:-1, :, None])
    steps[:, -1, -1] = 0.0
    total, came = cost[0], np.zeros((count, ways), np.intp)
    for frame in range(1, count):
        through = total[:, None] + steps[frame]
        came[frame] = through.argmin(0)
        total = through.min(0) + cost[frame]
    return _walked_back(hertz, came, int(total.argmin()))


def _walked_back(hertz: Floats, came: NDArray[np.intp], last: int) -> Floats:
    found = np.zeros(len(hertz), np.float32)
    for frame in range(len(hertz) - 1, -1, -1):
        found[frame] = hertz[frame, last] if last < hertz.shape[1] else 0.0
        last = int(came[frame, last])
    return found


# About 120 Hz, for what is never voiced.
_USUAL = 4.8


def _drawn_across(hertz: Floats) -> Pitch:
    voiced = hertz > 0
    if voiced.sum() < 2:
        return Pitch(np.full(len(hertz), _USUAL, np.float32), voiced)
    (where,) = np.nonzero(voiced)
    drawn = np.interp(np.arange(len(hertz)), where, np.log(hertz[where]))
    return Pitch(drawn.astype(np.float32), voiced)
