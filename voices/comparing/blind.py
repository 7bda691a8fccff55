"""
Comparing blindly: which of two is liked better (A/B), and whether they can be told apart (ABX).

Decisions only. Which is on which side is drawn for each trial by itself, so that nobody can tell
the next from those before, and the result is shown when all are answered, so that nobody stops
where it happens to look good: both are what the probability rests on.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from engines.errors import ConflictError, NotFoundError, SettingsError
from voices.comparing import chance

Kind = Literal["ab", "abx"]
Choice = Literal["left", "right", "neither"]

# Fewer than 8 right answers of ABX prove nothing unless all are right; more than 16 tire the ear.
TRIALS: dict[Kind, tuple[int, int]] = {"ab": (1, 64), "abx": (8, 16)}


@dataclass(frozen=True, slots=True)
class Pair:
    """One sentence as both say it."""

    text: str
    one: str
    """Where its sound is, as whoever plays it knows it."""
    other: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is compared, and how often; it never changes."""

    id: str
    kind: Kind
    one: str
    """What a person calls it: "step 400"."""
    other: str
    pairs: tuple[Pair, ...]
    trials: int
    seed: int
    made: str = ""

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True, slots=True)
class Trial:
    """What is to be heard now. Nothing in it says which is which but `swapped`: keep that back."""

    number: int
    text: str
    left: str
    right: str
    x: str | None
    """In ABX the sound that is one of the two."""
    swapped: bool
    """Whether the left is the other one; in ABX, whether X is the one on the right."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person said of a trial, and how it was drawn."""

    number: int
    choice: Choice
    swapped: bool
    at: str = ""


@dataclass(frozen=True, slots=True)
class Undo:
    """The last answer was taken back; what was said stays written down."""

    at: str = ""


Event = Answer | Undo


@dataclass(frozen=True, slots=True)
class Result:
    """How the answers fell, and what that means."""

    answered: int
    one: int
    """In A/B, how often the one was liked better; in ABX, how often X was told rightly."""
    other: int
    neither: int
    chance: float | None
    """How probable so much is by chance alone; None until all are answered."""
    words: str


def standing(events: Sequence[Event]) -> list[Answer]:
    """The answers that were not taken back, in the order they were given."""
    answers: dict[int, Answer] = {}
    for event in events:
        if isinstance(event, Answer):
            answers[event.number] = event
        elif answers:
            answers.popitem()
    return list(answers.values())


def next_trial(comparison: Comparison, events: Sequence[Event]) -> Trial | None:
    """What is to be heard next, the same until it is answered; None after the last."""
    done = {answer.number for answer in standing(events)}
    number = next((each for each in range(comparison.trials) if each not in done), None)
    if number is None:
        return None
    pair = comparison.pairs[number % len(comparison.pairs)]
    # Who takes an answer back may have seen which was which, so that trial is drawn anew.
    tries = sum(isinstance(event, Undo) for event in events)
    swapped = random.Random(f"{comparison.seed}/{number}/{tries}").random() < 0.5
    if comparison.kind == "abx":
        x = pair.other if swapped else pair.one
        return Trial(number, pair.text, pair.one, pair.other, x, swapped)
    left, right = (pair.other, pair.one) if swapped else (pair.one, pair.other)
    return Trial(number, pair.text, left, right, None, swapped)


def answered(
    comparison: Comparison, events: Sequence[Event], number: int, choice: Choice, at: str = ""
) -> Answer:
    """Answer a trial by its number; raise ConflictError when it is not the next one any more."""
    trial = next_trial(comparison, events)
    if trial is None or trial.number != number:
        raise ConflictError(
            f"Trial {number + 1} is not the next one: it was answered in another window.",
            "Go on with the one that is shown now.",
        )
    if choice not in get_args(Choice) or (comparison.kind == "abx" and choice == "neither"):
        raise SettingsError(
            f"{choice!r} is no answer here.",
            "Say left or right." if comparison.kind == "abx" else "Say left, right or neither.",
        )
    return Answer(number, choice, trial.swapped, at)


def undone(events: Sequence[Event], at: str = "") -> Undo:
    """Take the last answer back; raise NotFoundError when there is none."""
    if not standing(events):
        raise NotFoundError("There is no answer to take back.", "Answer the trial that is shown.")
    return Undo(at)


def picked(comparison: Comparison, answer: Answer) -> str:
    """Which one a person meant, by its name; "" for neither. Only to be shown after answering."""
    if answer.choice == "neither":
        return ""
    left_is_other = answer.swapped and comparison.kind == "ab"
    is_other = (answer.choice == "left") == left_is_other
    return comparison.other if is_other else comparison.one


def is_right(answer: Answer) -> bool:
    """In ABX, whether X was told rightly: it is the left one unless it was swapped."""
    return answer.choice == ("right" if answer.swapped else "left")


# ---- What came of it ----


def result(comparison: Comparison, events: Sequence[Event]) -> Result:
    """Count the answers; say what they mean when all of them are there."""
    answers = standing(events)
    count = _of_abx if comparison.kind == "abx" else _of_ab
    if len(answers) == comparison.trials:
        return count(comparison, answers)
    left = comparison.trials - len(answers)
    words = f"{len(answers)} of {comparison.trials} answered. The result is shown after {left} more"
    return Result(
        len(answers), 0, 0, 0, None, f"{words}, so that nobody stops where it happens to look good."
    )


def _of_ab(comparison: Comparison, answers: Sequence[Answer]) -> Result:
    named = [picked(comparison, answer) for answer in answers]
    one, other = named.count(comparison.one), named.count(comparison.other)
    neither, of = named.count(""), one + other
    by_chance = chance.as_uneven(one, of)
    if not of:
        words = f"None of {neither} times was one liked better: both are as good to you."
    else:
        ahead = comparison.one if one >= other else comparison.other
        words = f"{max(one, other)} of {of} times the one of {ahead}{_beside(neither)}; " + (
            "that is even."
            if one == other
            else f"chance alone is as uneven {chance.odds(by_chance)}. {_so(by_chance, ahead)}"
        )
    return Result(len(answers), one, other, neither, by_chance, words)


def _beside(neither: int) -> str:
    return f" ({neither} times neither)" if neither else ""


def _so(by_chance: float, ahead: str) -> str:
    if by_chance <= chance.SURE:
        return f"You like {ahead} better."
    if by_chance <= chance.LIKELY:
        return f"You very likely like {ahead} better."
    return "That may well be chance: more trials would tell."


def _of_abx(comparison: Comparison, answers: Sequence[Answer]) -> Result:
    right, of = sum(map(is_right, answers)), len(answers)
    by_chance = chance.at_least(right, of)
    told = f"{right} of {of} right; by guessing alone that, or better, happens"
    words = f"{told} {chance.odds(by_chance)}. {_apart(by_chance)}"
    return Result(of, right, of - right, 0, by_chance, words)


def _apart(by_chance: float) -> str:
    if by_chance <= chance.SURE:
        return "You hear the difference."
    if by_chance <= chance.LIKELY:
        return "You very likely hear the difference."
    return "No difference is shown; that does not prove that there is none."


def _check(comparison: Comparison) -> None:
    low, high = TRIALS.get(comparison.kind, (0, 0))
    if not low:
        raise SettingsError(f"There is no comparison {comparison.kind!r}.", "Choose ab or abx.")
    if not low <= comparison.trials <= high:
        raise SettingsError(
            f"{comparison.trials} trials are asked for.", f"Choose from {low} to {high}."
        )
    if not comparison.pairs:
        raise SettingsError(
            "There is no sentence that both have said.", "Choose two with the same sentences."
        )
    if not comparison.one or not comparison.other or comparison.one == comparison.other:
        raise SettingsError("It takes two to compare.", "Choose another one for one of the sides.")
