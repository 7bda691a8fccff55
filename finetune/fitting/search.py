"""The largest number of clips at once, found by trying: for memory that follows no fit."""

from __future__ import annotations

import math
from collections.abc import Callable

MOST_TRIALS = 8


def sizes(share: int) -> list[int]:
    """Every number of clips at once that makes fewer micro-batches than a smaller one."""
    return sorted({math.ceil(share / parts) for parts in range(1, share + 1)})


def largest(share: int, try_: Callable[[int], bool]) -> int:
    """
    Search for the most clips at once, 0 to `share`, in at most eight trials.

    Halving what is left of the sizes that make a difference takes so many for 4,096 clips.
    """
    fits, candidates = 0, sizes(share)
    for _ in range(MOST_TRIALS):
        if not candidates:
            break
        middle = len(candidates) // 2
        if try_(candidates[middle]):
            fits, candidates = candidates[middle], candidates[middle + 1 :]
        else:
            candidates = candidates[:middle]
    return fits
