"""
How many clips at once, and whether activations are computed again: measured where it will run.

    room (what is free) -> what is known from before, or two probes -> a fit -> the choice

Where there is so much room that one probe says enough, a step is timed in place of the second.

Nothing here changes what is learned: the batch behind each step stays as it is wished for, and
the weights and all chance are afterwards as they were.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator

from engines.base import Engine, Item, Trainable
from finetune.fitting import choice, probes, remembered, search
from finetune.fitting.budget import Room
from finetune.fitting.choice import Candidate, Option, Task, Way
from finetune.fitting.peaks import Fit, Timed, fit
from finetune.fitting.reasons import reasons
from finetune.fitting.remembered import Remembered
from finetune.jobs.events import Planned
from finetune.jobs.worker import StopWork
from finetune.runs import Plan
from finetune.settings import TrainSettings
from finetune.training import devices, weights
from finetune.training.prior import imagine
from finetune.training.probing import Probed, Prober, keep_within, room_on
from finetune.training.recompute import forget_activations, keep_activations

_log = logging.getLogger(__name__)
# What was measured before and what is measured now may differ by so much.
_AGREES = 0.03
# Computing activations again is tried when it could make the training faster by so much.
_WORTH_TRYING = 1.1


@dataclass(frozen=True, slots=True)
class Sized:
    """What came of it."""

    option: Option
    room: Room
    others: tuple[Option, ...]
    """The best of each way that was looked at, the chosen one among them."""
    probes: int = 0
    gradients: int = 0
    """Bytes of the weights that learn."""

    @property
    def reasons(self) -> list[str]:
        return reasons(self.option, self.others, self.room)

    @property
    def is_hopeless(self) -> bool:
        """Whether more is missing than what is left to others could give."""
        return self.option.over > self.room.headroom

    @property
    def event(self) -> Planned:
        """What a run tells of it."""
        option = self.option
        return Planned(
            step=0,
            micro_batch=option.micro_batch,
            accumulation=option.accumulation,
            recompute=option.way.recompute,
            precision=option.way.precision,
            peaks_mb={name: round(peak / 1e6, 3) for name, peak in option.peaks.items()},
            taken_mb=round(option.taken / 1e6, 3),
            budget_mb=round(self.room.budget / 1e6, 3),
            clips_per_second=option.clips_per_second,
            reasons=self.reasons,
        )


class Sizing:
    """Finds the way to compute one training on one device."""

    def __init__(
        self,
        trainable: Trainable,
        settings: TrainSettings,
        accelerator: Accelerator,
        precision: str,
        facts: Mapping[str, Any],
        cache: Path,
        speak: Callable[[], object] | None = None,
        room: Room | None = None,
    ) -> None:
        self._trainable, self._settings, self._accelerator = trainable, settings, accelerator
        self._precision, self._facts, self._cache = precision, facts, cache
        self._room = room or room_on(accelerator.device, trainable.network)
        self._prober = Prober(trainable, settings, accelerator, self._room, speak)
        self._known: dict[Way, Remembered] = {}
        self._chosen: tuple[Option, Task] | None = None

    def choose(self, clips: Sequence[Item], task: Task) -> Sized:
        """
        Find the fastest way that fits; `clips` are a longest one and some shorter ones.

        The network is left computing in that way. Where nothing fits, it is the least too large.
        """
        keep_within(self._room, self._accelerator.device)
        wished = self._wished()
        candidates: list[Candidate] = []
        for recompute in wished:
            if candidates and not self._worth_trying(candidates[0], task):
                break
            if found := self._candidate(Way(self._precision, recompute), clips, task):
                candidates.append(found)
        if not candidates:
            unknown = choice.unmeasured(Way(self._precision, wished[-1]), task)
            return self._settled(unknown, (), task)
        option = choice.best_or_nearest(candidates, task, self._room)
        others = choice.best_of_each(candidates, task, self._room)
        return self._settled(option, tuple(others), task)

    def search(self, clips: Sequence[Item], task: Task, stop: Callable[[], bool]) -> Sized:
        """Find the largest micro-batch by trying, in at most eight trials, whatever a fit says."""
        way = Way(self._precision, self._wished()[0])
        self._be(way.recompute)
        worked: list[Probed] = []

        def fits(count: int) -> bool:
            if stop():
                raise StopWork("Stopped; nothing was changed.")
            probed = self._prober.probe(clips[:1], count)
            worked.extend([probed] if probed else [])
            return probed is not None

        size = search.largest(task.share, fits)
        if not worked:
            return self._settled(choice.unmeasured(way, task), (), task)
        points = [point for each in worked for point in each.points]
        timed = self._timed(clips, task, size)
        candidate = Candidate(way, fit(worked[-1].held, points, timed))
        every = choice.options(candidate, task, self._room)
        option = next(each for each in every if each.micro_batch == size)
        # It was seen to fit, whatever the headroom says.
        option = replace(option, over=0)
        return self._settled(option, (option,), task)

    def ran_out(self, clips: int) -> None:
        """Learn for the next time that memory ran out with so many clips at once."""
        if self._chosen is None or self._chosen[0].way not in self._known:
            return
        option, task = self._chosen
        known = self._known[option.way]
        predicted = known.fit.peak(clips, task.longest, accumulates=option.accumulation > 1)
        self._keep(option.way, known.after_running_out(predicted))

    # ---- One way ----

    def _candidate(self, way: Way, clips: Sequence[Item], task: Task) -> Candidate | None:
        """What is known of a way; None when not even one clip can be computed in it."""
        keep_activations(self._trainable.blocks())
        if probes.needs_estimate(self._prober.held, self._room):
            estimate = self._estimate(way, clips)
            if estimate and probes.is_hopeless(estimate, task, self._room):
                return Candidate(way, estimate)
        self._be(way.recompute)
        known = remembered.recall(self._cache, self._name(way))
        if known is None or not self._still_true(known, clips, task):
            known = self._measure(clips, task, known)
        if known is None:
            return None
        self._keep(way, known)
        self._room = replace(self._room, fragmented=max(self._room.fragmented, known.fragmented))
        return self._as_candidate(way, known)

    def _still_true(self, known: Remembered, clips: Sequence[Item], task: Task) -> bool:
        """Whether a probe agrees with what was measured before; none is needed with much room."""
        candidate = self._as_candidate(Way(self._precision), known)
        option = choice.best([candidate], task, self._room)
        if option is None:
            return False
        if option.taken < probes.PLENTY_SHARE * self._room.budget:
            return True
        if known.is_rough:
            return False
        probed = self._prober.probe(clips[:1], option.micro_batch)
        if probed is None:
            return False
        told = max(map(known.fit.at, probed.points))
        return abs(told / max(each.bytes for each in probed.points) - 1) <= _AGREES

    def _measure(
        self, clips: Sequence[Item], task: Task, before: Remembered | None
    ) -> Remembered | None:
        first = self._prober.probe(clips[:1], 1)
        if first is None:
            return None
        speaking = self._prober.speaking()
        found = Remembered(
            first.held,
            first.points,
            fragmented=first.fragmented,
            ran_out_at=before.ran_out_at if before else None,
            speaking=speaking or 0,
        )
        count = probes.second_count(found.fit, task, self._room)
        if not count:
            return replace(
                found, timed=self._timed(clips, task, probes.timed_count(found.fit, task))
            )
        second = self._prober.probe(clips, count)
        if second is None:
            return found
        points = (*first.points, *second.points)
        return replace(found, held=second.held, points=points, fragmented=second.fragmented)

    def _timed(self, clips: Sequence[Item], task: Task, count: int) -> tuple[Timed, ...]:
        """The pace of typical clips: of one, and of so many at once."""
        length = self._trainable.length
        typical = min(clips, key=lambda each: abs(length(each.features) - task.typical))
        found = [self._prober.time(typical, each) for each in sorted({1, count})]
        return tuple(each for each in found if each)

    def _estimate(self, way: Way, clips: Sequence[Item]) -> Fit | None:
        """What is told without computing; None of an engine that cannot be asked like that."""
        try:
            return fit(
                *imagine(
                    *(self._trainable, self._settings, way.precision, way.recompute),
                    *(clips[:1], (1,)),
                )
            )
        except Exception:  # whatever stands in the way: it is measured then
            _log.exception("What a step takes could not be told without computing it")
            return None

    def _worth_trying(self, candidate: Candidate, task: Task) -> bool:
        """Whether computing activations again may win: nothing fits, or it would be faster."""
        best = choice.best([candidate], task, self._room)
        if best is None:
            return True
        hoped = choice.speed_if_recomputed(candidate.fit, task)
        return best.accumulation > 1 and hoped > _WORTH_TRYING * (best.clips_per_second or 0.0)

    def _wished(self) -> list[bool]:
        return {"yes": [True], "no": [False]}.get(self._settings.recompute, [False, True])

    def _be(self, recompute: bool) -> None:
        blocks = self._trainable.blocks()
        keep_activations(blocks)
        if recompute:
            forget_activations(blocks)

    def _settled(self, option: Option, others: tuple[Option, ...], task: Task) -> Sized:
        """What all devices do: the smallest of their micro-batches."""
        option = _agreed(option, task, self._room, self._accelerator)
        self._be(option.way.recompute)
        if not option.fits:  # it may yet, in what was to be left to others
            keep_within(replace(self._room, headroom=0), self._accelerator.device)
        self._chosen = option, task
        return Sized(option, self._room, others, self._prober.count, self._prober.gradients)

    # ---- What is remembered ----

    def _as_candidate(self, way: Way, known: Remembered) -> Candidate:
        return Candidate(way, known.fit, self._ceiling(), known.speaking)

    def _ceiling(self) -> float:
        """What tensors may hold: where memory ran out in one way, as much of another does too."""
        ways = (Way(self._precision, recompute) for recompute in (False, True))
        known = (remembered.recall(self._cache, self._name(each)) for each in ways)
        return min((each.ceiling for each in known if each), default=math.inf)

    def _name(self, way: Way) -> str:
        return remembered.fingerprint({**self._facts, **asdict(way)})

    def _keep(self, way: Way, known: Remembered) -> None:
        self._known[way] = known
        remembered.keep(self._cache, self._name(way), known, {**self._facts, **asdict(way)})


def facts_of(
    trainable: Trainable, engine: Engine, plan: Plan, device: torch.device
) -> dict[str, Any]:
    """What the memory of a training depends on, beside the way it computes."""
    return {
        **devices.facts(device),
        "engine": engine.name,
        "settings": plan.engine_settings,
        "features": trainable.features_version,
        "trained": sum(each.numel() for each in weights.trained(trainable).values()),
        "optimizer": plan.train.optimizer,
        "compile": plan.train.compile,
    }


def task_of(lengths: Sequence[int], batch: int, devices: int) -> Task:
    """What is to be learned, told from the lengths of its clips."""
    return Task(batch, max(lengths), max(1, round(sum(lengths) / len(lengths))), devices)


def _agreed(option: Option, task: Task, room: Room, accelerator: Accelerator) -> Option:
    """What fits on every device; what is hopeless on one is so on all, or the others would wait."""
    if accelerator.num_processes == 1:
        return option
    every: list[Any] = [None] * accelerator.num_processes
    mine = (option.micro_batch, option.way.recompute, option.over - room.headroom)
    torch.distributed.all_gather_object(every, mine)
    sizes, again, beyond = zip(*every, strict=True)
    smallest, recompute, worst = min(sizes), any(again), max(beyond)
    return replace(
        option,
        micro_batch=smallest,
        accumulation=-(-task.share // smallest),
        way=replace(option.way, recompute=recompute),
        over=max(option.over, room.headroom + worst),
    )
