"""Works that commands begin: what they need is looked at first, then they are followed to the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from app import data_views, following, terminal, views
from app.options import Changed, Settings
from engines.errors import NotDownloadedError, NotFoundError
from finetune import https, projects, submitting
from finetune.jobs.queue import Job
from finetune.settings import HearSettings
from voices.shelf import Item
from voices.workspace import Workspace

Report = Callable[[Job], dict[str, Any]]
"""What is to be said of a job for programs, beside how it ended."""


def there(typed: list[str]) -> tuple[str, ...]:
    """Paths as a job finds them; raise for one that leads nowhere."""
    return tuple(str(submitting.there(each)) for each in typed)


def found_or_made(workspace: Workspace, name: str) -> Item:
    """The project of this name or id, made when there is none."""
    try:
        item = projects.shelf(workspace).find(name)
    except NotFoundError:
        return projects.create(workspace, name)
    if item.trashed:
        raise NotFoundError(f"The project {item.name} is in the trash.", "Take it back first.")
    return item


def settled(workspace: Workspace, name: str, changed: Changed[Settings]) -> Settings:
    """The settings that a work is done with: as typed, else as last chosen for the project."""
    try:
        item = projects.shelf(workspace).find(name)
    except NotFoundError:
        return changed.alone
    with projects.open_project(projects.folder_of(workspace, item)) as project:
        return changed.over(project.settings(changed.kind))


def whisper(workspace: Workspace, typed: str, hear: Changed[HearSettings], download: bool) -> str:
    """Which Whisper is meant; raise, with what to type, when it is not on this computer."""
    folder = submitting.models_folder(workspace)
    try:
        return submitting.which_whisper(typed, folder, hear.alone.language, download)
    except NotDownloadedError as missing:
        if https.is_offline():
            raise
        raise NotDownloadedError(
            missing.what,
            "Add --download to fetch it, or name another with --whisper:"
            " `launch.py models list` shows which are here.",
        ) from missing


def finish(
    workspace: Workspace,
    item: Item,
    job: Job,
    background: bool,
    as_json: bool,
    report: Report = submitting.report_of,
    about: str = "project",
) -> dict[str, Any]:
    """Follow a job to its end and give what came of it; leave when that is not wanted, or not good."""
    if background:
        started = f"{job.request.title}: {views.state(job)}. {following.how_to_see(job)}"
        _answer(data_views.work_facts(item, job, report(job), about), started, as_json)
        raise typer.Exit
    ended = following.follow(workspace, job, quiet_output=as_json)
    facts = data_views.work_facts(item, ended, report(ended), about)
    if ended.outcome is None or ended.outcome.cause != "finished":
        if as_json:
            terminal.print_json(facts)
        else:
            said = (views.how_far(ended), following.how_to_go_on(ended))
            typer.echo(" ".join(filter(None, (*said, following.how_to_look(ended)))), err=True)
        raise typer.Exit(1)
    return facts


def close(facts: dict[str, Any], as_json: bool) -> None:
    """Say what came of a work."""
    _answer(facts, facts["what"], as_json)


def _answer(facts: dict[str, Any], sentence: str, as_json: bool) -> None:
    if as_json:
        terminal.print_json(facts)
    else:
        typer.echo(sentence)
