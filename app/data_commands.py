"""Commands for recordings: bring them in, and hear what is said in them."""

from __future__ import annotations

from typing import Annotated

import typer

from app import works
from app.options import (
    Again,
    Background,
    Download,
    Encoding,
    Hear,
    Json,
    ProjectName,
    Text,
    Whisper,
    open_project,
    open_workspace,
    with_settings,
)
from engines.errors import NotFoundError
from finetune import overview, submitting

app = typer.Typer()

Sources = Annotated[
    list[str], typer.Argument(metavar="RECORDINGS...", help="Files, and folders with recordings.")
]


@app.command("import")
def import_(
    context: typer.Context,
    recordings: Sources,
    project: ProjectName,
    text: Text = "",
    encoding: Encoding = "",
    background: Background = False,
    as_json: Json = False,
) -> None:
    """
    Bring recordings into a project, which is made when it is not there.

    [dim]launch.py import talks/ --project Ada · launch.py import a.wav --text a.srt --project Ada[/]
    """
    sources = works.there(recordings)
    said = works.there([text])[0] if text else ""
    with open_workspace(context) as workspace:
        item = works.found_or_made(workspace, project)
        wish = submitting.wish_for(
            workspace, item, sources=sources, text=said, encoding=encoding, make_clips=bool(text)
        )
        job = submitting.submit(workspace, item, wish, f"Import into {item.name}")
        works.close(works.finish(workspace, item, job, background, as_json), as_json)


@app.command()
@with_settings
def transcribe(
    context: typer.Context,
    project: ProjectName,
    hear: Hear,
    recordings: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RECORDING...]", help="By name or id. Else: all of them."),
    ] = None,
    whisper: Whisper = "",
    download: Download = False,
    again: Again = False,
    background: Background = False,
    as_json: Json = False,
) -> None:
    """
    Hear what is said in a project's recordings, and cut them into clips.

    [dim]launch.py transcribe --project Ada · … --whisper turbo --language de --download[/]
    """
    with open_project(context, project) as opened:
        there = opened.project.recordings.all()
        if not there:
            raise NotFoundError(
                f"There are no recordings in {opened.item.name} yet.",
                "Bring some in with `launch.py import`.",
            )
        wish = submitting.wish_for(
            opened.workspace,
            opened.item,
            recordings=tuple(overview.named(there, each).id for each in recordings or ()),
            whisper=works.whisper(opened.workspace, whisper, hear, download),
            download=download,
            again=again,
            hear=works.settled(opened.workspace, opened.item.id, hear),
        )
        title = f"Transcribe {opened.item.name}"
        job = submitting.submit(opened.workspace, opened.item, wish, title)
        works.close(works.finish(opened.workspace, opened.item, job, background, as_json), as_json)
