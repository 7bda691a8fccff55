"""How often chance alone would count as many answers, exactly, and in words."""

from __future__ import annotations

import math

# A coin that is fair shows as much 1 time in 20: the usual line, and no more than that.
LIKELY, SURE = 0.05, 0.01


def at_least(hits: int, of: int) -> float:
    """How probable so many hits, or more, are where each is a toss of a coin."""
    return math.ldexp(sum(math.comb(of, count) for count in range(hits, of + 1)), -of)


def as_uneven(hits: int, of: int) -> float:
    """How probable it is that tosses of a coin fall so unevenly, to either side."""
    return min(1.0, 2 * at_least(max(hits, of - hits), of))


def odds(probability: float) -> str:
    """A probability as people say it: "1 time in 18"."""
    if probability > 0.95:
        return "nearly always"
    if probability > 0.4:  # 1 time in 2 would be said of all of them
        return f"{round(probability * 10)} times in 10"
    return f"1 time in {round(1 / probability):,}"
