"""Train: what is wished for when a run is begun anew with other settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import engines
from engines.base import Engine
from engines.errors import NotFoundError, StudioError
from finetune import planning, projects, runs, tending
from finetune.runs import Run
from finetune.settings import TrainSettings
from voices.workspace import Workspace


def wish(workspace: Workspace, run: Run) -> dict[str, Any] | None:
    """A run as the page wishes for it; None where nothing says to begin it anew."""
    if "anew" not in tending.ways_on(run):
        return None
    try:
        return _wish(workspace, run, engines.find(run.plan.engine))
    except StudioError:  # of an engine that is not there any more
        return None


def _wish(workspace: Workspace, run: Run, engine: Engine) -> dict[str, Any]:
    plan = run.plan
    train = changed(asdict(plan.train), asdict(TrainSettings()))
    if tending.cause_of(run) == "not-learning":
        train = with_lower_rate(train, engine)
    return {
        "engine": engine.name,
        "base": _base(workspace, engine, plan.base),
        "version": None,  # the newest: its clips may have been looked at since
        "continues": _continued(workspace, plan.continues),
        "transcriber": plan.transcriber,
        "mix": _names(workspace, [project for project, _ in plan.extra]),
        "sentences": list(plan.sentences),
        "train": train,
        "own": changed(plan.engine_settings, asdict(engine.settings())),
    }


def changed(values: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
    """What is other than at first."""
    return {name: each for name, each in values.items() if name in usual and each != usual[name]}


def with_lower_rate(train: Mapping[str, Any], engine: Engine) -> dict[str, Any]:
    """The settings with the rate that is advised, or with half of the last where that is less."""
    advised = float(engine.advised.get("learning_rate", 0.0))
    last = train.get("learning_rate", advised)
    rest = {name: each for name, each in train.items() if name != "learning_rate"}
    return rest if last > advised or not last else {**rest, "learning_rate": last / 2}


def _base(workspace: Workspace, engine: Engine, base: str) -> str:
    """The folder of a base; empty for the one that is taken anyway."""
    try:
        return "" if str(planning.find_base(workspace, engine, "")) == base else base
    except StudioError:
        return base


def _continued(workspace: Workspace, run_id: str) -> str:
    try:
        return runs.find(workspace, run_id).id if run_id else ""
    except NotFoundError:
        return ""


def _names(workspace: Workspace, ids: list[str]) -> list[str]:
    return [each.name for each in projects.shelf(workspace).all() if each.id in ids]
