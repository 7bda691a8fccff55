"""
The planner on a GPU: held to a part of its memory, beside every setting there is.

The parts stand for smaller cards and are only like them: what CUDA itself takes is outside, and
libraries choose larger working memory where they see a large card.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import torch

from engines.base import Item
from finetune.fitting.budget import GIB, Room
from finetune.fitting.choice import Task
from finetune.fitting.peaks import CHANGE, MORE, Fit, Point, fit
from finetune.fitting.search import sizes
from finetune.settings import TrainSettings
from finetune.training import devices, probing
from finetune.training.prior import imagine
from finetune.training.probing import Probed, Prober
from finetune.training.recompute import forget_activations, keep_activations
from finetune.training.sizing import Sized, Sizing
from tests.bench import planner_engines, trainer_clips
from tests.bench.planner_engines import Subject
from tests.bench.progress import Progress
from tests.bench.record import CannotMeasure, Measured, Settings

CAPS_GIB = (8, 12, 16, 24, 48)
BATCH = 32
XTTS = planner_engines.xtts(
    "xtts",
    *(1024, 30, 16),
    lengths=(390, 200, 80),
    counts=(1, 4),
    held_out=((2, 300), (6, 390), (8, 120), (12, 240), (16, 390)),
    precision="bf16",
)
_CLIPS = 400
# What XTTS makes of a second: 21.5 codes, and as many pieces of text as people say in it.
_UNITS_PER_SECOND = 35


@dataclass(frozen=True)
class Place:
    """Where it is measured: a device, and how much of it."""

    device: str
    room: Room
    precision: str

    @property
    def accelerator(self) -> Any:
        return devices.accelerator_for(self.device, self.precision)


@dataclass(frozen=True)
class Outcome:
    """What came of one cap."""

    share: float
    """Clips a second with what was chosen, of the most in the whole grid."""
    errors: tuple[float, ...]
    """Of predicted peaks, as shares of what was measured."""
    out_of_memory: int
    cold: int
    warm: int
    """Probes of the first run, and of the second."""
    seconds: float
    """Of the first search."""


def measure(settings: Settings, progress: Progress) -> Measured:
    if not torch.cuda.is_available():
        raise CannotMeasure("there is no GPU that works here; leave --gpu out")
    total = torch.cuda.mem_get_info()[1]
    outcomes = {}
    for gib in progress.through([each for each in CAPS_GIB if each * GIB < total], "cards"):
        room = Room(gib * GIB, gib * GIB, int(0.5 * GIB + 0.04 * gib * GIB), _context())
        outcomes[gib] = at(XTTS, Place("cuda", room, "bf16"), task_of(XTTS))
    return Measured(
        {
            **{f"gpu_{gib}_speed": round(each.share, 3) for gib, each in outcomes.items()},
            **_errors("gpu_fit_error", [e for each in outcomes.values() for e in each.errors]),
            **_errors("gpu_prior_error", prior_errors(XTTS, "cuda")),
            "gpu_out_of_memory": sum(each.out_of_memory for each in outcomes.values()),
            "gpu_probes_cold": max(each.cold for each in outcomes.values()),
            "gpu_probes_warm": max(each.warm for each in outcomes.values()),
            "gpu_search_s": round(max(each.seconds for each in outcomes.values()), 1),
        }
    )


def at(subject: Subject, place: Place, task: Task) -> Outcome:
    """Let the planner choose in one room, twice, and then try everything there is."""
    trainable = subject.trainable()
    trainable.network.to(place.accelerator.device)
    clips = subject.items(trainable, subject.lengths)
    ran_out: list[int] = []
    with tempfile.TemporaryDirectory(prefix="timbre-bench-") as folder:
        began = time.perf_counter()
        first = _choose(trainable, place, task, clips, Path(folder), ran_out)
        took = time.perf_counter() - began
        second = _choose(trainable, place, task, clips, Path(folder), ran_out)
    grid = full_grid(subject, trainable, place, task)
    chosen = grid.get((first.option.micro_batch, first.option.way.recompute))
    most = max((speed for speed, _ in grid.values()), default=0.0)
    errors = [
        abs(each.taken / (reserved + place.room.context) - 1)
        for each in first.others
        if (found := grid.get((each.micro_batch, each.way.recompute)))
        for reserved in [found[1]]
    ]
    share = chosen[0] / most if chosen and most else float(not most)
    return Outcome(share, tuple(errors), len(ran_out), first.probes, second.probes, took)


def full_grid(
    subject: Subject, trainable: Any, place: Place, task: Task
) -> Mapping[tuple[int, bool], tuple[float, int]]:
    """Clips a second, and what was reserved, of every micro-batch with and without recomputing."""
    found = {}
    for recompute in (False, True):
        keep_activations(trainable.blocks())
        if recompute:
            forget_activations(trainable.blocks())
        for micro in sizes(task.share):
            longest = _probe(subject, trainable, place, (task.longest,), micro)
            typical = _probe(subject, trainable, place, (task.typical,), micro)
            if longest is None or typical is None:
                break
            times = -(-task.share // micro)
            seconds = times * _seconds(typical.points, MORE) + _seconds(typical.points, CHANGE)
            peak = max(e.bytes for e in longest.points if times > 1 or e.stage != MORE)
            reserved = int(peak * longest.fragmented)
            found[micro, recompute] = (task.batch / seconds, reserved)
    keep_activations(trainable.blocks())
    return found


def prior_errors(subject: Subject, device: str) -> list[float]:
    """How far tensors without content are off what the allocator of the device says."""
    trainable = subject.trainable()
    settings = TrainSettings(device=device)
    clips = subject.items(trainable, subject.lengths)
    prior = fit(*imagine(trainable, settings, subject.precision, False, clips, subject.counts))
    huge = Room(2**50, 2**50, 0)
    place = Place(device, huge, subject.precision)
    trainable.network.to(place.accelerator.device)
    errors = []
    for count, length in subject.held_out:
        if truth := _probe(subject, trainable, place, (length,), count):
            errors.append(_error(prior, truth.points))
    return errors


def task_of(subject: Subject) -> Task:
    """What is learned: clips as long as people cut them."""
    lengths = [round(each * _UNITS_PER_SECOND) for each in trainer_clips.lengths(_CLIPS)]
    return Task(BATCH, max(subject.lengths), round(mean(lengths)))


def _choose(
    trainable: Any,
    place: Place,
    task: Task,
    clips: Sequence[Item],
    folder: Path,
    ran_out: list[int],
) -> Sized:
    class Counting(Prober):
        def probe(self, clips: Sequence[Item], count: int) -> Probed | None:
            found = super().probe(clips, count)
            ran_out.extend([count] if found is None else [])
            return found

    settings = TrainSettings(device=place.device)
    made = Sizing(
        *(trainable, settings, place.accelerator, place.precision),
        *({"bench": place.device}, folder, None, place.room),
    )
    made._prober = Counting(trainable, settings, place.accelerator, place.room)
    return made.choose(clips, task)


def _probe(
    subject: Subject, trainable: Any, place: Place, lengths: Sequence[int], count: int
) -> Probed | None:
    accelerator = place.accelerator
    # The whole room, headroom too: it is asked what truly fits.
    room = replace(place.room, headroom=0)
    probing.keep_within(room, accelerator.device)
    prober = Prober(trainable, TrainSettings(device=place.device), accelerator, room)
    return prober.probe(subject.items(trainable, lengths), count)


def _seconds(points: Sequence[Point], stage: str) -> float:
    return sum(each.seconds for each in points if each.stage == stage)


def _error(found: Fit, truth: Sequence[Point]) -> float:
    told = found.peak(truth[0].clips, truth[0].length, accumulates=True)
    return abs(told / max(each.bytes for each in truth) - 1)


def _errors(name: str, errors: Sequence[float]) -> dict[str, float]:
    if not errors:
        return {}
    return {
        f"{name}_p50": round(float(np.quantile(errors, 0.5)), 4),
        f"{name}_p95": round(float(np.quantile(errors, 0.95)), 4),
    }


def _context() -> int:
    """What CUDA holds beside tensors: all that is used once it is there and nothing is reserved."""
    torch.zeros(1, device="cuda")
    torch.cuda.empty_cache()
    free, total = torch.cuda.mem_get_info()
    return int(total - free - torch.cuda.memory_reserved())
