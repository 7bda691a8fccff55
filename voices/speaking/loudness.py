"""
How loud people hear it: integrated loudness as ITU-R BS.1770-4 defines it, while sound streams by.

The standard's two filters are recursive, which numpy cannot do at speed. Their answer to a click
is over within 100 ms, so convolving with it says the same: the rest is below -100 dB.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

QUIETEST_LUFS = -70.0
"""The standard's absolute gate: what is quieter is not measured."""
_BLOCK = 1 << 15
_ECHO_SECONDS = 0.1
# Loudness is the mean over blocks of 400 ms that begin every 100 ms.
_HOPS = 4


class LoudnessMeter:
    """Listens to one channel and says at the end how loud it was."""

    def __init__(self, rate: int) -> None:
        taps = _k_weighting(rate)
        self._response = np.fft.rfft(taps, _BLOCK).astype(np.complex64)
        self._overlap = len(taps) - 1
        self._pending = np.zeros(self._overlap, np.float32)
        self._hop = rate // 10
        self._weighted = np.zeros(0, np.float32)
        self._powers: list[NDArray[np.float32]] = []

    def feed(self, samples: NDArray[np.float32]) -> None:
        """Take in the next samples."""
        self._pending = np.concatenate((self._pending, samples))
        while len(self._pending) >= _BLOCK:
            self._weigh(_BLOCK - self._overlap)

    def lufs(self) -> float:
        """Weigh what is left and return the integrated loudness."""
        left = len(self._pending) - self._overlap
        self._pending = np.pad(self._pending, (0, _BLOCK - len(self._pending)))
        self._weigh(left)
        if not self._powers and len(self._weighted):  # shorter than one hop
            self._powers.append(np.mean(self._weighted**2, keepdims=True))
        return _gated(np.concatenate(self._powers).astype(np.float64)) if self._powers else -70.0

    def _weigh(self, new: int) -> None:
        """Filter one block; its first samples are only there for the filter's memory."""
        block = self._pending[:_BLOCK]
        filtered = np.fft.irfft(np.fft.rfft(block) * self._response, _BLOCK)
        fresh = filtered[self._overlap : self._overlap + new].astype(np.float32)
        self._pending = self._pending[new:]
        weighted = np.concatenate((self._weighted, fresh))
        hops = len(weighted) // self._hop
        whole = weighted[: hops * self._hop].reshape(hops, self._hop)
        self._powers.append(np.mean(whole**2, axis=1))
        self._weighted = weighted[hops * self._hop :]


def _gated(hops: NDArray[np.float64]) -> float:
    """The mean over the blocks that are loud enough to count as the programme."""
    width = min(_HOPS, len(hops))
    sums = np.concatenate(([0.0], np.cumsum(hops)))
    blocks = np.maximum(sums[width:] - sums[:-width], 0) / width
    heard = blocks[blocks > _power(QUIETEST_LUFS)]
    if not len(heard):
        return QUIETEST_LUFS
    heard = heard[heard > np.mean(heard) / 10]  # 10 LU below the mean of what is heard
    return _loudness(float(np.mean(heard)))


def _loudness(power: float) -> float:
    return -0.691 + 10 * math.log10(power)


def _power(lufs: float) -> float:
    return float(10 ** ((lufs + 0.691) / 10))


def _k_weighting(rate: int) -> NDArray[np.float64]:
    """The answer of both filters to a click: the head's shelf, then the high-pass."""
    click = [1.0] + [0.0] * (int(rate * _ECHO_SECONDS) - 1)
    return np.array(_filtered(_filtered(click, *_shelf(rate)), *_high_pass(rate)))


_Coefficients = tuple[tuple[float, float, float], tuple[float, float, float]]


# The standard prints coefficients for 48 kHz only. These are the analogue filters behind them
# (values as in libebur128 and pyloudnorm), which give the same numbers there.
def _shelf(rate: int) -> _Coefficients:
    k, q = math.tan(math.pi * 1681.974450955533 / rate), 0.7071752369554196
    high = 10 ** (3.999843853973347 / 20)
    band = high**0.4996667741545416
    b = (high + band * k / q + k * k, 2 * (k * k - high), high - band * k / q + k * k)
    return b, (1 + k / q + k * k, 2 * (k * k - 1), 1 - k / q + k * k)


def _high_pass(rate: int) -> _Coefficients:
    k, q = math.tan(math.pi * 38.13547087602444 / rate), 0.5003270373238773
    a0 = 1 + k / q + k * k
    return (a0, -2 * a0, a0), (a0, 2 * (k * k - 1), 1 - k / q + k * k)


def _filtered(
    samples: list[float], b: tuple[float, float, float], a: tuple[float, float, float]
) -> list[float]:
    """A second-order filter, sample by sample: only ever run over one short click."""
    first = second = 0.0
    out = []
    for sample in samples:
        result = (b[0] * sample + first) / a[0]
        first = b[1] * sample - a[1] * result + second
        second = b[2] * sample - a[2] * result
        out.append(result)
    return out
