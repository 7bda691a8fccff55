"""The project that a call is about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from app.screen.desk import Desk
from finetune import projects
from finetune.projects import Project
from voices.shelf import Item


def item(desk: Desk, project: str) -> Item:
    return projects.shelf(desk.workspace).find(project)


@contextmanager
def opened(desk: Desk, item: Item) -> Iterator[Project]:
    """What is kept of a project, open for as long as it takes."""
    with projects.open_project(projects.folder_of(desk.workspace, item)) as project:
        yield project
