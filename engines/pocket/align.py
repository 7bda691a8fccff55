"""
When each sound of a known text is spoken: a small net that knows sounds, and the best way through.

In numpy alone, so that any process can ask: 1 s of speech takes about 5 ms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engines.pocket.phones import PAUSE_NUMBER
from engines.pocket.sound import Floats

Weights = Mapping[str, Floats]
Ints = NDArray[np.int64]

SPREAD = 2.5
"""Mel bands are divided by this, beside their mean over the clip, before the net hears them."""
_EPSILON = 1e-5
_PIECE, _AROUND = 4096, 64
"""Frames that are heard at once, and what is heard beside them so that no edge shows."""
# Ways that much less likely than the best never win; without it an hour would need its square.
_BEAM = 600.0
_STAY, _NEXT, _SKIP = 0, 1, 2
_NEVER, _HARDLY = np.float32(-1e9), np.float32(-0.5e9)


@dataclass(frozen=True, slots=True)
class Alignment:
    """Which sound each frame belongs to."""

    places: Ints
    """Row of the text, frame by frame; a pause that nobody made has no frames."""
    sureness: float
    """Mean log likelihood of a frame: about -1 where the text is what is spoken."""


def align(mels: Floats, phones: Ints, weights: Weights) -> Alignment:
    """Lay sounds over frames; pauses may be left out. There must be a frame for each sound."""
    return best_way(listen(mels, weights), phones, phones == PAUSE_NUMBER)


def listen(mels: Floats, weights: Weights) -> Floats:
    """How likely each sound is at each frame (logarithms)."""
    mels = (mels - mels.mean(0)) / SPREAD
    pieces = []
    for start in range(0, len(mels), _PIECE):
        first = max(0, start - _AROUND)
        heard = _net(mels[first : start + _PIECE + _AROUND], weights)
        pieces.append(heard[start - first : start - first + _PIECE])
    return np.concatenate(pieces)


def best_way(heard: Floats, phones: Ints, optional: NDArray[np.bool_]) -> Alignment:
    """
    The likeliest way through sounds that follow each other, the optional left out at will.

    No two optional ones may follow each other. Raise ValueError where there are fewer frames than
    sounds.
    """
    if len(heard) < (~optional).sum():
        raise ValueError(f"{len(heard)} frames for {(~optional).sum()} sounds")
    found = _best_way(heard, phones, optional, _BEAM)
    # Where a text is longer than what is said, its end is never among the likely.
    return found or _best_way(heard, phones, optional, np.inf) or _impossible()


def _impossible() -> Alignment:
    raise ValueError("there is no way through these sounds")


def _best_way(
    heard: Floats, phones: Ints, optional: NDArray[np.bool_], beam: float
) -> Alignment | None:
    count, states = len(heard), len(phones)
    may_skip = np.concatenate([[False, False], optional[1:-1]])[:states]
    total = np.full(states, _NEVER, np.float32)
    total[0] = heard[0, phones[0]]
    if states > 1 and optional[0]:
        total[1] = heard[0, phones[1]]
    low, high = 0, min(2, states)
    moves: list[tuple[int, NDArray[np.int8]]] = [(0, np.zeros(high, np.int8))]
    for frame in range(1, count):
        low, high = _within_beam(total, low, high, beam)
        moved, total[low:high] = _one_frame(
            total, heard[frame, phones[low:high]], may_skip, low, high
        )
        total[:low] = _NEVER
        total[high:] = _NEVER
        moves.append((low, moved))
    last = states - 1
    if states > 1 and optional[last] and total[last - 1] > total[last]:
        last -= 1
    if not low <= last < high or total[last] <= _HARDLY:
        return None
    return Alignment(_walked_back(moves, last), float(total[last]) / count)


def _within_beam(total: Floats, low: int, high: int, beam: float) -> tuple[int, int]:
    (likely,) = np.nonzero(total[low:high] > max(total[low:high].max() - beam, _HARDLY))
    return low + int(likely[0]), min(low + int(likely[-1]) + 3, len(total))


def _one_frame(
    total: Floats, score: Floats, may_skip: NDArray[np.bool_], low: int, high: int
) -> tuple[NDArray[np.int8], Floats]:
    stay = total[low:high]
    came = np.full((3, high - low), _NEVER, np.float32)
    came[_STAY] = stay
    came[_NEXT] = _shifted(total, low, high, 1)
    came[_SKIP] = np.where(may_skip[low:high], _shifted(total, low, high, 2), _NEVER)
    moved = came.argmax(0).astype(np.int8)
    return moved, came.max(0) + score


def _shifted(total: Floats, low: int, high: int, by: int) -> Floats:
    """What the states `by` before these have; nothing comes from outside."""
    missing = max(0, by - low)
    return np.concatenate([np.full(missing, _NEVER), total[max(0, low - by) : high - by]])


def _walked_back(moves: list[tuple[int, NDArray[np.int8]]], state: int) -> Ints:
    places = np.zeros(len(moves), np.int64)
    for frame in range(len(moves) - 1, -1, -1):
        places[frame] = state
        low, moved = moves[frame]
        state -= int(moved[state - low])
    return places


# ---- The net, as it was trained with torch (pretrain/aligner.py) ----


def _net(x: Floats, weights: Weights) -> Floats:
    x = _linear(x, weights, "take_in")
    block = 0
    while f"blocks.{block}.weight" in weights:
        x = x + _block(x, weights, f"blocks.{block}.")
        block += 1
    x = _linear(x, weights, "out")
    x = x - x.max(1, keepdims=True)
    found: Floats = x - np.log(np.exp(x).sum(1, keepdims=True))
    return found


def _block(x: Floats, weights: Weights, name: str) -> Floats:
    kernel = weights[f"{name}weight"]
    reach = len(kernel)
    padded = np.pad(x, ((reach // 2, reach // 2), (0, 0)))
    y = weights[f"{name}bias"] + sum(
        padded[place : place + len(x)] * kernel[place] for place in range(reach)
    )
    y = (y - y.mean(1, keepdims=True)) / np.sqrt(y.var(1, keepdims=True) + _EPSILON)
    y = y * weights[f"{name}norm.weight"] + weights[f"{name}norm.bias"]
    y = _linear(y, weights, f"{name}widen")
    y = y / (1 + np.exp(-np.clip(y, -80, 80)))
    return _linear(y, weights, f"{name}narrow")


def _linear(x: Floats, weights: Weights, name: str) -> Floats:
    found: Floats = x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]
    return found


def durations(places: Ints, count: int) -> Ints:
    """How many frames each of so many sounds has."""
    return np.bincount(places, minlength=count).astype(np.int64)
