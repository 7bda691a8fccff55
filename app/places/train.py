"""Train: the datasets and runs of a project, whose voice it is, and the start of a training."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from app.places import of_project, train_engines, train_plan, train_runs, train_sounds
from app.places.train_plan import TrainWish, wished_in
from app.screen.calls import Call
from app.screen.desk import Desk
from engines.errors import StudioError
from finetune import beginning, planning, projects, runs
from finetune import submitting as jobs
from finetune.beginning import Owner
from finetune.datasets import statistics
from finetune.hearing import models
from finetune.jobs import queue
from finetune.spoken_samples import sentences_for


def shown(desk: Desk, project: str) -> dict[str, Any]:
    """The project's datasets and runs, and whose voice it is."""
    item = of_project.item(desk, project)
    folder = projects.folder_of(desk.workspace, item)
    with projects.open_project(folder) as opened:
        numbers = opened.versions.numbers()
        owner = opened.settings(Owner)
        recordings = {each.id: each.language for each in opened.recordings.ever()}
    versions = [_version(folder, each) for each in reversed(numbers)]
    language = recordings.get(versions[0].recording, "") if versions else ""
    mine = [each for each in runs.all(desk.workspace) if each.plan.project == item.id]
    away = [e for e in runs.all(desk.workspace, trashed=True) if e.plan.project == item.id]
    waiting = [each.id for each in queue.jobs(desk.workspace, ended=0) if each.state == "waiting"]
    return {
        "versions": [each.facts for each in versions],
        "owner": asdict(owner),
        "name": planning.free_name(desk.workspace, item.name),
        "runs": [train_runs.facts_of(each, waiting) for each in mine],
        "trashed": [{"id": each.id, "name": each.plan.name} for each in away],
        "sentences": sentences_for(language, ()),
        "language": language,
        "listeners": _listeners(desk),
        "others": [e.name for e in projects.shelf(desk.workspace).all() if e.id != item.id],
    }


@dataclass(frozen=True, slots=True)
class _Version:
    """A dataset in figures, and a recording that is learned from."""

    facts: dict[str, Any]
    recording: str


@lru_cache(maxsize=256)  # one is never changed, and the page asks each second
def _version(folder: Path, number: int) -> _Version:
    with projects.open_project(folder) as opened:
        version = opened.versions.find(number)
    found, learned = statistics(version.dataset), version.dataset.train
    facts = {
        "number": version.number,
        "frozen_at": version.frozen_at,
        "note": version.note,
        "clips": found.clips,
        "seconds": found.minutes * 60,
        "learned": len(learned),
        "checked": len(version.dataset.check),
    }
    return _Version(facts, learned[0].recording if learned else "")


def _listeners(desk: Desk) -> list[str]:
    """Whispers that are here, to judge what is spoken."""
    found, folder = [], jobs.models_folder(desk.workspace)
    for model in models.CATALOGUE:
        try:
            found.append(models.find(model.name, folder).name)
        except StudioError:
            continue
    return found


# ---- Beginning ----


def start(desk: Desk, project: str, wish: TrainWish) -> dict[str, Any]:
    """Begin a training as wished for."""
    item = of_project.item(desk, project)
    engine, wished, number = wished_in(desk, wish)
    folder, job = beginning.begin(desk.workspace, item, engine, wished, number)
    keep_owner(desk, project, wished.whose, wish.get("agreed", ""))
    return {"run": folder.id, "job": job.id}


def keep_owner(desk: Desk, project: str, whose: str, agreed: str) -> None:
    """Keep whose voice it is, for this project's next trainings too."""
    item = of_project.item(desk, project)
    with projects.open_project(projects.folder_of(desk.workspace, item)) as opened:
        opened.keep_settings(Owner(whose.strip(), agreed))


CALLS: dict[str, Call] = {
    "train": shown,
    "train.start": start,
    "train.owner": keep_owner,
    **train_engines.CALLS,
    **train_plan.CALLS,
    **train_runs.CALLS,
    **train_sounds.CALLS,
}
FILES: dict[str, Call] = train_sounds.FILES
