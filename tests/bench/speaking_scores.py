"""What of speech is counted: clicks where sentences meet, and memory that grows. Decisions only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

NEAR_S = 0.005
"""What is looked at on each side of a join."""
_NEARLY_ALL = 99.9


def clicks(blocks: Sequence[Floats], rate: int) -> int:
    """Count the joins with a step larger than nearly all steps of the sentences themselves."""
    inside = np.concatenate([steps(each) for each in blocks if each.any()])
    limit = np.percentile(inside, _NEARLY_ALL)
    return sum(bool(found.max(initial=0.0) > limit) for found in at_joins(blocks, rate))


def steps(samples: Floats) -> Floats:
    """How far each sample is from the one before."""
    return np.abs(np.diff(samples))


def at_joins(blocks: Sequence[Floats], rate: int) -> Iterator[Floats]:
    """The steps around each place where one block ends and the next begins."""
    near = round(NEAR_S * rate)
    for one, other in pairwise(blocks):
        yield steps(np.concatenate((one[-near:], other[:near])))


def growth(held: Sequence[float]) -> float:
    """How much more is held at most in all of a work than in its first tenth."""
    early = held[: max(1, len(held) // 10)]
    return max(held) - max(early)
