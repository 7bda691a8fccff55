"""Train: the runs there are, how one goes, what it speaks, and what is done with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal

import engines
from app import run_views, views
from app.places import train_anew
from app.screen.calls import Call
from app.screen.desk import Desk
from engines.errors import EngineError, JobError, NotFoundError, StudioError
from finetune import best, curves, planning, runs, submitting, tending
from finetune.curves import Histories, Told
from finetune.jobs import queue
from finetune.jobs.outcome import Outcome
from finetune.jobs.queue import Job
from finetune.monitor import kept
from finetune.monitor.sampler import Reading, thinned
from finetune.runs import AT_WORK, Plan, Run
from finetune.settings import TrainSettings
from voices.workspace import Workspace

_HISTORIES = Histories()
_MEMORY_POINTS = 160
_MB_IN_MIB = 1.048576


def facts_of(run: Run, waiting: Sequence[str]) -> dict[str, Any]:
    """A run in the list."""
    job = run.job.id if run.job else None
    return {
        "id": run.id,
        "name": run.plan.name,
        "state": run.state,
        "words": run_views.state(run),
        "step": run.step,
        "total": run.total,
        "best_step": run.best_step,
        "engine": title_of(run.plan.engine),
        "version": run.plan.version,
        "started_at": run.started_at,
        "job": job,
        "place": waiting.index(job) + 1 if job in waiting else None,
        "ways": tending.ways_on(run),
    }


def title_of(engine: str) -> str:
    """What people call an engine, also one that is not there any more."""
    try:
        return engines.find(engine).title
    except EngineError:
        return engine


def job_line(job: Job) -> dict[str, Any]:
    """A job with its state in words, and how far it is."""
    progress = job.progress()
    return {
        "id": job.id,
        "title": job.request.title,
        "state": job.state,
        "words": views.state(job),
        "line": views.how_far(job),
        "share": progress.done / progress.total if progress and progress.total else None,
        "cause": job.cause,
    }


# ---- One run ----


def detail(desk: Desk, run: str) -> dict[str, Any]:
    """How a run goes: all that is drawn and heard of it."""
    found = runs.find(desk.workspace, run)
    told = _HISTORIES.of(found.folder)
    waiting = [each.id for each in queue.jobs(desk.workspace, ended=0) if each.state == "waiting"]
    return {
        **facts_of(found, waiting),
        "whose": found.plan.whose,
        "continues": _name_of(desk.workspace, found.plan.continues),
        "curve": told.curve,
        "checks": told.checks,
        "now": _now(told),
        "planned": asdict(told.planned) if told.planned else None,
        "chosen": told.chosen.reasons if told.chosen else [],
        "samples": [
            {"text": text, "heard": [curves.facts_of_sample(each) for each in spoken]}
            for text, spoken in told.samples
        ],
        "best": {"step": found.best_step, "why": _why_best(found, told)},
        "saved": max(told.saved, default=None),
        "advice": best.early_stop_offered(told.heard) if found.state in AT_WORK else "",
        "settings": settings_of(found.plan),
        "progress": job_line(found.job) if found.job else None,
        "ended": _ended(found),
        "smaller": tending.smaller_micro_batch(found) if "lighter" in tending.ways_on(found) else 0,
        "wish": train_anew.wish(desk.workspace, found),
        "voice": found.folder.is_finished,
        "command": found.job.folder.command() if found.job else "",
    }


def _why_best(run: Run, told: Told) -> str:
    return (
        best.why_now(run.best_step, run.why_best, told.heard) if run.best_step is not None else ""
    )


def _now(told: Told) -> dict[str, Any] | None:
    """The newest step."""
    if told.last is None:
        return None
    known = asdict(told.last)
    kept_names = ("epoch", "clips_per_second", "ms", "memory_mb", "seconds_left", "padding")
    return {name: known[name] for name in kept_names}


def _ended(run: Run) -> dict[str, Any] | None:
    """How its newest job ended: the first cause of a fault, where that says more."""
    if run.job is None or run.job.outcome is None or run.state in AT_WORK:
        return None
    outcome = run.job.outcome
    told = {name: getattr(outcome, name) for name in ("cause", "what", "fix")}
    return {**told, "first_cause": "" if _is_same(outcome) else outcome.first_cause}


def _is_same(outcome: Outcome) -> bool:
    """Whether the first error is what is said of the end already, as Python wrote it."""
    return bool(outcome.what) and outcome.what.splitlines()[0] in outcome.first_cause


def settings_of(plan: Plan) -> dict[str, Any]:
    """The settings that are not what everybody begins with."""
    return {
        **train_anew.changed(asdict(plan.train), asdict(TrainSettings())),
        **plan.engine_settings,
    }


def _name_of(workspace: Workspace, run_id: str) -> str:
    try:
        return runs.find(workspace, run_id).plan.name if run_id else ""
    except NotFoundError:
        return run_id


def machine(desk: Desk, run: str) -> dict[str, Any]:
    """How much memory was taken while it ran, over time."""
    found = runs.find(desk.workspace, run)
    readings = thinned(kept.read(found.folder.machine_path), _MEMORY_POINTS)
    gpu = any(reading.gpus.cards for reading in readings)
    first = readings[0].at if readings else 0.0
    return {
        "of": "gpu" if gpu else "computer",
        "used": [[round(each.at - first, 1), _used_mb(each, gpu)] for each in readings],
        "cpu": [[round(each.at - first, 1), each.computer.cpu_percent] for each in readings],
    }


def _used_mb(reading: Reading, gpu: bool) -> float | None:
    if gpu:
        used = [card.used_mib for card in reading.gpus.cards if card.used_mib is not None]
        return round(used[0] * _MB_IN_MIB, 1) if used else None
    ram, free = reading.computer.ram_mib, reading.computer.ram_free_mib
    return None if ram is None or free is None else round((ram - free) * _MB_IN_MIB, 1)


def log(desk: Desk, run: str) -> dict[str, Any]:
    """What it said, and the end of what it printed."""
    found = runs.find(desk.workspace, run)
    said = list(_HISTORIES.of(found.folder).said)
    return {"said": said, "log": found.job.folder.log_tail() if found.job else ""}


# ---- What is done with it ----


def stop(desk: Desk, run: str) -> None:
    """Let it save and end; one that waits leaves the queue."""
    queue.stop(desk.workspace, _at_work(desk, run).id)


def ask(desk: Desk, run: str, what: Literal["sample", "save"]) -> None:
    """Ask a training that runs to speak, or to keep a checkpoint, after this step."""
    found = runs.find(desk.workspace, run)
    if found.state != "running":
        raise JobError(
            f"{found.plan.name}: {run_views.state(found)}.",
            "Only a training that runs can be asked.",
        )
    _at_work(desk, run).folder.ask(what)


def move(desk: Desk, run: str, direction: queue.Direction) -> None:
    queue.move(desk.workspace, _at_work(desk, run).id, direction)


def resume(desk: Desk, run: str, lighter: bool = False) -> dict[str, Any]:
    """Go on where it was saved, perhaps with fewer clips at once."""
    found = runs.find(desk.workspace, run)
    if found.state in (*AT_WORK, "finished"):
        raise JobError(
            f"{found.plan.name}: {run_views.state(found)}.", "There is nothing to resume."
        )
    planning.refuse_unusable(engines.find(found.plan.engine))
    if lighter:
        tending.lighten(found)
    return {"job": submitting.submit_training(desk.workspace, found.folder).id}


def _at_work(desk: Desk, run: str) -> Job:
    found = runs.find(desk.workspace, run)
    if found.job is None or found.state not in AT_WORK:
        raise JobError(f"{found.plan.name}: {run_views.state(found)}.", "There is nothing to stop.")
    return found.job


def rename(desk: Desk, run: str, name: str) -> None:
    tending.rename(desk.workspace, run, name)


def trash(desk: Desk, run: str) -> None:
    tending.trash(desk.workspace, run)


def restore(desk: Desk, run: str) -> None:
    tending.restore(desk.workspace, run)


# ---- Several beside each other ----


def compare(desk: Desk, run: list[str]) -> dict[str, Any]:
    """Curves of several runs, the settings in which they differ, and how good they got."""
    found = [runs.find(desk.workspace, each) for each in run]
    chosen = [_all_settings(each) for each in found]
    return {
        "runs": [_compared(each) for each in found],
        "differ": {
            name: [each.get(name) for each in chosen]
            for name in dict.fromkeys(name for each in chosen for name in each)
            if len({repr(each.get(name)) for each in chosen}) > 1
        },
    }


def _all_settings(run: Run) -> Mapping[str, Any]:
    """What it learned with; before it tells, what was asked for."""
    plan, told = run.plan, _HISTORIES.of(run.folder).chosen
    return {
        **{"dataset": plan.version, "engine": plan.engine},
        **(told.settings if told else asdict(plan.train)),
        **_engine_settings(plan),
    }


def _engine_settings(plan: Plan) -> Mapping[str, Any]:
    """What its engine learned with, with what the plan leaves as at first."""
    try:
        return asdict(engines.find(plan.engine).settings(**plan.engine_settings))
    except (StudioError, TypeError):  # of an engine, or with a setting, that is gone
        return plan.engine_settings


def _compared(run: Run) -> dict[str, Any]:
    told = _HISTORIES.of(run.folder)
    heard = next((each for each in told.heard if each.step == run.best_step), None)
    return {
        "id": run.id,
        "name": run.plan.name,
        "curve": told.curve,
        "checks": told.checks,
        "best_step": run.best_step,
        "best": asdict(heard) if heard else None,
    }


CALLS: dict[str, Call] = {
    "train.run": detail,
    "train.machine": machine,
    "train.log": log,
    "train.stop": stop,
    "train.ask": ask,
    "train.move": move,
    "train.resume": resume,
    "train.rename": rename,
    "train.trash": trash,
    "train.restore": restore,
    "train.compare": compare,
}
