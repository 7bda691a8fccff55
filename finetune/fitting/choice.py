"""
Which way of training fits, and is the fastest at exactly the wanted batch. Decisions only.

What makes the same voice (how many clips at once, activations computed again) is chosen by speed;
what makes another one (LoRA) only where nothing else fits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from finetune.fitting.budget import Room
from finetune.fitting.peaks import BEFORE_THE_FIRST, Fit
from finetune.fitting.search import sizes

# What devices send each other is flattened into pieces of this size, and copied back.
_SHARED_BYTES = 64 * 2**20
# Where nothing was timed: computing activations again is a third forward pass in three.
_RECOMPUTED = 4 / 3


@dataclass(frozen=True, slots=True)
class Way:
    """How a training computes, as far as memory and speed depend on it."""

    precision: str
    recompute: bool = False
    optimizer: str = "adamw"
    lora_rank: int = 0
    """0: all weights learn."""

    @property
    def compromise(self) -> int:
        """How much of the voice is given up for memory: fewer is better, whatever the speed."""
        return 2 * bool(self.lora_rank) + (self.optimizer != "adamw")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A way, and what is known of its memory and pace."""

    way: Way
    fit: Fit
    ceiling: float = math.inf
    """What tensors may hold, as far as experience goes: memory ran out there before."""
    speaking: int = 0
    """What speaking a sentence takes, beside what lies there; 0 when it was not measured."""


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be learned, as far as memory and speed depend on it."""

    batch: int
    """Clips behind each change of the weights, on all devices: kept exactly."""
    longest: int
    typical: int
    """Lengths of clips, as the engine counts them."""
    devices: int = 1

    @property
    def share(self) -> int:
        """The most clips of a step that one device takes."""
        return math.ceil(self.batch / self.devices)


@dataclass(frozen=True, slots=True)
class Option:
    """One way with one number of clips at once."""

    way: Way
    micro_batch: int
    accumulation: int
    """Micro-batches of a step, on each device."""
    peaks: dict[str, int]
    """The most memory of each phase, in bytes; the process takes somewhat more (`taken`)."""
    taken: int
    over: int
    """How much too much that is; 0 when it fits."""
    clips_per_second: float | None
    """On all devices; None where nothing was timed."""
    work: float
    """Lower is faster: seconds of a clip, or where nothing was timed, a guess without a unit."""

    @property
    def fits(self) -> bool:
        return not self.over


def options(candidate: Candidate, task: Task, room: Room) -> list[Option]:
    """Every number of clips at once that makes a difference, the largest first."""
    return [_option(candidate, task, room, each) for each in reversed(sizes(task.share))]


def best(candidates: Sequence[Candidate], task: Task, room: Room) -> Option | None:
    """The fastest that fits with the least given up; None when nothing fits."""
    fitting = [option for each in candidates for option in options(each, task, room) if option.fits]
    return min(fitting, key=_preference, default=None)


def nearest(candidates: Sequence[Candidate], task: Task, room: Room) -> Option:
    """What is the least too large, for when nothing fits."""
    # Not always one clip: a whole step at once has no gradients of earlier micro-batches beside it.
    every = [option for each in candidates for option in options(each, task, room)]
    return min(every, key=lambda each: (each.over, each.way.compromise, each.micro_batch))


def best_or_nearest(candidates: Sequence[Candidate], task: Task, room: Room) -> Option:
    return best(candidates, task, room) or nearest(candidates, task, room)


def unmeasured(way: Way, task: Task) -> Option:
    """One clip at a time, of which no more is known than that even that ran out of memory."""
    return Option(way, 1, task.share, {}, 0, 1, None, math.inf)


def speed_if_recomputed(fit: Fit, task: Task) -> float:
    """Clips a second when a whole step fits at once because activations are computed again."""
    seconds = _RECOMPUTED * fit.pace.at(task.share, task.typical) + fit.change_seconds
    return task.batch / seconds if seconds > 0 else 0.0


def best_of_each(candidates: Sequence[Candidate], task: Task, room: Room) -> list[Option]:
    """For each way the fastest that fits, or else the nearest; the preferred way first."""
    found = [best_or_nearest([each], task, room) for each in candidates]
    return sorted(found, key=lambda each: (not each.fits, *_preference(each)))


def _preference(option: Option) -> tuple[int, float, int]:
    # Of what is as fast but for rounding, the one that takes less.
    return option.way.compromise, float(f"{option.work:.9g}"), option.taken


def _option(candidate: Candidate, task: Task, room: Room, micro_batch: int) -> Option:
    accumulation = math.ceil(task.share / micro_batch)
    peaks = candidate.fit.peaks(micro_batch, task.longest, accumulates=accumulation > 1)
    if candidate.speaking:
        held = candidate.fit.held
        peaks["speaking"] = held.weights + held.optimizer + candidate.speaking
    if task.devices > 1:
        shared = min(candidate.fit.held.gradients, _SHARED_BYTES)
        peaks = {name: peak + shared * name.endswith("change") for name, peak in peaks.items()}
    peak = max(peaks.values())
    taken = room.taken(peak)
    speed = _clips_per_second(candidate.fit, task, micro_batch, accumulation)
    return Option(
        candidate.way,
        micro_batch,
        accumulation,
        peaks,
        taken,
        math.ceil(max(0, taken - room.budget, peak - candidate.ceiling)),
        speed,
        1 / speed if speed else _guessed_work(candidate.way, task, micro_batch, accumulation),
    )


def _clips_per_second(fit: Fit, task: Task, micro_batch: int, accumulation: int) -> float | None:
    # Micro-batches are of as equal a size as can be: on average, smaller than the largest.
    each = task.share / accumulation
    seconds = accumulation * fit.pace.at(each, task.typical) + fit.change_seconds
    return task.batch / seconds if seconds > 0 else None


def _guessed_work(way: Way, task: Task, micro_batch: int, accumulation: int) -> float:
    work = accumulation * BEFORE_THE_FIRST + task.share
    return work * (_RECOMPUTED if way.recompute else 1.0)
