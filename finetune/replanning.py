"""
Other wishes about a training of which a forecast was made: answered at once, from what it measured.

A forecast is asked for with what does not change its measurements left open (how many clips a
step, how long, at which rate): those are computed here, whenever somebody moves a slider.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from engines.base import Engine
from finetune import forecasts
from finetune.fitting import choice, rates, remembered
from finetune.fitting.budget import FRAGMENTED, Room
from finetune.fitting.choice import Candidate, Option, Task, Way
from finetune.fitting.reasons import peak_of, reasons
from finetune.fitting.remembered import Remembered
from finetune.fitting.report import option_facts, room_facts
from finetune.forecasts import ForecastWish
from finetune.jobs import queue
from finetune.jobs.queue import Job
from finetune.runs import Plan
from finetune.settings import TrainSettings
from finetune.submitting import report_of
from finetune.training.settling import Settled, settle
from voices.workspace import Workspace

# What a forecast measures hangs on these alone.
_MEASURED = ("precision", "optimizer", "ema", "compile", "device", "threads", "features_on")
_EIGHT_BITS_SPARE = 0.75
_MB = 1_000_000


@dataclass(frozen=True, slots=True)
class Known:
    """What a forecast measured: enough to answer for other numbers of clips."""

    candidates: tuple[Candidate, ...]
    room: Room
    longest: int
    typical: int
    devices: int


def open_wish(wish: ForecastWish, settings: TrainSettings | None = None) -> ForecastWish:
    """
    The forecast with everything left open that can be told from it afterwards.

    With `settings` these are kept: for what only a forecast of just them can tell.
    """
    measured = {name: getattr(wish.plan.train, name) for name in _MEASURED}
    plan = replace(
        wish.plan, sentences=(), transcriber="", continues="", extra=(), whose="", agreed=None,
        train=settings or TrainSettings(**measured),
    )  # fmt: skip
    return replace(wish, plan=plan)


def newest(workspace: Workspace, wish: ForecastWish) -> Job | None:
    """The newest job that made, or makes, exactly this forecast."""
    for job in queue.jobs(workspace):
        if job.request.kind == "plan":
            with suppress(OSError, ValueError, KeyError, TypeError):
                if _same(forecasts.read_wish(Path(job.request.argv[-1])), wish):
                    return job
    return None


def _same(one: ForecastWish, other: ForecastWish) -> bool:
    unnamed = (replace(each, plan=replace(each.plan, name="")) for each in (one, other))
    return len({repr(each) for each in unnamed}) == 1


def known_of(job: Job, plan: Plan, cache: Path) -> Known | None:
    """What a finished forecast measured; None where that is not kept any more."""
    report = report_of(job)
    if not report.get("room"):
        return None
    kept = list(_kept(cache / "fits", plan))
    told = (report["chosen"], *report["alternatives"])
    found = [each for option in told if (each := _candidate(option, report, kept))]
    if len(found) < len([each for each in told if each["peaks_mb"]]) or not found:
        return None
    candidates = tuple(candidate for candidate, _ in found)
    fragmented = FRAGMENTED if report["estimate"] else found[0][1].fragmented
    return Known(
        candidates,
        _room(report, fragmented),
        *(report["longest"], report["typical"], report["devices"]),
    )


def answer(known: Known, engine: Engine, train: TrainSettings, clips: int) -> dict[str, Any]:
    """The plan for these settings: what fits, how fast, how long, and why."""
    settled = settle(train, engine.advised, clips, clips)
    task = Task(settled.settings.batch, known.longest, known.typical, known.devices)
    ways = _wished(known.candidates, train)
    every = [option for each in ways for option in choice.options(each, task, known.room)]
    option = _chosen(ways, every, task, known.room, train.micro_batch)
    others = choice.best_of_each(known.candidates, task, known.room)
    held = next(each.fit.held for each in ways if each.way == option.way)
    return {
        "at_once": True,
        "room": room_facts(known.room),
        "chosen": option_facts(option),
        "parts_mb": _parts(option, held.weights, held.gradients, held.optimizer),
        "peak": peak_of(option),
        "options": [option_facts(each) for each in every if each.way == option.way],
        "reasons": [*reasons(option, others, known.room), *_sentences(settled)],
        **_length(settled, option, train, held.gradients),
        "rates": _rates(engine, train, settled.settings.batch),
    }


def as_reported(report: Mapping[str, Any], train: TrainSettings) -> dict[str, Any]:
    """The plan as a forecast itself told it, where nothing more can be computed from it."""
    taken = report["chosen"]["taken_mb"]
    seconds, limit = report["seconds"], train.minutes * 60
    return {
        "at_once": False,
        "room": report["room"],
        "chosen": report["chosen"],
        "parts_mb": {"clips": taken},
        "peak": "",
        "options": [report["chosen"]],
        "reasons": report["reasons"],
        **{name: report[name] for name in ("steps", "epochs", "learning_rate", "rates", "batch")},
        "seconds": min(seconds, limit) if seconds and limit else seconds,
        "disk_mb": None,
    }


# ---- What was measured ----


def _kept(fits: Path, plan: Plan) -> Iterator[tuple[Mapping[str, Any], Remembered]]:
    """The measurements of this engine with these settings, whatever they were made for."""
    for path in fits.glob("*.json"):
        with suppress(OSError, ValueError, KeyError, TypeError):
            facts = json.loads(path.read_bytes())["facts"]
            settings = {**facts["settings"], "lora_rank": 0}
            alike = settings == {**plan.engine_settings, "lora_rank": 0}
            known = remembered.recall(fits, path.stem)
            if facts["engine"] == plan.engine and alike and known:
                yield facts, known


def _candidate(
    option: Mapping[str, Any],
    report: Mapping[str, Any],
    kept: Sequence[tuple[Mapping[str, Any], Remembered]],
) -> tuple[Candidate, Remembered] | None:
    """The measurement that gives exactly what the forecast told of an option: so it is the one."""
    way = Way(**{name: option[name] for name in Way.__slots__})
    for facts, known in kept:
        same = ("precision", "recompute", "lora_rank")
        if any(facts.get(name) != getattr(way, name) for name in same):
            continue
        for candidate in _readings(way, facts, known):
            if _peaks(candidate, option, report["longest"]) == option["peaks_mb"]:
                return candidate, known
    return None


def _readings(way: Way, facts: Mapping[str, Any], known: Remembered) -> list[Candidate]:
    """As it was measured, or told of an optimizer of 8 bits that keeps a quarter."""
    found = Candidate(way, known.fit, known.ceiling, known.speaking)
    if facts.get("optimizer") == way.optimizer:
        return [found]
    spared = int(known.held.optimizer * _EIGHT_BITS_SPARE)
    return [replace(found, fit=known.fit.lighter(spared))]


def _peaks(candidate: Candidate, option: Mapping[str, Any], longest: int) -> dict[str, float]:
    accumulates = option["accumulation"] > 1
    peaks = candidate.fit.peaks(option["micro_batch"], longest, accumulates=accumulates)
    if candidate.speaking:
        held = candidate.fit.held
        peaks["speaking"] = held.weights + held.optimizer + candidate.speaking
    return {name: round(peak / 1e6, 1) for name, peak in peaks.items()}


def _room(report: Mapping[str, Any], fragmented: float) -> Room:
    told, option = report["room"], report["chosen"]
    total, free, headroom = (
        int(told[name] * _MB) for name in ("total_mb", "free_mb", "headroom_mb")
    )
    peak = max(option["peaks_mb"].values())
    context = max(0, int((option["taken_mb"] - peak * fragmented) * _MB))
    return Room(total, free, headroom, context, fragmented)


# ---- What is told of it ----


def _wished(candidates: Sequence[Candidate], train: TrainSettings) -> list[Candidate]:
    if train.recompute == "auto":
        return list(candidates)
    found = [each for each in candidates if each.way.recompute == (train.recompute == "yes")]
    return found or list(candidates)


def can_answer(known: Known, train: TrainSettings) -> bool:
    """Whether the way of computing that is wished for was measured."""
    if train.recompute == "auto":
        return True
    return any(each.way.recompute == (train.recompute == "yes") for each in known.candidates)


def _chosen(
    ways: Sequence[Candidate], every: Sequence[Option], task: Task, room: Room, micro_batch: int
) -> Option:
    """The fastest that fits; or with as many clips at once as a person chose, whether it fits."""
    if not micro_batch:
        return choice.best_or_nearest(ways, task, room)
    parts = -(-task.share // min(micro_batch, task.share))
    as_wished = [each for each in every if each.accumulation == parts]
    return min(as_wished, key=lambda each: (each.over, each.way.compromise, each.work))


def _parts(option: Option, weights: int, gradients: int, optimizer: int) -> dict[str, float]:
    """What the memory is for, in its fullest moment."""
    left = float(max(option.peaks.values()))
    parts: dict[str, float] = {}
    for name, most in (("weights", weights), ("optimizer", optimizer), ("gradients", gradients)):
        parts[name] = min(most, left)
        left -= parts[name]
    parts["clips"] = left
    parts["others"] = option.taken - sum(parts.values())
    order = ("weights", "gradients", "optimizer", "clips", "others")
    return {name: round(parts[name] / _MB, 1) for name in order}


def _length(
    settled: Settled, option: Option, train: TrainSettings, learned: int
) -> dict[str, float | None]:
    """How long it takes, and how much of the disk."""
    batch, speed = settled.settings.batch, option.clips_per_second
    seconds = settled.total * batch / speed if speed else None
    if seconds is not None and train.minutes:
        seconds = min(seconds, train.minutes * 60)
    checkpoint = (3 + bool(settled.settings.ema)) * learned
    return {
        "batch": batch,
        "steps": settled.total,
        "epochs": settled.settings.epochs,
        "learning_rate": settled.settings.learning_rate,
        "seconds": seconds,
        # The two newest stay, the best weights, and the voice.
        "disk_mb": round((2 * checkpoint + 2 * learned) / _MB, 1),
    }


def _sentences(settled: Settled) -> list[str]:
    return [f"{each[0].upper()}{each[1:]}." for each in settled.reasons]


def _rates(engine: Engine, train: TrainSettings, batch: int) -> list[dict[str, Any]]:
    if not train.batch or train.learning_rate:
        return []
    advised = engine.advised
    found = rates.offers(float(advised["learning_rate"]), int(advised["batch"]), batch)
    return [asdict(each) for each in found]
