"""Commands for models: which Whispers there are, and how one comes here."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from app import data_views, following, terminal
from app.options import Json, open_workspace
from engines.errors import EngineError, NotFoundError
from finetune import submitting
from finetune.hearing import models
from finetune.jobs.telling import Telling
from voices.workspace import Workspace

app = typer.Typer(help="See and download Whispers.", no_args_is_help=True)


@app.command("list")
def list_(context: typer.Context, as_json: Json = False) -> None:
    """
    List the Whispers there are: how large, under which licence, good for what, and which are here.

    [dim]launch.py models list · launch.py models list --json[/]
    """
    with open_workspace(context) as workspace:
        here, advised = _here(workspace), submitting.advised_whisper()
        if as_json:
            terminal.print_json(data_views.model_facts(here, advised.name))
        else:
            terminal.print_table(data_views.MODEL_HEADS, data_views.model_rows(here, advised.name))
            typer.echo(f"Advised here: {advised.name}. {advised.reason}")


@app.command("download")
def download(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="As `models list` names it.")],
    as_json: Json = False,
) -> None:
    """
    Download a Whisper; what was interrupted goes on where it stopped.

    [dim]launch.py models download turbo[/]
    """
    model = models.model_of(name)
    lines = following.Lines(sys.stderr if as_json else sys.stdout)
    lines.say(f"Whisper {model.name}, about {model.size_mb:,} MB, licence {model.licence}.")
    telling: list[Telling] = []

    def at(done: float, total: float) -> None:
        if not telling:
            telling.append(Telling(lines.show, "MB", round(total / 1e6, 1)))
        telling[0].at(done / 1e6)

    with open_workspace(context) as workspace:
        try:
            found = models.fetch(name, submitting.models_folder(workspace), at, lambda: False)
        except KeyboardInterrupt:
            lines.clear()
            lines.say("Stopped. The same command goes on there.")
            raise
    lines.clear()
    if as_json:
        terminal.print_json({"name": found.name, "folder": str(found.folder)})
    else:
        typer.echo(f"Whisper {found.name} is in {found.folder}.")


def _here(workspace: Workspace) -> dict[str, models.Found]:
    """Those that are on this computer, whole."""
    found = {}
    for model in models.CATALOGUE:
        try:
            found[model.name] = models.find(model.name, submitting.models_folder(workspace))
        except (NotFoundError, EngineError):
            continue
    return found
