"""Home: what is going on, what to do next, and the projects."""

from __future__ import annotations

from typing import Any

from app.places.frame import item_facts
from app.screen.calls import Call
from app.screen.desk import Desk
from finetune import next_step, projects, trying
from voices import library

_VOICES_SHOWN = 5


def shown(desk: Desk, project: str | None) -> dict[str, Any]:
    """What to do next, the projects, those in the trash, the latest voices."""
    shelf = projects.shelf(desk.workspace)
    here = {each.id: each for each in shelf.all()}
    chosen = here.get(project or "")
    return {
        "next": next_step.of_project(desk.workspace, chosen) if chosen else next_step.of_none(),
        "projects": [item_facts(each) for each in here.values()],
        "trashed": [item_facts(each) for each in shelf.all(trashed=True)],
        "voices": [
            {**item_facts(each.item), "engine": each.engine}
            for each in library.listed(desk.workspace)[:_VOICES_SHOWN]
        ],
    }


def create(desk: Desk, name: str) -> dict[str, Any]:
    return item_facts(projects.create(desk.workspace, name))


def rename(desk: Desk, project: str, name: str) -> dict[str, Any]:
    return item_facts(projects.shelf(desk.workspace).rename(project, name))


def trash(desk: Desk, project: str) -> dict[str, Any]:
    return item_facts(projects.shelf(desk.workspace).trash(project))


def restore(desk: Desk, project: str) -> dict[str, Any]:
    return item_facts(projects.shelf(desk.workspace).restore(project))


def try_now(desk: Desk) -> dict[str, Any]:
    """Make a voice of the recording that ships."""
    item, job = trying.begin(desk.workspace)
    return {"project": item.id, "job": job.id}


CALLS: dict[str, Call] = {
    "home": shown,
    "home.create": create,
    "home.rename": rename,
    "home.trash": trash,
    "home.restore": restore,
    "home.try": try_now,
}
