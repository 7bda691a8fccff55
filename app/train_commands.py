"""Commands for training: begin a run, see it, stop it, go on, take the voice; and all in one."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

import engines
from app import following, run_views, terminal, works
from app.options import (
    Background,
    Changed,
    Cut,
    Download,
    Encoding,
    Hear,
    Json,
    ProjectName,
    Text,
    Whisper,
    open_workspace,
    with_settings,
)
from engines.base import Engine
from engines.errors import JobError, NotFoundError
from finetune import planning, projects, runs, submitting, voice_export
from finetune.jobs import queue
from finetune.jobs.queue import Job
from finetune.planning import Wished
from finetune.runs import AT_WORK, Plan, Run
from finetune.settings import TrainSettings
from finetune.versions import Version
from voices import shipped
from voices.shelf import Item
from voices.workspace import Workspace

app = typer.Typer()
runs_app = typer.Typer(
    help="See trainings, stop them, go on with them, take the voices.", no_args_is_help=True
)

USUAL_ENGINE = "xtts"
RunName = Annotated[
    str, typer.Argument(metavar="RUN", help="Its name, its id, or the beginning of that.")
]
EngineName = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="What is to learn. Else what the project trained last, or xtts.",
    ),
]
BaseFolder = Annotated[
    str,
    typer.Option(
        "--base", metavar="DIR", help="The weights to start from. Else those that were downloaded."
    ),
]
LoraRank = Annotated[
    int | None,
    typer.Option(metavar="R", help="Learn small additions of this rank, not all weights."),
]
More = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="Any other setting, of the engine's too; repeatable."
    ),
]
Sentence = Annotated[
    list[str] | None,
    typer.Option(metavar="TEXT", help="Spoken now and then to hear how it gets on; repeatable."),
]
Transcriber = Annotated[
    str, typer.Option(metavar="SIZE|FOLDER", help="A Whisper that judges what is spoken.")
]
Whose = Annotated[str, typer.Option(metavar="NAME", help="Whose voice it is; kept with it.")]
Agreed = Annotated[
    bool | None,
    typer.Option("--agreed/--not-agreed", help="Whether they agree to its being used."),
]
Learn = Annotated[Changed[TrainSettings], TrainSettings]


@app.command()
@with_settings
def train(
    context: typer.Context,
    project: ProjectName,
    learn: Learn,
    engine: EngineName = "",
    base: BaseFolder = "",
    version: Annotated[
        int | None, typer.Option(metavar="N", help="A frozen dataset. Else the newest.")
    ] = None,
    name: Annotated[
        str, typer.Option(metavar="NAME", help="Of the run and its voice. Else the project's.")
    ] = "",
    lora_rank: LoraRank = None,
    more: More = None,
    sentence: Sentence = None,
    transcriber: Transcriber = "",
    from_run: Annotated[
        str,
        typer.Option("--from", metavar="RUN", help="Start from the best weights of that run."),
    ] = "",
    mix: Annotated[
        list[str] | None,
        typer.Option(metavar="PROJECT", help="Learn from it too, against forgetting; repeatable."),
    ] = None,
    mix_share: Annotated[
        float,
        typer.Option(metavar="SHARE", min=0.01, max=0.9, help="How much of each epoch that is."),
    ] = Plan.extra_share,
    whose: Whose = "",
    agreed: Agreed = None,
    background: Background = False,
    as_json: Json = False,
) -> None:
    """
    Train a voice on a project's dataset; what is not chosen is as the engine advises.

    [dim]launch.py train --project Ada · … --minutes 30 · … --from Ada --name "Ada 2"[/]
    """
    with open_workspace(context) as workspace:
        item = projects.shelf(workspace).find(project)
        chosen = engine_for(workspace, item, engine)
        wished = wished_for(workspace, chosen, learn, lora_rank, more, sentence, transcriber)
        wished = replace(
            wished, base=base, name=_name(workspace, item, name), continues=from_run,
            mix=tuple(mix or ()), mix_share=mix_share, whose=whose, agreed=agreed,
        )  # fmt: skip
        plan, learned = planned_for(workspace, item, chosen, wished, version)
        folder = runs.create(workspace, plan)
        lines = following.Lines(sys.stderr if as_json else sys.stdout)
        lines.say(run_views.begun(folder.id, plan, chosen, learned.dataset))
        job = submitting.submit_training(workspace, folder)
        _follow(workspace, job, folder.id, background, as_json)


@app.command()
@with_settings
def make(
    context: typer.Context,
    voice: Annotated[
        str, typer.Argument(metavar="VOICE", help="Its name; the project is called the same.")
    ],
    hear: Hear,
    cut: Cut,
    learn: Learn,
    recordings: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RECORDINGS...]",
            help="Files and folders of one voice. Else the demo that ships with Timbre.",
        ),
    ] = None,
    engine: Annotated[
        str, typer.Option(metavar="NAME", help="What is to learn. Else xtts; of the demo, pocket.")
    ] = "",
    text: Text = "",
    encoding: Encoding = "",
    whisper: Whisper = "",
    download: Download = False,
    base: BaseFolder = "",
    lora_rank: LoraRank = None,
    more: More = None,
    sentence: Sentence = None,
    transcriber: Transcriber = "",
    whose: Whose = "",
    agreed: Agreed = None,
    background: Background = False,
    as_json: Json = False,
) -> None:
    """
    Do all of it, from recordings to a voice: dataset, training, the finished voice.

    Stopped or cut off, the same command goes on where it was; clips that were corrected since are
    another dataset and another voice.

    [dim]launch.py make Demo · launch.py make Ada talks/ --language en --download ·
    … --text script.txt --engine pocket[/]
    """
    if not recordings:
        _refuse_text_alone(text)
        demo = shipped.demo()
        recordings, text = [str(demo.recording)], str(demo.script)
        hear, engine = hear.with_default("language", demo.language), engine or "pocket"
    sources = works.there(recordings)
    said = works.there([text])[0] if text else ""
    chosen = engines.find(engine or USUAL_ENGINE)
    with open_workspace(context) as workspace:
        wished = wished_for(workspace, chosen, learn, lora_rank, more, sentence, transcriber)
        hearing = works.settled(workspace, voice, hear)
        cutting = planning.within(chosen, works.settled(workspace, voice, cut))
        heard = works.whisper(workspace, whisper, hear, download) if whisper or not text else ""
        _refuse_before_a_project(workspace, chosen, base, hearing.language)
        item = works.found_or_made(workspace, voice)
        plan = planning.draft(
            workspace, item, chosen, replace(wished, base=base, whose=whose, agreed=agreed)
        )
        wish = submitting.wish_for(
            workspace,
            item,
            sources=sources,
            text=said,
            encoding=encoding,
            whisper=heard,
            download=download,
            freeze=True,
            hear=hearing,
            cut=cutting,
        )
        job = submitting.submit_making(workspace, item, wish, plan)
        facts = works.finish(workspace, item, job, background, as_json, _made(workspace))
        works.close(facts, as_json)


# ---- Runs ----


@runs_app.command("list")
def list_(context: typer.Context, as_json: Json = False) -> None:
    """
    List the trainings, the newest first.

    [dim]launch.py runs list · launch.py runs list --json[/]
    """
    with open_workspace(context) as workspace:
        found = runs.all(workspace)
        if as_json:
            terminal.print_json([run_views.run_facts(each) for each in found])
        else:
            terminal.print_table(run_views.RUN_HEADS, run_views.run_rows(found))


@runs_app.command("show")
def show(context: typer.Context, run: RunName, as_json: Json = False) -> None:
    """
    Show one: what was chosen, how it does, its samples, its best weights and why.

    [dim]launch.py runs show Ada[/]
    """
    with open_workspace(context) as workspace:
        found = runs.find(workspace, run)
        told = runs.history(found.folder)
        if as_json:
            facts = {**run_views.run_facts(found), **run_views.history_facts(told)}
            terminal.print_json(facts)
        else:
            typer.echo(run_views.run_page(found, told))


@runs_app.command("follow")
def follow(context: typer.Context, run: RunName, as_json: Json = False) -> None:
    """
    Follow one until it ends. Ctrl-C leaves; the training goes on.

    [dim]launch.py runs follow Ada[/]
    """
    with open_workspace(context) as workspace:
        found = runs.find(workspace, run)
        if found.job is None:
            raise JobError(f"{found.plan.name} was never started.", run_views.what_next(found))
        _follow(workspace, found.job, found.id, False, as_json)


@runs_app.command("stop")
def stop(context: typer.Context, run: RunName, as_json: Json = False) -> None:
    """
    Let one save and end; a waiting one leaves the queue. `runs resume` goes on with it.

    [dim]launch.py runs stop Ada[/]
    """
    with open_workspace(context) as workspace:
        found = runs.find(workspace, run)
        if found.job is None or found.state not in AT_WORK:
            raise JobError(_it_is(found), "There is nothing to stop.")
        queue.stop(workspace, found.job.id)
        _show_state(workspace, found, as_json)


@runs_app.command("resume")
def resume(
    context: typer.Context, run: RunName, background: Background = False, as_json: Json = False
) -> None:
    """
    Go on with one that was stopped, cut off or failed, exactly where it was saved.

    [dim]launch.py runs resume Ada[/]
    """
    with open_workspace(context) as workspace:
        found = runs.find(workspace, run)
        if found.state in (*AT_WORK, "finished"):
            raise JobError(_it_is(found), run_views.what_next(found))
        planning.refuse_unusable(engines.find(found.plan.engine))
        job = submitting.submit_training(workspace, found.folder)
        _follow(workspace, job, found.id, background, as_json)


@runs_app.command("export")
def export(
    context: typer.Context,
    run: RunName,
    folder: Annotated[
        str, typer.Argument(metavar="FOLDER", help="A folder that is not there yet.")
    ],
    form: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="PROGRAM",
            help="Written for that: coqui of xtts, piper of pocket. Else for the engine's own.",
        ),
    ] = "",
    as_json: Json = False,
) -> None:
    """
    Write a finished voice as the engine's own tools load it, with its reference in wavs/.

    [dim]launch.py runs export Ada ../ada-voice · … --for piper[/]
    """
    target = Path(folder).expanduser().absolute()
    with open_workspace(context) as workspace:
        found = runs.find(workspace, run)
        if not found.folder.is_finished:
            raise NotFoundError(
                f"{_it_is(found)} There is no voice of it yet.", run_views.what_next(found)
            )
        voice_export.export_voice(found.folder.voice, target, form)
        if as_json:
            terminal.print_json({"run": found.id, "folder": str(target)})
        else:
            typer.echo(f"The voice of {found.plan.name} is in {target}.")


@runs_app.command("sample")
def sample(context: typer.Context, run: RunName, as_json: Json = False) -> None:
    """
    Ask a training to speak its sentences now, without waiting for the next time.

    [dim]launch.py runs sample Ada[/]
    """
    _ask(context, run, "sample", "speaks its sentences after this step", as_json)


@runs_app.command("save")
def save(context: typer.Context, run: RunName, as_json: Json = False) -> None:
    """
    Ask a training to keep a checkpoint now.

    [dim]launch.py runs save Ada[/]
    """
    _ask(context, run, "save", "is saved after this step", as_json)


# ---- What they have in common ----


def engine_for(workspace: Workspace, item: Item, typed: str) -> Engine:
    """The one that was named, or else the one that the project trained last."""
    mine = (each for each in runs.all(workspace) if each.plan.project == item.id)
    newest = next(mine, None)
    return engines.find(typed or (newest.plan.engine if newest else USUAL_ENGINE))


def wished_for(
    workspace: Workspace,
    engine: Engine,
    learn: Changed[TrainSettings],
    lora_rank: int | None,
    more: list[str] | None,
    sentences: list[str] | None,
    transcriber: str,
) -> Wished:
    """What was typed of a training, its settings checked."""
    typed = {**learn.typed, **({} if lora_rank is None else {"lora_rank": lora_rank})}
    settings, own = planning.settings_of(engine, typed, more or [])
    models = submitting.models_folder(workspace)
    return Wished(
        sentences=tuple(sentences or ()),
        transcriber=submitting.which_whisper(transcriber, models) if transcriber else "",
        train=settings,
        engine_settings=own,
    )


def _name(workspace: Workspace, item: Item, typed: str) -> str:
    if typed:
        planning.refuse_taken(workspace, typed)
    return typed or planning.free_name(workspace, item.name)


def planned_for(
    workspace: Workspace, item: Item, engine: Engine, wished: Wished, number: int | None
) -> tuple[Plan, Version]:
    """The whole plan, and the dataset it is about."""
    planning.refuse_unusable(engine)
    with projects.open_project(projects.folder_of(workspace, item)) as project:
        # Of a person who begins, the dataset is missing first, and then the base.
        fitting = planning.dataset_for(engine, item.name, project, number)
        plan = planning.draft(workspace, item, engine, wished)
        return replace(plan, version=fitting.number), fitting


def _refuse_text_alone(text: str) -> None:
    """A text that was brought is never quietly another one."""
    if text:
        raise NotFoundError(
            f"{text} is a text without recordings.",
            "Name the recordings too; without both, a voice is made of the demo.",
        )


def _refuse_before_a_project(
    workspace: Workspace, engine: Engine, base: str, language: str
) -> None:
    """What cannot be made leaves no empty project behind."""
    planning.refuse_unusable(engine)
    if language:
        planning.refuse_language(engine, language)
    planning.find_base(workspace, engine, base)


def _follow(workspace: Workspace, job: Job, run_id: str, background: bool, as_json: bool) -> None:
    """Follow a training to its end, and say what came of it."""

    def about(job: Job) -> dict[str, Any]:
        return {"run": run_views.run_facts(runs.find(workspace, run_id))}

    item = projects.shelf(workspace).find(runs.find(workspace, run_id).plan.project)
    works.close(works.finish(workspace, item, job, background, as_json, about), as_json)


def _made(workspace: Workspace) -> works.Report:
    """What came of a making: what was built, and the run, once there is one."""

    def about(job: Job) -> dict[str, Any]:
        report = submitting.report_of(job)
        run_id = report.get("run")
        run = run_views.run_facts(runs.find(workspace, run_id)) if run_id else None
        return {**report, "run": run}

    return about


def _ask(context: typer.Context, named: str, what: str, answer: str, as_json: bool) -> None:
    with open_workspace(context) as workspace:
        run = runs.find(workspace, named)
        if run.job is None or run.state != "running":
            raise JobError(_it_is(run), "Only a training that runs can be asked.")
        run.job.folder.ask(what)
        if as_json:
            terminal.print_json({"run": run.id, "asked": what})
        else:
            typer.echo(f"{run.plan.name} {answer}.")


def _show_state(workspace: Workspace, run: Run, as_json: bool) -> None:
    now = runs.find(workspace, run.id)
    if as_json:
        terminal.print_json(run_views.run_facts(now))
    else:
        typer.echo(f"{now.plan.name}: {run_views.state(now)}")


def _it_is(run: Run) -> str:
    return f"{run.plan.name} ({run.id[:4]}): {run_views.state(run)}."
