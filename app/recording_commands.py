"""Commands for the recordings of a project: see them, put them out of sight, take them back."""

from __future__ import annotations

from typing import Annotated

import typer

from app import data_views, terminal
from app.options import Json, ProjectName, open_project
from finetune import overview

app = typer.Typer(
    help="See the recordings of a project, and keep them in order.", no_args_is_help=True
)

Name = Annotated[
    str, typer.Argument(metavar="RECORDING", help="Its name, or a part that no other has.")
]


@app.command("list")
def list_(
    context: typer.Context,
    project: ProjectName,
    trashed: Annotated[bool, typer.Option("--trashed", help="Those in the trash.")] = False,
    as_json: Json = False,
) -> None:
    """
    List them, with their lengths and what there is to say of their sound.

    [dim]launch.py recordings list --project Ada · … --trashed[/]
    """
    with open_project(context, project) as opened:
        found = opened.project.recordings.all(trashed)
        if as_json:
            terminal.print_json([data_views.recording_facts(each) for each in found])
        else:
            terminal.print_table(data_views.RECORDING_HEADS, data_views.recording_rows(found))


@app.command("trash")
def trash(
    context: typer.Context, recording: Name, project: ProjectName, as_json: Json = False
) -> None:
    """
    Put one out of sight, with its clips. Nothing is deleted, and datasets keep what they have.

    [dim]launch.py recordings trash talk.mp3 --project Ada[/]
    """
    _move(context, recording, project, as_json, trashed=True)


@app.command("restore")
def restore(
    context: typer.Context, recording: Name, project: ProjectName, as_json: Json = False
) -> None:
    """
    Take one back from the trash, with its clips and every edit.

    [dim]launch.py recordings restore talk.mp3 --project Ada[/]
    """
    _move(context, recording, project, as_json, trashed=False)


def _move(context: typer.Context, name: str, project: str, as_json: bool, *, trashed: bool) -> None:
    with open_project(context, project) as opened:
        found = overview.named(opened.project.recordings.all(not trashed), name)
        opened.project.recordings.trash(found.id, trashed)
    if as_json:
        terminal.print_json(data_views.recording_facts(found))
    else:
        typer.echo(f"{found.name} is {'in the trash' if trashed else 'back'}.")
