"""Loudness, noise, clipping and what else can be measured while the sound streams by once."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from finetune.media.levels import SILENT_DB, Levels
from voices.speaking.loudness import LoudnessMeter

FRAME_SECONDS = 0.05
_FULL_SCALE = 0.999
_SPECTRUM = 4096
_BAND_HZ = 250
# Below the strongest band by this much there is only what coding and rounding leave.
_BAND_FALL_DB = 60.0


class Meter:
    """Measures one channel as it streams by; what it keeps grows by 120 bytes a second."""

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._loudness = LoudnessMeter(rate)
        self._frame = int(rate * FRAME_SECONDS)
        self._rest = np.zeros(0, np.float32)
        self._frames: list[NDArray[np.float32]] = []
        self._bands: NDArray[np.float64] = np.zeros(_SPECTRUM // 2 + 1)
        self._peak = self._sum = self._square = 0.0
        self._count = self._clipped = 0
        self._was_full = False

    def feed(self, samples: NDArray[np.float32]) -> None:
        """Take in the next samples, about a second at a time."""
        if not len(samples):
            return
        self._count += len(samples)
        self._sum += float(np.sum(samples, dtype=np.float64))
        self._square += float(np.dot(samples, samples))
        self._take_peaks(np.abs(samples))
        self._loudness.feed(samples)
        self._take_frames(samples)
        self._take_spectrum(samples)

    def levels(self) -> Levels:
        """Say what was measured, once, at the end."""
        count = max(1, self._count)
        frames = np.concatenate((*self._frames, self._short_rest()))
        noise = float(np.percentile(frames, 10))
        loud = float(np.percentile(frames, 99))
        return Levels(
            peak_db=_db(self._peak**2),
            clipped_share=self._clipped / count,
            rms_db=_db(self._square / count),
            loudness_lufs=self._loudness.lufs(),
            noise_db=noise,
            speech_db=_mean_db(frames[frames >= loud - 20]),
            silence_share=float(np.mean(frames < _silence_db(noise, loud))),
            dc_offset=self._sum / count,
            bandwidth_hz=_bandwidth(self._bands, self._rate),
        )

    def _take_peaks(self, sizes: NDArray[np.float32]) -> None:
        self._peak = max(self._peak, float(sizes.max()))
        full = sizes >= _FULL_SCALE
        if full.any() or self._was_full:
            beside = np.concatenate(([self._was_full], full[:-1]))
            self._clipped += int(np.count_nonzero(full & beside))
        self._was_full = bool(full[-1])

    def _take_frames(self, samples: NDArray[np.float32]) -> None:
        samples = np.concatenate((self._rest, samples))
        whole = len(samples) // self._frame * self._frame
        powers = np.mean(samples[:whole].reshape(-1, self._frame) ** 2, axis=1)
        self._frames.append(_dbs(powers))
        self._rest = samples[whole:]

    def _short_rest(self) -> NDArray[np.float32]:
        """The last frame counts only when there is no other."""
        if any(len(some) for some in self._frames):
            return np.zeros(0, np.float32)
        rest = self._rest if len(self._rest) else np.zeros(1, np.float32)
        return _dbs(np.mean(rest**2, keepdims=True))

    def _take_spectrum(self, samples: NDArray[np.float32]) -> None:
        """Look where it is loudest, where somebody speaks."""
        if len(samples) < _SPECTRUM:
            return
        pieces = samples[: len(samples) // _SPECTRUM * _SPECTRUM].reshape(-1, _SPECTRUM)
        loudest = pieces[np.argmax(np.mean(pieces**2, axis=1))]
        self._bands += np.abs(np.fft.rfft(loudest * np.hanning(_SPECTRUM))) ** 2


def _silence_db(noise: float, loud: float) -> float:
    """Where silence ends: a quarter of the way from the noise to the voice, if they differ."""
    return max(-60.0, noise + (loud - noise) / 4) if loud - noise > 15 else -60.0


def _bandwidth(powers: NDArray[np.float64], rate: int) -> float:
    if not powers.any():
        return rate / 2
    width = max(1, round(_BAND_HZ * _SPECTRUM / rate))
    bands = np.add.reduceat(powers, np.arange(0, len(powers) - width + 1, width))
    heard = np.nonzero(bands > bands.max() * 10 ** (-_BAND_FALL_DB / 10))[0]
    return float(min(rate / 2, (heard[-1] + 1) * width * rate / _SPECTRUM))


def _db(power: float) -> float:
    return max(SILENT_DB, 10 * math.log10(power)) if power > 0 else SILENT_DB


def _dbs(powers: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(10 * np.log10(np.maximum(powers, 1e-12)), np.float32)


def _mean_db(decibels: NDArray[np.float32]) -> float:
    return _db(float(np.mean(10 ** (decibels.astype(np.float64) / 10))))
