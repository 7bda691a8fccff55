"""A sentence said again, with another seed, when it came out wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engines.base import Sound
from voices.speaking.judging import Fault

MOST_TRIES = 3
"""The first time, and twice again."""
# A prime: seeds that people count up (1, 2, 3) never meet each other's second tries.
_NEXT_SEED = 1_000_003
_SEEDS = 2**31

Judge = Callable[[str, Sound], Sequence[Fault]]


@dataclass(frozen=True, slots=True)
class Spoken:
    """The best that was said of a sentence."""

    sound: Sound
    seed: int
    """What said it: the same seed says it the same way, at the first try."""
    tries: int
    faults: tuple[Fault, ...]
    """What is still wrong with it; it is marked with them."""

    @property
    def well(self) -> bool:
        return not self.faults


def spoken_well(
    speak: Callable[[str, int], Sound], sentence: str, seed: int, judge: Judge
) -> Spoken:
    """Say a sentence until nothing is wrong with it, three times at most, and keep the best."""
    best: Spoken | None = None
    for tries, each in enumerate(seeds(seed), start=1):
        sound = speak(sentence, each)
        found = Spoken(sound, each, tries, tuple(judge(sentence, sound)))
        if best is None or _badness(found) < _badness(best):
            best = found
        if found.well:
            break
    assert best is not None  # there is at least one seed
    return Spoken(best.sound, best.seed, tries, best.faults)


def seeds(seed: int) -> list[int]:
    """The seeds a sentence may be said with, the wanted one first: always the same ones."""
    others = ((seed + again * _NEXT_SEED) % _SEEDS for again in range(1, MOST_TRIES))
    return [seed, *others]


def _badness(spoken: Spoken) -> float:
    return sum(fault.weight for fault in spoken.faults)
