"""The table of commands: the studio without one, and what else `launch.py` can do."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import webbrowser
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from app import (
    ROOT,
    clip_commands,
    data_commands,
    dataset_commands,
    model_commands,
    monitor_commands,
    plan_commands,
    recording_commands,
    speak_commands,
    studio,
    terminal,
    train_commands,
    views,
    voice_commands,
)
from app import doctor as checks
from app.door import EVERY_ADDRESS, LOOPBACK, new_token, rules_for
from app.options import Chosen, Json, open_workspace
from app.version import timbre_version
from engines.errors import StudioRunningError
from finetune.jobs import queue
from finetune.jobs.events import to_line
from voices import workspace as workspaces

DEFAULT_PORT = 7860

app = typer.Typer(
    add_completion=False,
    no_args_is_help=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
jobs_app = typer.Typer(help="See, stop and reorder long works.", no_args_is_help=True)
app.add_typer(data_commands.app)
app.add_typer(recording_commands.app, name="recordings")
app.add_typer(dataset_commands.app, name="dataset")
app.add_typer(clip_commands.app, name="clips")
app.add_typer(model_commands.app, name="models")
app.add_typer(monitor_commands.app)
app.add_typer(plan_commands.app)
app.add_typer(train_commands.app)
app.add_typer(train_commands.runs_app, name="runs")
app.add_typer(speak_commands.app)
app.add_typer(voice_commands.app, name="voices")
app.add_typer(jobs_app, name="jobs")

JobId = Annotated[str, typer.Argument(metavar="JOB", help="A job's id, or the beginning of it.")]


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    home: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder for everything of yours. [dim]Else TIMBRE_HOME, else workspace/.[/]",
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=1, max=65535, metavar="PORT", help=f"Port of the page, {DEFAULT_PORT} if free."
        ),
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address.")
    ] = False,
    listen: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Answer other computers too; needs a token.")
    ] = "127.0.0.1",
    token: Annotated[
        str | None,
        typer.Option(
            metavar="TOKEN", help="Who knows it may use the studio. One is made if left out."
        ),
    ] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Never use the network.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and leave.")
    ] = False,
) -> None:
    """
    Timbre turns recordings of a voice into a voice that speaks.

    Without a command it opens the studio in your browser.
    """
    if version:
        typer.echo(f"Timbre {timbre_version()}")
        raise typer.Exit
    if offline:
        os.environ.update(TIMBRE_OFFLINE="1", HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1")
    context.obj = Chosen(workspaces.home(home, os.environ, ROOT))
    if context.invoked_subcommand is None:
        open_studio(context.obj.home, port, listen, token, show=not no_browser)


def open_studio(
    root: Path, port: int | None, listen: str, token: str | None, *, show: bool
) -> None:
    """Open the studio that runs for this workspace, or start one."""

    def tell(url: str) -> None:
        shared = listen in EVERY_ADDRESS
        typer.echo(f"Timbre is at {studio.network_address(url) if shared else url}")
        typer.echo("Ctrl-C ends the studio; jobs that run go on.")
        if show:
            webbrowser.open(url)

    if url := studio.running(root):
        _show_running(url, show)
        if port is not None or listen not in LOOPBACK:
            typer.echo("--port and --listen hold for a new start: end that studio first.")
        return
    if token is None and listen not in LOOPBACK:
        token = new_token()
    rules = rules_for(listen, port or DEFAULT_PORT, token, socket.gethostname())
    try:
        studio.run(root, studio.Wishes(rules, exact_port=port is not None, tell=tell))
    except StudioRunningError:
        _show_running(studio.wait_for_the_other(root), show)


def _show_running(url: str, show: bool) -> None:
    typer.echo(f"Timbre runs already, at {url.partition('?')[0]}")
    if show:
        webbrowser.open(url)


@app.command()
def doctor(context: typer.Context, as_json: Json = False) -> None:
    """
    Check that this computer can do the work, and say what to do where it cannot.

    [dim]launch.py doctor · launch.py doctor --json[/]
    """
    found = list(checks.examine(context.obj.home, ROOT))
    usable = checks.usable(found)
    if as_json:
        terminal.print_json({"usable": usable, "checks": [asdict(check) for check in found]})
    else:
        terminal.print_table(views.CHECK_HEADS, views.check_rows(found))
    raise typer.Exit(0 if usable else 1)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def test(context: typer.Context) -> None:
    """
    Run ruff, mypy and pytest; what follows goes to pytest.

    [dim]launch.py test · launch.py test -k jobs -x[/]
    """
    from app import testing

    raise typer.Exit(testing.run(ROOT, context.args, offline="TIMBRE_OFFLINE" in os.environ))


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def bench(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Which one; [bold]list[/] names them.")],
    as_json: Json = False,
    on_gpu: Annotated[bool, typer.Option("--gpu", help="Measure what only a GPU shows.")] = False,
    record: Annotated[
        bool, typer.Option("--record", help="Keep the result in docs/performance.md.")
    ] = False,
) -> None:
    """
    Measure what is promised, side by side, and compare with the limits.

    [dim]launch.py bench list · launch.py bench kills · launch.py bench jobs --json[/]
    """
    flags = [
        flag
        for flag, wanted in (("--json", as_json), ("--gpu", on_gpu), ("--record", record))
        if wanted
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    argv = [sys.executable, "-m", "tests.bench", name, *flags, *context.args]
    raise typer.Exit(subprocess.call(argv, env=environment))


@jobs_app.command("list")
def jobs_list(context: typer.Context, as_json: Json = False) -> None:
    """List what runs, what waits, and what has ended."""
    with open_workspace(context) as workspace:
        found = queue.jobs(workspace)
        if as_json:
            terminal.print_json([views.job_facts(job) for job in found])
        else:
            terminal.print_table(views.JOB_HEADS, views.job_rows(found))


@jobs_app.command("show")
def jobs_show(context: typer.Context, job_id: JobId, as_json: Json = False) -> None:
    """Show one: its state, its command, how it ended and the end of its log."""
    with open_workspace(context) as workspace:
        job = queue.find(workspace, job_id)
        if as_json:
            terminal.print_json(views.job_facts(job))
        else:
            typer.echo(views.job_page(job))


@jobs_app.command("follow")
def jobs_follow(context: typer.Context, job_id: JobId, as_json: Json = False) -> None:
    """
    Follow one until it ends. Ctrl-C leaves; the job goes on.

    [dim]launch.py jobs follow 3fe5[/]
    """
    with open_workspace(context) as workspace:
        job = queue.find(workspace, job_id)
        for event in job.folder.follow(meanwhile=lambda: queue.advance(workspace)):
            typer.echo(to_line(event) if as_json else views.event_line(event))
        ended = queue.find(workspace, job.id).outcome
        raise typer.Exit(0 if ended and ended.cause in ("finished", "stopped") else 1)


@jobs_app.command("stop")
def jobs_stop(context: typer.Context, job_id: JobId, as_json: Json = False) -> None:
    """Let one save and end; a waiting one leaves the queue."""
    with open_workspace(context) as workspace:
        job = queue.stop(workspace, job_id)
        if as_json:
            terminal.print_json(views.job_facts(job))
        else:
            typer.echo(f"{job.request.title}: {views.state(job)}")


@jobs_app.command("move")
def jobs_move(
    context: typer.Context,
    job_id: JobId,
    direction: Annotated[queue.Direction, typer.Argument(help="Where to.")],
    as_json: Json = False,
) -> None:
    """
    Change when the turn of a waiting one comes.

    [dim]launch.py jobs move 3fe5 first[/]
    """
    with open_workspace(context) as workspace:
        queue.move(workspace, job_id, direction)
    jobs_list(context, as_json)


def main() -> None:
    """Run what was typed; a problem becomes a sentence and an exit code."""
    terminal.run(app)
