"""More stable or more lively: one dial in front of what an engine lets a person choose."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from engines.base import Manners
from engines.errors import SettingsError

STABLEST, LIVELIEST = -2.0, 2.0
WORDS: Mapping[int, str] = {
    -2: "As stable as it can be: every time nearly the same, and a little flat",
    -1: "More stable: fewer surprises and fewer slips",
    0: "As the voice usually speaks",
    1: "More lively: more melody, and a slip now and then",
    2: "As lively as it can be: listen to every sentence",
}


@dataclass(frozen=True, slots=True)
class _Reach:
    """How many times its usual value a manner is at either end of the dial."""

    stablest: float
    liveliest: float
    whole: bool = False


# Chance is what makes a voice lively and what makes it slip. At the ends the usual values of
# XTTS v2 (0.75, 50, 0.85, 5) become 0.3, 10, 0.51, 10 and 1.0, 100, 1, 5. The less is left to
# chance, the sooner a voice repeats itself, so a stable one is punished more for that. How fast
# it speaks (speed, length_scale) is no question of being lively.
_REACHES: Mapping[str, _Reach] = {
    "temperature": _Reach(0.4, 4 / 3),
    "top_k": _Reach(0.2, 2.0, whole=True),
    "top_p": _Reach(0.6, 1.2),
    "repetition_penalty": _Reach(2.0, 1.0),
    "noise_scale": _Reach(0.4, 1.4),
    "noise_w": _Reach(0.4, 1.4),
}


def moved(manners: Manners) -> tuple[str, ...]:
    """Which of a voice's manners the dial moves; of none, there is nothing to turn."""
    return tuple(name for name in manners if name in _REACHES)


def at(dial: float, manners: Manners) -> dict[str, float]:
    """
    Set what the dial moves, never beyond the voice's own limits; 0 is as it usually speaks.

    A manner only ever goes one way while the dial does.
    """
    if not STABLEST <= dial <= LIVELIEST:
        raise SettingsError(
            f"The dial is at {dial:g}.",
            f"Choose from {STABLEST:g} (most stable) to {LIVELIEST:g} (most lively).",
        )
    return {name: _at(dial, _REACHES[name], *manners[name]) for name in moved(manners)}


def _at(dial: float, reach: _Reach, low: float, usual: float, high: float) -> float:
    if not dial:
        return usual
    end = reach.liveliest if dial > 0 else reach.stablest
    # Equal steps are equal factors. A top_k of 0 leaves nothing out, and stays at that.
    value = usual * math.pow(end, abs(dial) / LIVELIEST)
    return min(high, max(low, float(round(value)) if reach.whole else value))
