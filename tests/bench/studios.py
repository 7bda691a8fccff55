"""A real studio and real jobs to be unkind to, in a workspace that is gone afterwards."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import psutil

from finetune.jobs import process
from finetune.jobs.events import Event, Said, from_line
from finetune.jobs.folder import JobFolder, code_path, read_lines
from finetune.jobs.outcome import Outcome
from finetune.jobs.process import Identity
from tests.bench.record import CannotMeasure
from tests.bench.work import BEGAN
from voices.workspace import Workspace, open_workspace

Value = TypeVar("Value")
# Many times what anything here takes; a measurement that waits longer has found something.
PATIENCE_SECONDS = 30.0
STRAY_SECONDS = 10.0


class Studio:
    """A studio in a process of its own."""

    def __init__(self, home: Path, port: int) -> None:
        self._port = port
        self._log = home.with_name("studio.log")
        argv = ["app", "--home", str(home), "--no-browser", "--port", str(port)]
        self.began = time.monotonic()
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", *argv],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **code_path()},
            )

    def jobs(self) -> set[str]:
        """The jobs it lists by now; none while it does not answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=5)
        try:
            connection.request("GET", "/timbre/health")
            answer = json.load(connection.getresponse())
        except (OSError, http.client.HTTPException, ValueError):
            return set()
        finally:
            connection.close()
        return {job["id"] for job in answer["jobs"]}

    @property
    def pid(self) -> int:
        return self._process.pid

    def age(self) -> float:
        return time.monotonic() - self.began

    def kill(self) -> None:
        """kill -9, without waiting for it to be gone."""
        if self._process.poll() is not None:
            said = self._log.read_text().strip().splitlines()[-1:]
            raise CannotMeasure(f"the studio ended by itself: {' '.join(said)}")
        self._process.kill()

    def wait(self) -> None:
        self._process.wait()


def a_free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@contextmanager
def short_lived_workspace() -> Iterator[Workspace]:
    """A workspace for one measurement: when it ends, its processes are ended and it is gone."""
    with tempfile.TemporaryDirectory(prefix="timbre-bench-", ignore_cleanup_errors=True) as work:
        workspace = open_workspace(Path(work, "home"))
        try:
            yield workspace
        finally:
            _end_everything(workspace)
            workspace.close()


def kill(known: Identity | None) -> None:
    """kill -9 on exactly this process, if it still is that one, and see it go."""
    if known is None or not process.lives(known):
        return
    try:
        psutil.Process(known.pid).kill()
    except psutil.NoSuchProcess:
        return
    wait_for(lambda: not process.lives(known))


def keeper_of(workspace: Workspace, folder: JobFolder) -> Identity | None:
    """The process beside a job, also when it has not said so itself yet."""
    row = workspace.store.row("SELECT keeper FROM jobs WHERE id = ?", folder.id)
    noted = Identity(**json.loads(row["keeper"])) if row and row["keeper"] else None
    said = folder.keeper()
    return said if process.lives(said) else noted


def events_of(folder: JobFolder) -> list[Event]:
    lines, _ = read_lines(folder.events_path, 0)
    return [event for event in map(from_line, lines) if event is not None]


def starts_of(folder: JobFolder) -> int:
    """How many processes have begun to do this job's work."""
    return sum(
        isinstance(event, Said) and event.text.startswith(BEGAN) for event in events_of(folder)
    )


def outcome_of(folder: JobFolder) -> Outcome:
    """Wait for a job's end."""
    found = wait_for(folder.outcome)
    if found is None:
        raise CannotMeasure(f"a job did not end in {PATIENCE_SECONDS:.0f} s: {folder.log_tail()}")
    return found


def wait_for_no_family(folder: JobFolder) -> list[psutil.Process]:
    """What is still there of a job's processes when it has had its time to go."""
    wait_for(lambda: not process.family(folder.id), STRAY_SECONDS)
    return process.family(folder.id)


def wait_for(what: Callable[[], Value], seconds: float = PATIENCE_SECONDS) -> Value:
    """Ask again and again until the answer is yes or the time is up; return the last answer."""
    deadline = time.monotonic() + seconds
    while not (found := what()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return found


def _end_everything(workspace: Workspace) -> None:
    folders = [JobFolder(path) for path in workspace.jobs.iterdir()]
    # A keeper starts the next job when its own has ended: no job may be left to start.
    with workspace.store.change() as store:
        store.execute("UPDATE jobs SET state = 'ended'")
    for folder in folders:
        kill(keeper_of(workspace, folder))
        process.kill(process.family(folder.id))
