"""What is probed: which clips, and how many of them at once. Decisions only."""

from __future__ import annotations

from collections.abc import Sequence

from finetune.fitting.budget import Room
from finetune.fitting.choice import Task
from finetune.fitting.peaks import Fit

# The second probe is told by the first not to take more than this share of the room.
_SECOND_SHARE = 0.85
# With so much room to spare nothing needs to be known more exactly.
PLENTY_SHARE = 0.5
# What is timed beside a probe of one clip takes about so many seconds at most.
_TIMED_SECONDS = 5.0
# An estimate without computing is right to so much.
_ESTIMATES_ARE_RIGHT_TO = 1.15


def clips_to_probe(lengths: Sequence[int]) -> tuple[int, ...]:
    """Which clips are measured: a longest, one of middling length, a shortest."""
    order = sorted(range(len(lengths)), key=lambda each: lengths[each], reverse=True)
    return tuple(dict.fromkeys((order[0], order[len(order) // 2], order[-1])))


def second_count(rough: Fit, task: Task, room: Room) -> int:
    """
    How many clips the second probe takes; 0 when the first has said enough.

    `rough` is the fit of the first, which took one clip: it rather tells too much of more.
    """
    if rough.peak(task.share, task.longest, accumulates=True) <= PLENTY_SHARE * room.for_tensors:
        return 0
    most = _SECOND_SHARE * room.for_tensors
    counts = range(task.share, 1, -1)
    # A probe computes a later micro-batch too, also where a step would have none.
    fitting = (each for each in counts if rough.peak(each, task.longest, accumulates=True) <= most)
    return next(fitting, 1)


def timed_count(rough: Fit, task: Task) -> int:
    """
    How many clips are timed at once where one clip has said enough of the memory.

    What a micro-batch costs before its first clip cannot be seen in one: of a small network it is
    most of it. A whole step's clips tell it best; fewer, two at least, where they take long.
    """
    counts = range(task.share, 2, -1)
    quick = (each for each in counts if rough.pace.at(each, task.typical) <= _TIMED_SECONDS)
    return next(quick, min(2, task.share))


def needs_estimate(held: int, room: Room) -> bool:
    """Whether so much is held all the time that a probe of one clip may be too much already."""
    return held > PLENTY_SHARE * room.for_tensors


def is_hopeless(estimate: Fit, task: Task, room: Room) -> bool:
    """Whether one clip at a time takes too much even if the estimate is as wrong as they get."""
    peak = estimate.peak(1, task.longest, accumulates=task.share > 1)
    return peak > _ESTIMATES_ARE_RIGHT_TO * room.for_tensors
