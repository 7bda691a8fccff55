"""Train: the engines, what each needs, and whether it can be used here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import engines
from app.places import train_runs
from app.screen import forms
from app.screen.calls import Call
from app.screen.desk import Desk
from engines.base import Engine
from engines.errors import StudioError
from finetune import bases, fetching, gpu, planning, projects
from finetune import submitting as jobs
from finetune.bases import Listed
from finetune.jobs import queue
from finetune.jobs.queue import Job
from finetune.settings import TrainSettings
from voices.shelf import Item

# In front; every other setting is folded away.
FRONT = ("batch", "micro_batch", "epochs", "minutes", "learning_rate", "precision", "recompute")


def engines_shown(desk: Desk, project: str, version: int | None = None) -> dict[str, Any]:
    """Every engine with its facts, and whether it can learn from the dataset here."""
    item = projects.shelf(desk.workspace).find(project)
    listed = list(bases.listed(jobs.models_folder(desk.workspace)))
    # Of the same download the newest comes first, whatever became of it.
    loads = [each for each in queue.jobs(desk.workspace) if each.request.kind == fetching.KIND]
    at_work = {each.request.once: each for each in reversed(loads)}
    return {
        "computes": computes_with(),
        "engines": [
            _engine_facts(desk, item, engines.find(name), listed, at_work, version)
            for name in engines.ENGINES
        ],
    }


def computes_with() -> list[dict[str, Any]]:
    """The GPUs of this computer, as far as their driver tells."""
    return [
        {"name": card.name, "total_mb": (card.total_mib or 0) * 1.048576}
        for card in gpu.read().cards
        if card.total_mib
    ]


def _engine_facts(
    desk: Desk,
    item: Item,
    engine: Engine,
    listed: list[Listed],
    at_work: Mapping[str, Job],
    version: int | None,
) -> dict[str, Any]:
    mine = [each for each in listed if each.engine.name == engine.name]
    return {
        **{name: getattr(engine, name) for name in ("name", "title", "about", "licence")},
        "languages": sorted(engine.languages),
        "clips": [engine.min_clip_seconds, engine.max_clip_seconds],
        "advised": dict(engine.advised),
        "problem": _problem(desk, item, engine, version),
        "bases": [_base_facts(each, at_work) for each in mine],
        "fields": forms.fields_of(engine.settings),
        "train_fields": forms.fields_of(TrainSettings),
        "front": FRONT,
    }


def _problem(desk: Desk, item: Item, engine: Engine, number: int | None) -> dict[str, str] | None:
    """Why the engine cannot be used here, or cannot learn from the dataset."""
    try:
        planning.refuse_unusable(engine)
        with projects.open_project(projects.folder_of(desk.workspace, item)) as project:
            if project.versions.numbers():
                planning.dataset_for(engine, item.name, project, number)
    except StudioError as error:
        return {"what": error.what, "fix": error.fix}
    return None


def _base_facts(listed: Listed, at_work: Mapping[str, Job]) -> dict[str, Any]:
    base, job = listed.base, at_work.get(f"{fetching.KIND}-{listed.name}")
    return {
        "name": base.name,
        "called": listed.name,
        "licence": base.licence,
        "download_mb": base.download_mb if base.repository else 0,
        "here": listed.folder is not None,
        "problem": listed.problem,
        "job": train_runs.job_line(job) if job else None,
    }


def download(desk: Desk, base: str, agreed: bool) -> dict[str, Any]:
    """Fetch a base whose licence the person has agreed to."""
    return train_runs.job_line(fetching.submit(desk.workspace, base, agreed))


CALLS: dict[str, Call] = {"train.engines": engines_shown, "train.download": download}
