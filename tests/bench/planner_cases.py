"""
Cards, datasets and trainings that are known exactly, to try rules for the micro-batch on.

Nothing here asks a GPU. What XTTS takes is near the real one; the other engines' sizes and all
speeds are only plausible, until `standard_cases` is given truths that were measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np

from finetune.fitting.peaks import CHANGE, FIRST, MORE, Fit, Growth, Held, Phase
from finetune.training.order import micro_batches

GIB = 2**30
CARDS_GIB = (6, 8, 10, 11, 12, 16, 20, 24, 32, 40, 48, 80)
STANDARD_GIB = (8, 12, 16, 24, 48)
SHORTEST_S, LONGEST_S = 1.0, 11.0
_HELD_BY_OTHERS = 0.3
_CONTEXT_BYTES, _FRAGMENTED = 450 * 2**20, 1.05
# So much more or less each size of a random case is; a card's speed differs more.
_LUCK, _CARD_LUCK = 1.3, 2.5


@dataclass(frozen=True)
class Case:
    """A card, a dataset, a wish, and the truth about the training."""

    name: str
    engine: str
    total_bytes: int
    free_bytes: int
    """Others hold the rest."""
    lengths: tuple[int, ...]
    """Of the clips in the order of the dataset, as the engine counts them."""
    units_per_second: float
    wanted: int
    """Clips behind each change of the weights."""
    truth: Fit
    context_bytes: int
    """What CUDA holds beside what tensors do."""
    fragmented: float
    """What the allocator reserves for each byte that tensors hold."""

    @cached_property
    def longest(self) -> int:
        return max(self.lengths)

    @cached_property
    def mean_length(self) -> int:
        return round(sum(self.lengths) / len(self.lengths))

    @cached_property
    def mean_seconds(self) -> float:
        return sum(self.lengths) / len(self.lengths) / self.units_per_second

    @cached_property
    def total_gib(self) -> float:
        return self.total_bytes / GIB

    def reserved(self, clips: int, length: int | None = None, *, accumulates: bool) -> float:
        """What the allocator holds after a step with so many clips at once, of the longest."""
        at = self.longest if length is None else length
        return self.truth.peak(clips, at, accumulates=accumulates) * self.fragmented

    def used(self, micro: int) -> float:
        """What the process takes of the card in a step of the longest clips."""
        parts = self._parts(micro)
        return self.reserved(parts[0], accumulates=len(parts) > 1) + self.context_bytes

    def fits(self, micro: int) -> bool:
        """Whether a step of the longest clips, at most `micro` at once, stays within the card."""
        return self.used(micro) <= self.free_bytes

    def clips_per_second(self, micro: int) -> float:
        """How fast it learns from clips of the mean length; 0 when the longest do not fit."""
        if not self.fits(micro):
            return 0.0
        each = [self.truth.pace.at(clips, self.mean_length) for clips in self._parts(micro)]
        return self.wanted / (sum(each) + self.truth.change_seconds)

    def best(self) -> float:
        """The most clips a second that any micro-batch reaches; 0 when none fits."""
        return max(map(self.clips_per_second, range(1, self.wanted + 1)))

    def _parts(self, micro: int) -> list[int]:
        """How many clips each micro-batch of a step has, the largest first, as the loop cuts it."""
        return [len(part) for part in micro_batches(range(self.wanted), micro)]


# ---- Truths --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Turn:
    name: str
    growth: Growth
    """Of later micro-batches; its constant comes on top of what is held."""
    steep: float
    """How much of that growth the first micro-batch has."""
    gradients: float
    """Its share of all gradients."""
    change: float
    """What the optimizer takes, as a share of all weights."""


@dataclass(frozen=True, slots=True)
class _Recipe:
    weights: float
    turns: tuple[_Turn, ...]
    pace: Growth
    change_seconds: float
    units_per_second: float


_RECIPES = {
    # The curve through 1.02, 1.53 and 2.66 GB a clip at 160, 240 and 390 units, in float32; a
    # clip of 11 s has about 390.
    "xtts": _Recipe(
        1.76e9,
        (_Turn("", Growth(3e7, 1.93e8, 4.36e6, 5036.0), 0.98, 1.0, 0.3),),
        Growth(0.11, 4e-3, 1.3e-4),
        0.06,
        units_per_second=35.5,
    ),
    "pocket": _Recipe(
        2.6e7,
        (_Turn("", Growth(1e7, 3e6, 2.5e5), 0.95, 1.0, 1.0),),
        Growth(0.05, 1e-3, 4e-6),
        4e-3,
        units_per_second=62.5,
    ),
    "gan": _Recipe(
        2.84e8,
        (
            _Turn("discriminator", Growth(2e7, 2.2e8, 9e4), 0.97, 0.65, 0.2),
            _Turn("generator", Growth(3e7, 3e8, 2.2e5, 40.0), 0.93, 0.35, 0.1),
        ),
        Growth(0.12, 0.01, 1e-5),
        0.015,
        units_per_second=86.1,
    ),
}
ENGINES = tuple(_RECIPES)
# XTTS in bfloat16 keeps 2.0 GB of a clip of 390 units, and the others are taken to be alike.
_IN_HALF = 0.75
_DATASETS = {"xtts": (300, 5.0, 16), "pocket": (150, 4.0, 64), "gan": (800, 4.5, 32)}
"""How many clips, their median length in seconds, and the wanted batch."""


def _truth(recipe: _Recipe, by: Callable[[], float], slower: float = 1.0, kept: float = 1.0) -> Fit:
    """The recipe, with each of its sizes multiplied by a number of its own."""
    weights = round(recipe.weights * by())
    held = Held(weights, weights, 2 * weights)
    phases = [phase for turn in recipe.turns for phase in _phases(turn, held, by, kept)]
    return Fit(held, phases, _times(recipe.pace, by, slower), recipe.change_seconds * slower * by())


def _phases(turn: _Turn, held: Held, by: Callable[[], float], kept: float) -> list[Phase]:
    more = _times(turn.growth, by, kept)
    first = _times(more, lambda: turn.steep)
    empty = held.all - turn.gradients * held.gradients
    return [
        Phase(turn.name, FIRST, held.all, replace(first, constant=empty + more.constant)),
        Phase(turn.name, MORE, held.all, replace(more, constant=held.all + more.constant)),
        Phase(turn.name, CHANGE, held.all, Growth(held.all + turn.change * held.weights * by())),
    ]


def _times(growth: Growth, by: Callable[[], float], all_by: float = 1.0) -> Growth:
    return Growth(*(part * by() * all_by for part in astuple(growth)))


def _random_truth(luck: np.random.Generator, engine: str) -> Fit:
    slower, kept = _about_one(luck, _CARD_LUCK), float(luck.choice((1.0, _IN_HALF)))
    return _truth(_RECIPES[engine], lambda: _about_one(luck, _LUCK), slower, kept)


def _about_one(luck: np.random.Generator, most: float) -> float:
    return float(np.exp(luck.uniform(-np.log(most), np.log(most))))


TRUTHS: Mapping[str, Fit] = MappingProxyType(
    {engine: _truth(recipe, lambda: 1.0) for engine, recipe in _RECIPES.items()}
)


# ---- Cases ---------------------------------------------------------------------------------------


def random_cases(seed: int, count: int) -> list[Case]:
    """So many plausible cases, no two alike; the first ones stay the same when there are more."""
    return [_random_case(seed, number) for number in range(count)]


def standard_cases(truths: Mapping[str, Fit] | None = None) -> list[Case]:
    """For each engine one dataset, on cards of five sizes; the truths of all, or just of these."""
    chosen = TRUTHS if truths is None else truths
    return [
        _standard_case(engine, gib, chosen[engine]) for engine in chosen for gib in STANDARD_GIB
    ]


def _random_case(seed: int, number: int) -> Case:
    luck = np.random.default_rng([seed, number])
    engine = ENGINES[luck.integers(len(ENGINES))]
    total = int(luck.choice(CARDS_GIB)) * GIB
    rate = _RECIPES[engine].units_per_second
    clips = round(float(np.exp(luck.uniform(np.log(20), np.log(2000)))))
    return Case(
        name=f"{engine} {number}",
        engine=engine,
        total_bytes=total,
        free_bytes=int(total * (1 - luck.uniform(0, _HELD_BY_OTHERS))),
        lengths=_lengths(luck, clips, rate, luck.uniform(3, 7), luck.uniform(0.25, 0.6)),
        units_per_second=rate,
        wanted=int(luck.integers(1, 65)),
        truth=_random_truth(luck, engine),
        context_bytes=int(luck.uniform(0.3, 0.8) * GIB),
        fragmented=float(luck.uniform(1.02, 1.12)),
    )


def _standard_case(engine: str, gib: int, truth: Fit) -> Case:
    recipe, (clips, median_s, wanted) = _RECIPES[engine], _DATASETS[engine]
    luck = np.random.default_rng(clips)
    return Case(
        name=f"{engine} {gib} GiB",
        engine=engine,
        total_bytes=gib * GIB,
        free_bytes=gib * GIB,
        lengths=_lengths(luck, clips, recipe.units_per_second, median_s, 0.4),
        units_per_second=recipe.units_per_second,
        wanted=wanted,
        truth=truth,
        context_bytes=_CONTEXT_BYTES,
        fragmented=_FRAGMENTED,
    )


def _lengths(
    luck: np.random.Generator, clips: int, rate: float, median_s: float, spread: float
) -> tuple[int, ...]:
    """Lengths of clips as recordings are cut: many of about the same, few very short or long."""
    seconds = luck.lognormal(np.log(median_s), spread, clips).clip(SHORTEST_S, LONGEST_S)
    return tuple(int(units) for units in np.rint(seconds * rate))
