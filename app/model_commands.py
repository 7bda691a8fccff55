"""Commands for models: which Whispers and bases there are, and how one comes here."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from app import data_views, following, run_views, terminal
from app.options import Json, open_workspace
from engines.base import Base, Engine
from engines.errors import EngineError, NotDownloadedError
from finetune import bases, submitting
from finetune.downloads import Progress
from finetune.hearing import models
from finetune.jobs.telling import Telling
from voices.workspace import Workspace

app = typer.Typer(help="See and download Whispers, and bases to train from.", no_args_is_help=True)


@app.command("list")
def list_(context: typer.Context, as_json: Json = False) -> None:
    """
    List Whispers and bases: how large, under which licence, good for what, and which are here.

    [dim]launch.py models list · launch.py models list --json[/]
    """
    with open_workspace(context) as workspace:
        (here, broken), advised = _here(workspace), submitting.advised_whisper()
        found = list(bases.listed(submitting.models_folder(workspace)))
        if as_json:
            whispers = data_views.model_facts(here, advised.name)
            about = [
                {"kind": "whisper", **each, "problem": broken.get(each["name"], "")}
                for each in whispers
            ]
            terminal.print_json([*about, *run_views.base_facts(found)])
            return
        terminal.print_table(data_views.MODEL_HEADS, data_views.model_rows(here, advised.name))
        for name, problem in broken.items():
            typer.echo(f"{name} cannot be used: {problem}")
        typer.echo(f"Advised here: {advised.name}. {advised.reason}")
        if found:
            typer.echo()
            terminal.print_table(run_views.BASE_HEADS, run_views.base_rows(found))


@app.command("download")
def download(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="As `models list` names it.")],
    agree: Annotated[
        bool, typer.Option("--agree", help="You have read the licence of a base and agree to it.")
    ] = False,
    as_json: Json = False,
) -> None:
    """
    Download a Whisper or a base; what was interrupted goes on where it stopped.

    [dim]launch.py models download turbo · launch.py models download xtts --agree[/]
    """
    lines = following.Lines(sys.stderr if as_json else sys.stdout)
    with open_workspace(context) as workspace:
        folder = submitting.models_folder(workspace)
        base = None if _is_whisper(name) else bases.downloadable(name)
        try:
            if base:
                called, there = _fetch_base(*base, folder, agree, lines)
            else:
                called, there = _fetch_whisper(name, folder, lines)
        except KeyboardInterrupt:
            lines.clear()
            lines.say("Stopped. The same command goes on there.")
            raise
    lines.clear()
    if as_json:
        terminal.print_json({"name": called, "folder": str(there)})
    else:
        typer.echo(f"{called if base else f'Whisper {called}'} is in {there}.")


def _fetch_whisper(name: str, folder: Path, lines: following.Lines) -> tuple[str, Path]:
    model = models.model_of(name)
    lines.say(f"Whisper {model.name}, about {model.size_mb:,} MB, licence {model.licence}.")
    found = models.fetch(name, folder, _telling(lines), lambda: False)
    return found.name, found.folder


def _fetch_base(
    engine: Engine, base: Base, folder: Path, agree: bool, lines: following.Lines
) -> tuple[str, Path]:
    if agree:
        lines.say(
            f"{engine.title}, about {base.download_mb:,} MB, licence {base.licence}, agreed to."
        )
    there = bases.download_base(engine, base, folder, agree, _telling(lines), lambda: False)
    return f"{engine.name}-{base.name}", there


def _telling(lines: following.Lines) -> Progress:
    """Tell how much has arrived, once it is known how much there is."""
    telling: list[Telling] = []

    def at(done: float, total: float) -> None:
        if not telling:
            telling.append(Telling(lines.show, "MB", round(total / 1e6, 1)))
        telling[0].at(done / 1e6)

    return at


def _is_whisper(name: str) -> bool:
    return name in models.OTHER_NAMES or any(name == each.name for each in models.CATALOGUE)


def _here(workspace: Workspace) -> tuple[dict[str, models.Found], dict[str, str]]:
    """Whispers that are on this computer, and why some that lie there cannot be used."""
    folder = submitting.models_folder(workspace)
    found, broken = {}, {}
    for model in models.CATALOGUE:
        try:
            found[model.name] = models.find(model.name, folder)
        except NotDownloadedError as missing:
            if models.folder_of(model, folder).exists():
                broken[model.name] = str(missing)
        except EngineError as error:
            broken[model.name] = str(error)
    return found, broken
