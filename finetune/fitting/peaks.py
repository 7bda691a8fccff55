"""
The most memory that a step takes, told from a few that were measured.

A step is a row of phases, and its peak is the largest of theirs, not a line: with few clips the
optimizer decides, with many the activations. So each phase is fitted by itself.

    turn first    forward and backward, before there are gradients
    turn more     the same with the gradients of earlier micro-batches already there
    turn change   cutting the gradients, and the optimizer
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter

import numpy as np

FIRST, MORE, CHANGE = "first", "more", "change"
# What a micro-batch costs before its first clip, in clips, where only one number was timed.
BEFORE_THE_FIRST = 0.5
# Of that, what it costs in any case: what seems to cost nothing was timed too roughly to see it.
_IN_ANY_CASE = 0.02
# A peak so close to what lies there anyway says nothing of the activations.
_CLOSE_TO_FLOOR = 1.02


@dataclass(frozen=True, slots=True)
class Point:
    """One phase, measured with so many clips of one length at once."""

    turn: str
    stage: str
    """FIRST, MORE or CHANGE."""
    clips: int
    length: int
    """Of each clip, as the engine counts it (Trainable.length)."""
    bytes: int
    """The most that tensors held at any moment."""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Timed:
    """How long a micro-batch of so many clips of one length took, all turns together."""

    clips: int
    length: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Held:
    """What a training holds from one step to the next, in bytes, exactly."""

    weights: int
    gradients: int
    optimizer: int

    @property
    def all(self) -> int:
        return self.weights + self.gradients + self.optimizer


@dataclass(frozen=True, slots=True)
class Growth:
    """What grows with the clips computed at once, and with the length of each."""

    constant: float
    per_clip: float = 0.0
    per_unit: float = 0.0
    """For each clip and each unit of its length."""
    per_square: float = 0.0
    """For each clip and the square of its length: attention that keeps its weights."""

    def at(self, clips: float, length: float) -> float:
        each = self.per_clip + self.per_unit * length + self.per_square * length**2
        return self.constant + clips * each

    @staticmethod
    def through(points: Iterable[tuple[int, int, float]], lowest: float = 0.0) -> Growth:
        """
        The growth that comes closest to (clips, length, value), with no part below zero.

        Of one number of clips alone nobody can tell what each adds to what: the constant is then
        taken to be `lowest`, so that more clips are rather told to take too much.
        """
        from scipy.optimize import nnls  # 0.2 s, which only who fits should wait for

        clips, lengths, values = np.array(sorted(points), float).T
        several = len(set(clips)) > 1
        constant = 0.0 if several else min(lowest, float(values.min()))
        parts = np.stack(
            [np.full_like(clips, several), clips, clips * lengths, clips * lengths**2], axis=1
        )
        # Relative errors are what counts, and of many clips more than of one, which some kernels
        # compute in another way.
        weights = clips / values
        weighed = parts * weights[:, None]
        scale = np.maximum(np.linalg.norm(weighed, axis=0), 1e-30)
        found, _ = nnls(weighed / scale, (values - constant) * weights)
        fitted = found / scale
        return Growth(constant + float(fitted[0]), *(float(part) for part in fitted[1:]))


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase of a step."""

    turn: str
    stage: str
    floor: float
    """What lies there at its end, however few clips there are."""
    growth: Growth
    spared: tuple[tuple[int, float], ...] = ()
    """By length, how much less than that it takes."""

    def at(self, clips: int, length: int) -> float:
        return max(self.floor, self.growth.at(clips, length) - self._spared(length))

    def _spared(self, length: int) -> float:
        if not self.spared:
            return 0.0
        return float(
            np.interp(length, [at for at, _ in self.spared], [by for _, by in self.spared])
        )


@dataclass(frozen=True, slots=True)
class Fit:
    """What was learned of a training's memory and pace."""

    held: Held
    phases: Sequence[Phase]
    pace: Growth = field(default_factory=lambda: Growth(0.0))
    """Seconds of a micro-batch."""
    change_seconds: float = 0.0
    """Of the optimizer, once a step."""

    def at(self, point: Point) -> float:
        """What this fit says of what was measured there."""
        return next(
            each.at(point.clips, point.length)
            for each in self.phases
            if (each.turn, each.stage) == (point.turn, point.stage)
        )

    def peaks(self, clips: int, length: int, *, accumulates: bool) -> dict[str, int]:
        """The most memory of each phase, by its name; without later micro-batches, none of them."""
        return {
            f"{each.turn} {each.stage}".strip(): round(each.at(clips, length))
            for each in self.phases
            if accumulates or each.stage != MORE
        }

    def peak(self, clips: int, length: int, *, accumulates: bool) -> int:
        return max(self.peaks(clips, length, accumulates=accumulates).values())

    def lighter(self, by: int) -> Fit:
        """The same where the optimizer keeps so much less."""
        phases = [
            replace(
                each,
                floor=each.floor - by,
                growth=replace(each.growth, constant=each.growth.constant - by),
            )
            for each in self.phases
        ]
        held = replace(self.held, optimizer=self.held.optimizer - by)
        return replace(self, held=held, phases=phases)


def fit(held: Held, points: Sequence[Point], timed: Sequence[Timed] = ()) -> Fit:
    """
    Fit every phase; `points` are of one or more probes, each of several lengths.

    `timed` is what was timed beside them, for the pace alone.
    """
    turns = {
        turn: list(measured)
        for turn, measured in groupby(
            sorted(points, key=attrgetter("turn")), key=attrgetter("turn")
        )
    }
    phases = [
        phase
        for turn, measured in turns.items()
        for phase in _phases(turn, held, measured, alone=len(turns) == 1)
    ]
    pace, change = _pace(points, timed)
    return Fit(held, phases, pace, change)


def _phases(turn: str, held: Held, measured: Sequence[Point], *, alone: bool) -> list[Phase]:
    """A turn has only the gradients of what it trains beside it: all of them where it is alone."""
    empty = held.all - held.gradients
    # What lies there in the end is in each peak, so that it is not above the least of them.
    floor = held.all if alone else min(held.all, *(each.bytes for each in measured))
    more = Growth.through(_values(measured, MORE), held.all if alone else empty)
    return [
        Phase(turn, FIRST, floor, more, _spared(more, empty, floor, measured)),
        Phase(turn, MORE, floor, more),
        Phase(turn, CHANGE, floor, Growth(_largest(measured, CHANGE))),
    ]


def _spared(
    more: Growth, empty: int, floor: float, points: Sequence[Point]
) -> tuple[tuple[int, float], ...]:
    """
    What a step's first micro-batch takes less than the later ones, by length.

    All gradients, unless its peak comes when some of them are there already. Where those that
    appear outgrow the activations that go, it cannot be seen: only how high the floor is.
    """
    seen = _values(points, FIRST)
    largest = max(clips for clips, _, _ in seen)
    return tuple(
        (length, more.at(clips, length) - value)
        if value > _CLOSE_TO_FLOOR * floor
        else (length, floor - empty)
        for clips, length, value in sorted(seen)
        if clips == largest
    )


def _values(points: Iterable[Point], stage: str) -> list[tuple[int, int, float]]:
    return [(each.clips, each.length, float(each.bytes)) for each in points if each.stage == stage]


def _largest(points: Iterable[Point], stage: str) -> float:
    return float(max(each.bytes for each in points if each.stage == stage))


def _pace(points: Sequence[Point], timed: Sequence[Timed]) -> tuple[Growth, float]:
    """Seconds of a micro-batch, all turns together, and of what comes once a step."""
    turns = {each.turn for each in points}
    sums: dict[tuple[int, int], list[float]] = {}
    for each in points:
        if each.stage == MORE and each.seconds:
            sums.setdefault((each.clips, each.length), []).append(each.seconds)
    if not sums:
        return Growth(0.0), 0.0
    values = [
        (clips, length, len(turns) * float(np.mean(seconds)))
        for (clips, length), seconds in sums.items()
    ]
    values += [(each.clips, each.length, each.seconds) for each in timed]
    alone = min(
        seconds * BEFORE_THE_FIRST / (clips + BEFORE_THE_FIRST) for clips, _, seconds in values
    )
    least = _IN_ANY_CASE * alone
    pace = Growth.through(
        [(clips, length, seconds - least) for clips, length, seconds in values], alone - least
    )
    pace = replace(pace, constant=pace.constant + least)
    changes = [each.seconds for each in points if each.stage == CHANGE]
    return pace, len(turns) * float(np.mean(changes))
