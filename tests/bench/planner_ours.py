"""
The planner's own rule on the same cases: two probes, a fit, and what follows from it.

It does what finetune.training.sizing does on a GPU, with the truth of a case in place of one. What
probes hold is told by the truth; whether they run, by the trial, which counts them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, replace

import numpy as np

from finetune.fitting import budget, choice, probes
from finetune.fitting.budget import Room
from finetune.fitting.choice import Candidate, Task, Way
from finetune.fitting.peaks import CHANGE, MORE, Fit, Growth, Phase, Point
from finetune.fitting.remembered import Remembered
from tests.bench.planner_cases import Case
from tests.bench.planner_rules import Trial

_ESTIMATES_OFF_BY = 0.1
_WAY = Way("bf16")


def ours(case: Case, try_: Trial) -> int | None:
    """Timbre: what two probes tell, inside the room that is left."""
    room, task = room_of(case), Task(case.wanted, case.longest, case.mean_length)
    if probes.needs_estimate(case.truth.held.all, room):
        estimate = _estimate(case)
        if probes.is_hopeless(estimate, task, room):
            return _least(Candidate(_WAY, estimate), task, room)
    known = _measured(case, task, room, try_)
    if known is None:
        return 1  # as much as can be tried, in what was to be left to others
    room = replace(room, fragmented=max(room.fragmented, known.fragmented))
    return _least(Candidate(_WAY, known.fit), task, room)


def _least(candidate: Candidate, task: Task, room: Room) -> int | None:
    """What it learns with; None when more is missing than what is left to others."""
    option = choice.best_or_nearest([candidate], task, room)
    return None if option.over > room.headroom else option.micro_batch


def room_of(case: Case) -> Room:
    """The room as a process finds it that has asked for its context already."""
    return budget.of_card(case.total_bytes, case.free_bytes - case.context_bytes, context=0)


def _measured(case: Case, task: Task, room: Room, try_: Trial) -> Remembered | None:
    first = _probe(case, (task.longest,), 1, room, try_)
    if first is None:
        return None
    known = Remembered(case.truth.held, first, fragmented=case.fragmented)
    count = probes.second_count(known.fit, task, room)
    lengths = [case.lengths[each] for each in probes.clips_to_probe(case.lengths)]
    second = _probe(case, lengths, count, room, try_) if count else None
    return known if second is None else replace(known, points=(*first, *second))


def _probe(
    case: Case, lengths: Sequence[int], count: int, room: Room, try_: Trial
) -> tuple[Point, ...] | None:
    """What a probe sees; None when the allocator refuses where the room ends."""
    if not try_(count, share=room.for_allocator / case.total_bytes):
        return None
    points = [_point(case, *phase, count, each) for each in lengths for phase in _computing(case)]
    points += [_point(case, turn, CHANGE, count, lengths[-1]) for turn in _turns(case)]
    # A probe computes a later micro-batch always, a step of the training only where it has one.
    if max(each.bytes for each in points) * case.fragmented > room.for_allocator:
        return None
    return tuple(points)


def _point(case: Case, turn: str, stage: str, clips: int, length: int) -> Point:
    truth, turns = case.truth, len(_turns(case))
    seconds = truth.change_seconds if stage == CHANGE else truth.pace.at(clips, length)
    blank = Point(turn, stage, clips, length, 0, seconds / turns)
    return replace(blank, bytes=round(truth.at(blank)))


def _computing(case: Case) -> list[tuple[str, str]]:
    return [(each.turn, each.stage) for each in case.truth.phases if each.stage != CHANGE]


def _turns(case: Case) -> list[str]:
    return [each.turn for each in case.truth.phases if each.stage == MORE]


def _estimate(case: Case) -> Fit:
    """What is told without computing: off by up to a tenth, always the same for a case."""
    off = 1 + _ESTIMATES_OFF_BY * np.random.default_rng(list(case.name.encode())).uniform(-1, 1)

    def scaled(phase: Phase) -> Phase:
        growth = Growth(*(part * off for part in astuple(phase.growth)))
        return replace(phase, floor=phase.floor * off, growth=growth)

    return replace(case.truth, phases=[scaled(each) for each in case.truth.phases])
