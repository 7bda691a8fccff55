"""
How a training would do, told before it is begun: `python -m finetune.training.forecast WISH.json`
in a job's folder.

On this computer it is measured, with the clips of the dataset; for a card that is not at hand it
is estimated with tensors that have no content.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import torch

import engines
from engines.base import Engine, Features, Item, Sound, Trainable
from finetune import bases, forecasts
from finetune.datasets import Example
from finetune.fitting import budget, choice, rates, remembered
from finetune.fitting.budget import Room
from finetune.fitting.choice import Candidate, Task, Way
from finetune.fitting.remembered import Remembered
from finetune.fitting.report import option_facts, room_facts
from finetune.forecasts import Card, ForecastWish
from finetune.jobs.events import Said
from finetune.jobs.folder import JobFolder
from finetune.jobs.worker import Job, run
from finetune.spoken_samples import sentences_for
from finetune.training import devices, settling
from finetune.training.features import place_for
from finetune.training.material import Material, of_project
from finetune.training.prior import imagine
from finetune.training.settling import Settled
from finetune.training.sizing import Sized, Sizing, facts_of
from finetune.wishes import REPORT
from voices import files

# LoRA of a usual rank, looked at where nothing else fits.
_LORA_RANK = 16
# Of an optimizer's memory in 32 bits, what that of 8 bits takes.
_EIGHT_BITS = 0.25
_ITEM_SEED = 0
_PLACES = {"gpu": "on the GPU", "memory": "in the computer's memory", "disk": "on the disk"}
# Clips at once that are imagined; all others follow from them.
_COUNTS = (1, 4)


@dataclass(frozen=True)
class _Lessons:
    """What would be learned from, as far as a forecast needs it."""

    items: list[Item]
    """A longest clip, one of middling length, a shortest."""
    lengths: list[int]
    clips: int
    """How many there are in all."""
    task: Task
    settled: Settled
    voice: Sound
    language: str


def work(job: Job, wish: ForecastWish) -> str:
    """Forecast as a job; leave the report beside it, and return it in sentences."""
    told = _Forecast(job, wish).do()
    files.write_json(job.folder.path / REPORT, told)
    return " ".join(told["reasons"])


class _Forecast:
    """One forecast at work."""

    def __init__(self, job: Job, wish: ForecastWish) -> None:
        self._job, self._wish, self._plan = job, wish, wish.plan
        self._root = Path(wish.workspace)
        self._engine: Engine = engines.find(self._plan.engine)

    def do(self) -> dict[str, Any]:
        plan, root = self._plan, self._root
        material = of_project(
            root / "projects" / plan.project, plan.version, self._engine, self._job.stop_wanted
        )
        base = bases.converted(self._engine, Path(plan.base), root / "models", self._job.say)
        trainable = self._load(base, {})
        lessons = self._lessons(trainable, material)
        self._job.say(Said(f"{self._engine.title} is loaded, and its longest clips are ready."))
        card = self._wish.card
        sized = (
            self._imagined(trainable, lessons, card, base)
            if card
            else self._measured(trainable, lessons)
        )
        return self._report(lessons, sized, estimate=card is not None)

    def _load(self, base: Path, changed: dict[str, Any]) -> Trainable:
        settings = self._engine.settings(**{**self._plan.engine_settings, **changed})
        trainable = self._engine.load(base, settings)
        trainable.network.train()
        return trainable

    def _lessons(self, trainable: Trainable, material: Material) -> _Lessons:
        examples = sorted(material.train, key=lambda each: each.seconds, reverse=True)
        some = [examples[0], examples[len(examples) // 2], examples[-1]]
        features = [_as_tensors(each) for each in trainable.features([*map(material.clip, some)])]
        trainable.forget_features()
        settled = settling.settle(
            self._plan.train, self._engine.advised, len(examples), len(examples)
        )
        lengths = [trainable.length(each) for each in features]
        typical = _typical(some, lengths, examples)
        task = Task(settled.settings.batch, max(lengths), typical, self._wish.devices)
        items = [Item(each, each, _ITEM_SEED) for each in features]
        voice = material.sound(some[0])
        return _Lessons(items, lengths, len(examples), task, settled, voice, material.language)

    # ---- On this computer ----

    def _measured(self, trainable: Trainable, lessons: _Lessons) -> Sized:
        train, engine = self._plan.train, self._engine
        device = devices.choose_device(train.device).value
        capability = devices.capability(device)
        precision = devices.choose_precision(
            train.precision, device, capability, engine.half_on_processors
        ).value
        accelerator = devices.accelerator_for(device, precision)
        devices.set_threads(train.threads, device)
        trainable.network.to(accelerator.device)
        sizing = Sizing(
            *(trainable, lessons.settled.settings, accelerator, precision),
            facts_of(trainable, engine, self._plan, accelerator.device),
            self._root / "cache" / "fits",
            lambda: trainable.speak(*_spoken(lessons), lessons.voice, 0),
        )
        if self._wish.search:
            return sizing.search(lessons.items, lessons.task, self._job.stop_wanted)
        return sizing.choose(lessons.items, lessons.task)

    # ---- On a card that is not at hand ----

    def _imagined(self, trainable: Trainable, lessons: _Lessons, card: Card, base: Path) -> Sized:
        train = self._plan.train
        precision = devices.choose_precision(train.precision, "cuda", card.capability).value
        room = budget.of_card(int(card.gib * budget.GIB), int(card.gib * budget.GIB))
        wished = {"yes": [True], "no": [False]}.get(train.recompute, [False, True])
        ways = [Way(precision, recompute, train.optimizer) for recompute in wished]
        found = [self._estimate(trainable, lessons, way) for way in ways]
        if choice.best(found, lessons.task, room) is None:
            found += [_in_eight_bits(each) for each in found if each.way.optimizer == "adamw"]
        if choice.best(found, lessons.task, room) is None and self._can_add:
            small = self._load(base, {"lora_rank": _LORA_RANK})
            found += [
                self._estimate(small, lessons, replace(way, lora_rank=_LORA_RANK)) for way in ways
            ]
        option = choice.best_or_nearest(found, lessons.task, room)
        others = tuple(choice.best_of_each(found, lessons.task, room))
        learning = next(each for each in found if each.way == option.way).fit.held.gradients
        return Sized(option, room, others, gradients=learning)

    @property
    def _can_add(self) -> bool:
        """Whether the engine can learn small additions in place of all weights, and is not asked to."""
        return "lora_rank" in self._engine.settings.__dataclass_fields__ and not (
            self._plan.engine_settings.get("lora_rank")
        )

    def _estimate(self, trainable: Trainable, lessons: _Lessons, way: Way) -> Candidate:
        self._job.say(Said(f"Estimating {_named(way)}."))
        plain = replace(way, optimizer="adamw")
        cpu = torch.device("cpu")
        facts = {
            **facts_of(trainable, self._engine, self._plan, cpu),
            **{"device": "imagined", "lengths": lessons.lengths, **asdict(plain)},
        }
        cache, name = self._root / "cache" / "fits", remembered.fingerprint(facts)
        known = remembered.recall(cache, name)
        if known is None:
            settings = replace(lessons.settled.settings, optimizer="adamw")
            held, points = imagine(
                *(trainable, settings, way.precision, way.recompute, lessons.items, _COUNTS)
            )
            known = Remembered(held, tuple(points))
            remembered.keep(cache, name, known, facts)
        found = Candidate(plain, known.fit)
        return _in_eight_bits(found) if way.optimizer != "adamw" else found

    # ---- What is told ----

    def _report(self, lessons: _Lessons, sized: Sized, *, estimate: bool) -> dict[str, Any]:
        option, settled = sized.option, lessons.settled
        clips = settled.total * lessons.task.batch
        speed = option.clips_per_second
        return {
            "engine": self._engine.name,
            "estimate": estimate,
            "fits": option.fits,
            "batch": lessons.task.batch,
            "devices": lessons.task.devices,
            "longest": lessons.task.longest,
            "typical": lessons.task.typical,
            "room": room_facts(sized.room),
            "chosen": option_facts(option),
            "alternatives": [option_facts(each) for each in sized.others if each != option],
            "reasons": [
                *sized.reasons,
                self._where_features_wait(lessons, sized.room),
                self._what_is_kept(sized, settled),
                *(f"{each[0].upper()}{each[1:]}." for each in settled.reasons),
            ],
            "probes": sized.probes,
            "steps": settled.total,
            "epochs": settled.settings.epochs,
            "seconds": clips / speed if speed else None,
            "learning_rate": settled.settings.learning_rate,
            "rates": [asdict(each) for each in self._rates(lessons.task.batch)],
        }

    def _where_features_wait(self, lessons: _Lessons, room: Room) -> str:
        """As a run settles it, of about as many bytes."""
        each = [sum(one.nbytes for one in item.features.values()) for item in lessons.items]
        needed = int(lessons.clips * sum(each) / len(each))
        on_gpu = self._wish.card is not None or torch.cuda.is_available()
        free = int(psutil.virtual_memory().available)
        where, why = place_for(
            self._plan.train.features_on, needed, room.free if on_gpu else None, free
        )
        return f"What the clips become waits {_PLACES[where]}: {why}."

    def _what_is_kept(self, sized: Sized, settled: Settled) -> str:
        """How much of the disk checkpoints take."""
        numbers = 3 + bool(settled.settings.ema)
        mb = numbers * sized.gradients / 1e6
        return f"A checkpoint is about {mb:,.0f} MB; the two newest stay, and the best weights."

    def _rates(self, batch: int) -> tuple[rates.Offer, ...]:
        """Other learning rates for a batch that a person chose; the engine's own is for its own."""
        advised, train = self._engine.advised, self._plan.train
        if not train.batch or train.learning_rate:
            return ()
        return rates.offers(float(advised["learning_rate"]), int(advised["batch"]), batch)


def _spoken(lessons: _Lessons) -> tuple[str, str]:
    """A sentence to try speaking with, and its language."""
    return sentences_for(lessons.language, ())[0], lessons.language


def _typical(some: Sequence[Example], lengths: Sequence[int], every: Sequence[Example]) -> int:
    """The mean length of all clips, told from their seconds and the lengths of a few."""
    mean = sum(each.seconds for each in every) / len(every)
    seconds = [each.seconds for each in reversed(some)]
    return max(1, round(float(np.interp(mean, seconds, lengths[::-1]))))


def _in_eight_bits(candidate: Candidate) -> Candidate:
    """The same with an optimizer that keeps a quarter."""
    spared = int(candidate.fit.held.optimizer * (1 - _EIGHT_BITS))
    way = replace(candidate.way, optimizer="adamw_8bit")
    return replace(candidate, way=way, fit=candidate.fit.lighter(spared))


def _named(way: Way) -> str:
    learned = f"LoRA of rank {way.lora_rank}" if way.lora_rank else "all weights"
    again = ", activations computed again" if way.recompute else ""
    return f"{learned} in {way.precision}{again}"


def _as_tensors(features: Features) -> Features:
    return {name: torch.as_tensor(np.asarray(each)) for name, each in features.items()}


if __name__ == "__main__":
    wish_path = Path(sys.argv[1])
    raise SystemExit(
        run(JobFolder(Path.cwd()), lambda job: work(job, forecasts.read_wish(wish_path)))
    )
