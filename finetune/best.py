"""Which weights of a run make the best voice, and whether it still gets better. Decisions only."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# Two hearings that differ by less are equal.
# The same speaker's sentences lie 0.02 apart (standard deviation over 5 voices, 8 sentences each),
# the means of four sentences 0.011, so two such means 0.016.
SIMILARITY_NOISE = 0.02
# Two signs in a hundred: one word heard otherwise in four sentences.
ERRORS_NOISE = 0.02
# As a share of the loss.
LOSS_NOISE = 0.02
PATIENCE = 4
"""Hearings in which nothing got better, before stopping is offered."""

_BASE_STEP = 0


@dataclass(frozen=True, slots=True)
class Heard:
    """What is known of the weights of a step; each is None where it was not measured."""

    step: int
    check_loss: float | None = None
    similarity: float | None = None
    """Mean over the samples, to the real voice: -1 to 1."""
    character_errors: float | None = None
    """Mean over the samples: 0 to 1."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The best step, and why."""

    step: int
    reason: str


@dataclass(frozen=True, slots=True)
class _Led:
    """Which measures of the samples were taken often enough to lead."""

    similarity: bool
    errors: bool

    @property
    def noise(self) -> float:
        return math.hypot(SIMILARITY_NOISE * self.similarity, ERRORS_NOISE * self.errors)

    def score(self, heard: Heard) -> float | None:
        """How good the samples sound, more is better; None where a leading measure is missing."""
        gain = heard.similarity if self.similarity else 0.0
        cost = heard.character_errors if self.errors else 0.0
        return None if gain is None or cost is None else gain - cost


def choose(heard: Sequence[Heard]) -> Choice:
    """
    Choose the best step by its samples, where there are any; of equals by check loss, then earlier.

    The check loss alone would choose too early: it rises again while a voice still gets closer.
    The base (step 0) is chosen when nothing is better. What is no number is never better than one.
    """
    known = _latest(heard)
    if not known:
        raise ValueError("There is nothing to choose from.")
    sound = [each for each in known if _is_sound(each)]
    if not sound:
        return Choice(known[0].step, "Nothing that was measured is a number.")
    led = _led(sound)
    found = _earliest_not_worse(_lowest_loss(_best_samples(sound, led)), led)
    return Choice(found.step, _reason(found, sound, led))


def why_now(step: int, why: str, heard: Sequence[Heard]) -> str:
    """Why a step is the best by all that was heard since; `why` where that would choose another."""
    choice = choose(heard) if heard else None
    return choice.reason if choice is not None and choice.step == step else why


def early_stop_offered(heard: Sequence[Heard]) -> str:
    """Offer to stop, in a sentence, when nothing got better for a while; "" before."""
    known = [each for each in _latest(heard) if _values(each)]
    since = _hearings_since_better(known)
    if since < PATIENCE:
        return ""
    best = choose(known).step
    which = "the base" if best == _BASE_STEP else f"step {best}"
    return (
        f"Nothing got better in the last {since} hearings: the best is still {which}."
        " You can stop here and lose nothing."
    )


def _latest(heard: Iterable[Heard]) -> list[Heard]:
    """In the order of steps; of a step heard again after a resume the later one counts."""
    return sorted({each.step: each for each in heard}.values(), key=lambda each: each.step)


def _is_sound(heard: Heard) -> bool:
    return all(math.isfinite(value) for value in _values(heard))


def _values(heard: Heard) -> list[float]:
    every = (heard.check_loss, heard.similarity, heard.character_errors)
    return [value for value in every if value is not None]


def _led(heard: Sequence[Heard]) -> _Led:
    """A measure leads where at least half of the hearings have it: one alone compares nothing."""

    def often(values: Iterable[float | None]) -> bool:
        found = sum(value is not None for value in values)
        return 2 * found >= max(2, len(heard))

    return _Led(
        often(each.similarity for each in heard), often(each.character_errors for each in heard)
    )


def _best_samples(heard: Sequence[Heard], led: _Led) -> list[Heard]:
    """Those whose samples are as good as the best, within noise."""
    scored = [(score, each) for each in heard if (score := led.score(each)) is not None]
    if not scored:  # each lacks one of the two
        return list(heard)
    most = max(score for score, _ in scored)
    return [each for score, each in scored if score >= most - led.noise]


def _lowest_loss(heard: Sequence[Heard]) -> list[Heard]:
    """Those whose check loss is as low as the lowest, within noise."""
    losses = [(each.check_loss, each) for each in heard if each.check_loss is not None]
    if not losses:
        return list(heard)
    limit = _tolerated(min(loss for loss, _ in losses))
    return [each for loss, each in losses if loss <= limit]


def _tolerated(lowest: float) -> float:
    return lowest + LOSS_NOISE * abs(lowest)


def _earliest_not_worse(equals: Sequence[Heard], led: _Led) -> Heard:
    """The earliest of equals, and not the base or one below it where another is above."""
    base = equals[0]
    if base.step != _BASE_STEP:
        return base
    return next((each for each in equals if _is_above(each, base, led)), base)


def _is_above(each: Heard, base: Heard, led: _Led) -> bool:
    score, least = led.score(each), led.score(base)
    if score is not None and least is not None and score != least:
        return score > least
    if each.check_loss is None or base.check_loss is None:
        return False
    return each.check_loss < base.check_loss


def _hearings_since_better(heard: Sequence[Heard]) -> int:
    """How many hearings ago samples or check loss last got better by more than noise."""
    sound = [each for each in heard if _is_sound(each)]
    led = _led(sound)
    score, loss, since = -math.inf, math.inf, 0
    for each in heard:
        since += 1
        if not _is_sound(each):
            continue
        now = led.score(each)
        if now is not None and now > score + led.noise:
            score, since = now, 0
        if each.check_loss is not None and (
            math.isinf(loss) or each.check_loss < loss - LOSS_NOISE * abs(loss)
        ):
            loss, since = each.check_loss, 0
    return since


def _reason(found: Heard, heard: Sequence[Heard], led: _Led) -> str:
    parts: list[str] = []
    if led.similarity and found.similarity is not None:
        parts.append(_likeness(found.similarity, heard))
    if led.errors and found.character_errors is not None:
        parts.append(_errors(found.character_errors, heard))
    if found.check_loss is not None:
        parts.append(_loss(found.check_loss, heard))
    which = "The base is the best so far" if found.step == _BASE_STEP else "Best so far"
    return f"{which}: {_and(parts) or 'nothing was measured'}."


def _likeness(value: float, heard: Sequence[Heard]) -> str:
    most = max(each.similarity for each in heard if each.similarity is not None)
    if value >= most:
        return f"sounds most like the voice ({value:.2f})"
    return f"sounds like the voice ({value:.2f}, at most {most:.2f})"


def _errors(value: float, heard: Sequence[Heard]) -> str:
    fewest = min(each.character_errors for each in heard if each.character_errors is not None)
    said = f"{value:.1%} of its characters are heard otherwise"
    return f"{said}, the fewest" if value <= fewest else f"{said} (at best {fewest:.1%})"


def _loss(value: float, heard: Sequence[Heard]) -> str:
    lowest = min(each.check_loss for each in heard if each.check_loss is not None)
    if value <= lowest:
        return f"the check loss {value:.3g} is the lowest"
    if value <= _tolerated(lowest):
        return f"the check loss {value:.3g} is within {LOSS_NOISE:.0%} of the lowest"
    return f"the check loss is {value:.3g} (at best {lowest:.3g}), which counts for less"


def _and(parts: Sequence[str]) -> str:
    return ", ".join([*parts[:-2], " and ".join(parts[-2:])])
