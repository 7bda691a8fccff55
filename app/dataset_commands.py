"""Commands for datasets: build, check, freeze, show, export, import."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from app import data_views, terminal, works
from app.options import (
    Again,
    Background,
    Changed,
    Cut,
    DatasetName,
    Download,
    Encoding,
    Hear,
    Json,
    Name,
    Opened,
    Text,
    Whisper,
    open_project,
    open_workspace,
    with_settings,
)
from engines.settings import Checked
from finetune import datasets, exports, overview, projects, submitting
from finetune.exporting import ExportSettings
from finetune.exports import ExportWish
from voices.workspace import Workspace

app = typer.Typer(
    help="Make datasets of recordings: build, check, freeze, export.", no_args_is_help=True
)

Seed = Annotated[int, typer.Option(help="The same seed divides the same clips the same way.")]
CheckShare = Annotated[
    float,
    typer.Option(metavar="SHARE", min=0.05, max=0.15, help="How much is kept to check with."),
]
Note = Annotated[str, typer.Option(metavar="TEXT", help="What to remember this version by.")]
VersionNumber = Annotated[
    int | None, typer.Option("--version", metavar="N", help="A frozen version. Else the newest.")
]


@app.command("build")
@with_settings
def build(
    context: typer.Context,
    name: DatasetName,
    hear: Hear,
    cut: Cut,
    recordings: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RECORDINGS...]", help="Files and folders to bring in first."),
    ] = None,
    text: Text = "",
    encoding: Encoding = "",
    whisper: Whisper = "",
    download: Download = False,
    again: Again = False,
    seed: Seed = 0,
    check_share: CheckShare = 0.1,
    note: Note = "",
    background: Background = False,
    as_json: Json = False,
) -> None:
    """
    Do all of it: bring in, hear, cut, check, and freeze a version of the dataset.

    [dim]launch.py dataset build talks/ --name Ada · … --text metadata.csv --max-seconds 8[/]
    """
    sources = works.there(recordings or [])
    said = works.there([text])[0] if text else ""
    with open_workspace(context) as workspace:
        settled = _settled(workspace, name, hear, cut)
        heard = works.whisper(workspace, whisper, hear, download) if whisper or not text else ""
        shelf = projects.shelf(workspace)
        item = works.found_or_made(workspace, name) if sources else shelf.find(name)
        wish = submitting.wish_for(
            workspace,
            item,
            sources=sources,
            text=said,
            encoding=encoding,
            whisper=heard,
            download=download,
            again=again,
            freeze=True,
            seed=seed,
            check_share=check_share,
            note=note,
            **settled,
        )
        job = submitting.submit(workspace, item, wish, f"Dataset {item.name}")
        works.close(works.finish(workspace, item, job, background, as_json), as_json)


@app.command("import")
@with_settings
def import_dataset(
    context: typer.Context,
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="Texts and their audio.")],
    name: DatasetName,
    hear: Hear,
    cut: Cut,
    encoding: Encoding = "",
    whisper: Annotated[
        str,
        typer.Option(
            metavar="SIZE|FOLDER", help="For texts that do not say where in the audio they are."
        ),
    ] = "",
    download: Download = False,
    background: Background = False,
    as_json: Json = False,
) -> None:
    """
    Bring in a folder of texts and audio (all that is exported but Parquet), and say what did not fit.

    [dim]launch.py dataset import LJSpeech-1.1/ --name Linda[/]
    """
    [source] = works.there([folder])
    with open_workspace(context) as workspace:
        settled = _settled(workspace, name, hear, cut)
        heard = works.whisper(workspace, whisper, hear, download) if whisper else ""
        item = works.found_or_made(workspace, name)
        wish = submitting.wish_for(
            workspace,
            item,
            sources=(source,),
            text=source,
            encoding=encoding,
            whisper=heard,
            download=download,
            **settled,
        )
        job = submitting.submit(workspace, item, wish, f"Import into {item.name}")
        works.close(works.finish(workspace, item, job, background, as_json), as_json)


@app.command("check")
def check(
    context: typer.Context, name: Name, background: Background = False, as_json: Json = False
) -> None:
    """
    Check every clip again, and list what is to be looked at, and why.

    [dim]launch.py dataset check Ada[/]
    """
    with open_project(context, name) as opened:
        wish = submitting.wish_for(opened.workspace, opened.item)
        job = submitting.submit(opened.workspace, opened.item, wish, f"Check {opened.item.name}")
        facts = works.finish(opened.workspace, opened.item, job, background, as_json)
        doubtful = [each for each in overview.clips_of(opened.project) if each.mark != "good"]
        if as_json:
            facts["to_look_at"] = [data_views.clip_facts(each) for each in doubtful]
        else:
            for each in doubtful:
                typer.echo(data_views.against(each))
        works.close(facts, as_json)


@app.command("freeze")
def freeze(
    context: typer.Context,
    name: DatasetName,
    seed: Seed = 0,
    check_share: CheckShare = 0.1,
    note: Note = "",
    as_json: Json = False,
) -> None:
    """
    Freeze what is there as a version, which is never changed.

    [dim]launch.py dataset freeze --name Ada --note "without the phone call"[/]
    """
    with open_project(context, name) as opened:
        dataset = datasets.freeze(opened.project.transcript.clips(), seed, check_share)
        before = opened.project.versions.newest()
        version = opened.project.versions.freeze(dataset, note)
        if as_json:
            facts = {"project": data_views.project_facts(opened.item)}
            terminal.print_json({**facts, **data_views.version_facts(version)})
        else:
            new = before is None or version.number != before.number
            typer.echo(data_views.version_page(version, before if new else None))


@app.command("show")
def show(
    context: typer.Context,
    name: Name,
    version: VersionNumber = None,
    clips: Annotated[bool, typer.Option("--clips", help="Each clip too.")] = False,
    as_json: Json = False,
) -> None:
    """
    Show recordings, clips, versions, what changed since the last, and what is advised.

    [dim]launch.py dataset show Ada · launch.py dataset show Ada --version 1 --clips[/]
    """
    with open_project(context, name) as opened:
        if version is None:
            _show_now(opened, clips, as_json)
        else:
            _show_version(opened, version, clips, as_json)


@app.command("export")
@with_settings
def export(
    context: typer.Context,
    name: Name,
    folder: Annotated[
        str, typer.Argument(metavar="FOLDER", help="A folder that is not there yet.")
    ],
    settings: Annotated[Changed[ExportSettings], ExportSettings],
    version: VersionNumber = None,
    background: Background = False,
    as_json: Json = False,
) -> None:
    """
    Write a frozen version as a folder that another program trains from.

    [dim]launch.py dataset export Ada ../ada-ljspeech · … --format piper --rate 22050[/]
    """
    target = Path(folder).expanduser().absolute()
    with open_project(context, name) as opened:
        number = exports.frozen(opened.project, version).number
        wish = ExportWish(str(opened.project.folder), number, str(target), settings.alone)
        title = f"Export {opened.item.name}"
        job = submitting.submit_export(opened.workspace, opened.item, wish, title)
        works.close(works.finish(opened.workspace, opened.item, job, background, as_json), as_json)


def _settled(workspace: Workspace, name: str, hear: Hear, cut: Cut) -> dict[str, Checked]:
    return {
        "hear": works.settled(workspace, name, hear),
        "cut": works.settled(workspace, name, cut),
    }


# ---- What is shown ----


def _show_now(opened: Opened, with_clips: bool, as_json: bool) -> None:
    seen = overview.clips_of(opened.project)
    shown = overview.overview(opened.project, seen)
    if as_json:
        facts = data_views.overview_facts(opened.item, shown)
        if with_clips:
            facts["clips"] = [data_views.clip_facts(each) for each in seen]
        terminal.print_json(facts)
        return
    typer.echo(data_views.overview_page(opened.item, shown))
    terminal.print_table(data_views.RECORDING_HEADS, data_views.recording_rows(shown.recordings))
    doubtful = data_views.reason_rows(seen)
    if with_clips:
        terminal.print_table(data_views.CLIP_HEADS, data_views.clip_rows(seen))
    if doubtful:
        terminal.print_table(data_views.REASON_HEADS, doubtful)
    if shown.versions:
        terminal.print_table(data_views.VERSION_HEADS, data_views.version_rows(shown.versions))


def _show_version(opened: Opened, number: int, with_clips: bool, as_json: bool) -> None:
    versions = opened.project.versions
    version = versions.find(number)
    earlier = [each for each in versions.numbers() if each < number]
    before = versions.find(earlier[-1]) if earlier else None
    if as_json:
        facts: dict[str, Any] = data_views.version_facts(version)
        if before:
            facts["changed"] = asdict(datasets.compare(before.dataset, version.dataset))
        if with_clips:
            facts["clips"] = data_views.example_facts(version.dataset)
        terminal.print_json(facts)
        return
    typer.echo(data_views.version_page(version, before))
    if with_clips:
        rows = data_views.example_rows(version.dataset)
        terminal.print_table(data_views.EXAMPLE_HEADS, rows)
