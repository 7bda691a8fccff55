"""A job as the terminal follows it: its words as lines, its progress as one line that changes."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TextIO

import typer

from app import views
from finetune.jobs import queue
from finetune.jobs.events import (
    Chosen,
    Event,
    Measured,
    Planned,
    Progress,
    Said,
    Sampled,
    Saved,
    Step,
)
from finetune.jobs.queue import Job
from voices.workspace import Workspace

PIPE_SECONDS = 3.0
"""How often progress is a line where lines cannot be rewritten."""


class Lines:
    """Where a job's words go."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._rewrites = stream.isatty()
        self._width = 0
        self._told_at = 0.0

    def show(self, event: Event) -> None:
        """Show what was said and how far it is; how it ended is for whoever followed to say."""
        match event:
            case Progress() | Step():
                self.progress(event)
            case Said() | Planned() | Chosen() | Measured() | Sampled() | Saved():
                self.say(views.event_line(event))

    def say(self, text: str) -> None:
        self.clear()
        typer.echo(text, file=self._stream)

    def progress(self, event: Progress | Step) -> None:
        line = views.event_line(event)
        if self._rewrites:
            line = line[: shutil.get_terminal_size().columns - 1]
            typer.echo(f"\r{line.ljust(self._width)}", file=self._stream, nl=False)
            self._width = len(line)
        elif time.monotonic() - self._told_at >= PIPE_SECONDS:
            self._told_at = time.monotonic()
            typer.echo(line, file=self._stream)

    def clear(self) -> None:
        """Wipe the line that changes, so that another can stand there."""
        if self._width:
            typer.echo(f"\r{' ' * self._width}\r", file=self._stream, nl=False)
            self._width = 0


def follow(workspace: Workspace, job: Job, *, quiet_output: bool) -> Job:
    """Follow a job to its end and return it as it is then. Ctrl-C leaves, and the job goes on."""
    lines = Lines(sys.stderr if quiet_output else sys.stdout)
    if job.state == "waiting":
        lines.say(f"It waits for its turn, as job {job.id}.")
    try:
        for event in job.folder.follow(meanwhile=lambda: queue.advance(workspace)):
            lines.show(event)
    except KeyboardInterrupt:
        lines.clear()
        typer.echo(f"{job.request.title} goes on. {how_to_see(job)}", err=True)
        raise
    lines.clear()
    return queue.find(workspace, job.id)


def how_to_see(job: Job) -> str:
    """What to type to see a job again, or to end it."""
    return f"`launch.py jobs follow {job.id[:4]}` shows it, `launch.py jobs stop {job.id[:4]}` ends it."


def how_to_go_on(job: Job) -> str:
    """What to type to go on with what was stopped; empty for what does not go on."""
    if job.outcome is None or job.outcome.cause != "stopped":
        return ""
    if job.request.kind == "train":
        return "`launch.py runs resume` goes on there."
    return "The same command goes on there." if job.request.kind in ("build", "make") else ""


def how_to_look(job: Job) -> str:
    """What to type to read what a job left behind."""
    return f"`launch.py jobs show {job.id[:4]}` has its log."
