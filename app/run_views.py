"""Runs and bases as words, for the terminal and the page alike. Nothing here draws."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

import engines
from app import views
from engines.base import Engine
from engines.errors import EngineError
from finetune import tending
from finetune.bases import Listed
from finetune.datasets import Dataset
from finetune.jobs.events import Chosen, Event, Measured, Planned, Sampled, Saved, Step
from finetune.runs import AT_WORK, Plan, Run
from finetune.settings import TrainSettings

RUN_HEADS = ("Run", "State", "Step", "Best", "Engine", "Asked for", "Id")
BASE_HEADS = ("Base", "MB", "Licence", "Engine is good for", "")
_STATES = {"stopped": "stopped", "finished": "finished", "interrupted": "cut off"}
_SHOWN_MEASURED = 8


def state(run: Run) -> str:
    """A run's state in words; of one that failed, why."""
    if run.job is not None and run.state in (*AT_WORK, "failed"):
        return views.state(run.job)
    return _STATES.get(run.state, run.state)


def label(run: Run) -> str:
    """A run in a list to choose from, told apart from others of the same name."""
    return f"{run.plan.name} · {run.id[:4]}"


def run_rows(found: Iterable[Run]) -> list[tuple[str, ...]]:
    return [
        (
            run.plan.name,
            state(run),
            _steps(run),
            f"step {run.best_step:,}" if run.best_step is not None else "",
            _title(run.plan.engine),
            _when(run.started_at),
            run.id,
        )
        for run in found
    ]


def run_facts(run: Run) -> dict[str, Any]:
    """A run for programs."""
    ended = run.job.outcome if run.job and run.state not in AT_WORK else None
    return {
        "id": run.id,
        "name": run.plan.name,
        "state": run.state,
        "step": run.step,
        "total": run.total,
        "best_step": run.best_step,
        "why_best": run.why_best,
        "started_at": run.started_at,
        "job": run.job.id if run.job else None,
        "ended": asdict(ended) if ended else None,
        "folder": str(run.folder.path),
        "voice": str(run.folder.voice) if run.folder.is_finished else None,
        "plan": asdict(run.plan),
    }


def history_facts(told: Sequence[Event]) -> dict[str, Any]:
    """What a run told, for programs: its newest step, and all that is rarer."""
    steps = [each for each in told if isinstance(each, Step)]
    rarer = (
        *(("planned", Planned), ("chosen", Chosen), ("measured", Measured)),
        *(("samples", Sampled), ("saved", Saved)),
    )
    return {
        "last": asdict(steps[-1]) if steps else None,
        **{name: [asdict(e) for e in told if isinstance(e, kind)] for name, kind in rarer},
    }


def run_page(run: Run, told: Sequence[Event]) -> str:
    """Everything about one run that a person decides by, and what can be done next."""
    steps = [each for each in told if isinstance(each, Step)]
    lines = [
        f"{run.plan.name} ({run.id}): {state(run)}",
        f"{_title(run.plan.engine)}, dataset version {run.plan.version}, asked for"
        f" {_when(run.started_at)}",
        f"Base: {run.plan.base}",
        *([f"Goes on from run {run.plan.continues}"] if run.plan.continues else []),
        f"Chosen: {_chosen(run.plan)}",
        *[views.event_line(each) for each in told if isinstance(each, Chosen)][-1:],
        *[views.event_line(each) for each in told if isinstance(each, Planned)][-1:],
        *([views.event_line(steps[-1])] if steps else []),
        *_measured(told),
        *_samples(run, told),
        *([f"Best: step {run.best_step:,}. {run.why_best}"] if run.best_step is not None else []),
        *([f"The voice is in {run.folder.voice}"] if run.folder.is_finished else []),
        *([views.how_far(run.job)] if run.job and run.job.outcome else []),
        what_next(run),
    ]
    return "\n".join(lines)


def what_next(run: Run) -> str:
    """What to type next, in a line."""
    short = run.id[:4]
    if run.state == "finished":
        return f"`launch.py runs export {short} FOLDER` writes the voice for other programs."
    if run.state in AT_WORK:
        return f"`launch.py runs follow {short}` shows it, `launch.py runs stop {short}` ends it."
    if "resume" not in tending.ways_on(run):
        return "`launch.py train` begins another with other settings."
    return f"`launch.py runs resume {short}` goes on where it was."


def begun(run_id: str, plan: Plan, engine: Engine, dataset: Dataset) -> str:
    """What is about to be done, in a line or a few."""
    minutes = sum(each.seconds for each in dataset.train) / 60
    clips = f"{len(dataset.train):,} clip{'s' * (len(dataset.train) != 1)}"
    lines = [
        f"Run {run_id}: {plan.name}, {engine.title}, dataset version {plan.version}"
        f" ({clips} to learn from, {minutes:.1f} minutes)."
    ]
    if plan.continues:
        lines.append(
            f"It starts from the best weights of run {plan.continues}, not from those of the base;"
            " the learning rate begins anew. That run stays as it is."
        )
    if plan.extra:
        projects = "another project" if len(plan.extra) == 1 else f"{len(plan.extra)} projects"
        lines.append(
            f"{plan.extra_share:.0%} of each epoch comes from {projects}, against forgetting."
        )
    return "\n".join(lines)


def base_rows(found: Iterable[Listed]) -> list[tuple[str, ...]]:
    return [
        (
            each.name,
            f"{each.base.download_mb:,}" if each.base.download_mb else "",
            each.base.licence,
            each.engine.about,
            "is here" if each.folder else each.problem,
        )
        for each in found
    ]


def base_facts(found: Iterable[Listed]) -> list[dict[str, Any]]:
    return [
        {
            "kind": "base",
            "name": each.name,
            "engine": each.engine.name,
            "base": each.base.name,
            "repository": each.base.repository,
            "size_mb": each.base.download_mb,
            "licence": each.base.licence,
            "good_for": each.engine.about,
            "folder": str(each.folder) if each.folder else None,
            "problem": each.problem,
            "advised": False,
        }
        for each in found
    ]


def _steps(run: Run) -> str:
    return f"{run.step:,} of {run.total:,}" if run.total else ""


def _title(engine: str) -> str:
    """What people call an engine, also one that is not there any more."""
    try:
        return engines.find(engine).title
    except EngineError:
        return engine


def _chosen(plan: Plan) -> str:
    """The settings that are not what everybody begins with."""
    first = asdict(TrainSettings())
    changed = {name: value for name, value in asdict(plan.train).items() if value != first[name]}
    said = [f"{name} {value}" for name, value in {**changed, **plan.engine_settings}.items()]
    return ", ".join(said) or "as the engine advises"


def _measured(told: Sequence[Event]) -> list[str]:
    measured = [each for each in told if isinstance(each, Measured)]
    return [views.event_line(each) for each in measured[-_SHOWN_MEASURED:]]


def _samples(run: Run, told: Sequence[Event]) -> list[str]:
    """The sentences of the newest hearing."""
    samples = [each for each in told if isinstance(each, Sampled)]
    newest = [each for each in samples if each.step == samples[-1].step]
    return [views.event_line(each) for each in newest] + (
        [f"Samples are in {run.folder.samples}"] if newest else []
    )


def _when(moment: str) -> str:
    """A time as it is on the clock here."""
    try:
        return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return moment
