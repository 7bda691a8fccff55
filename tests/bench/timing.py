"""Two ways side by side, in alternation, so that a machine that slows down slows both."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """What several rounds gave: the middle, and between what the middle half lies."""

    median: float
    low: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    """Summarise rounds; a few odd ones do not move it."""
    if len(values) == 1:
        return Spread(values[0], values[0], values[0])
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(statistics.median(values), low, high)


def alternate(
    one: Callable[[], float], other: Callable[[], float], rounds: Iterable[object]
) -> list[tuple[float, float]]:
    """Measure both in every round, the first of a round being the second of the next."""
    pairs = []
    for number, _ in enumerate(rounds):
        if number % 2:
            late = other()
            pairs.append((one(), late))
        else:
            early = one()
            pairs.append((early, other()))
    return pairs


def shares(pairs: Sequence[tuple[float, float]]) -> list[float]:
    """How much more the second took than the first, round by round: 0.02 is 2 %."""
    return [other / one - 1 for one, other in pairs]
