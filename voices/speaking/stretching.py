"""Speech made quicker or slower without changing its pitch."""

from __future__ import annotations

import numpy as np

from engines.base import Sound
from voices.speaking.voiced import Floats

# A window holds two periods of the deepest voice; the search finds the next one in phase.
_WINDOW_S, _SEARCH_S = 0.04, 0.015


def stretched(sound: Sound, pace: float) -> Sound:
    """Say a sound at another pace: 2 takes half the time. A pace of 1 changes nothing."""
    size = round(_WINDOW_S * sound.rate) // 2 * 2
    if pace == 1 or len(sound.samples) < 2 * size:
        return sound
    return Sound(_overlapped(sound.samples, pace, size, round(_SEARCH_S * sound.rate)), sound.rate)


def _overlapped(samples: Floats, pace: float, size: int, search: int) -> Floats:
    """Lay windows half over each other, each taken where it goes on best from the one before."""
    hop, count = size // 2, round(len(samples) / pace)
    padded = np.pad(samples, (search, size + 2 * search + hop))
    window = np.hanning(size + 1)[:-1].astype(np.float32)
    made = np.zeros(count + 2 * size, np.float32)
    weights = np.zeros_like(made)
    taken = search
    for to in range(0, count, hop):
        wanted = min(search + round(to * pace), len(padded) - size - search)
        taken = wanted if to == 0 else _in_phase(padded, wanted, taken + hop, size, search)
        made[to : to + size] += padded[taken : taken + size] * window
        weights[to : to + size] += window
    return np.asarray(made[:count] / np.maximum(weights[:count], np.float32(0.1)), np.float32)


def _in_phase(padded: Floats, wanted: int, natural: int, size: int, search: int) -> int:
    """Where near `wanted` it is most like what would have come next by itself."""
    follows = padded[natural : natural + size]
    around = padded[wanted - search : wanted + search + size]
    if len(follows) < size or not follows.any():
        return wanted
    likeness = np.correlate(around, follows, "valid")
    energies = np.convolve(around**2, np.ones(size, np.float32), "valid")
    return wanted - search + int(np.argmax(likeness / np.sqrt(energies + 1e-6)))
