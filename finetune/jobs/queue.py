"""
The queue: one job at a time for each GPU, the rest in order, whoever is there to look after it.

Any process may call `advance`: the studio does now and then, a keeper does when its job has
ended. The store's transaction sees to it that each job is started once.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from dataclasses import asdict, dataclass, replace
from typing import Literal

from engines.errors import JobError, NotFoundError, StudioError
from finetune.jobs import process
from finetune.jobs.events import Progress
from finetune.jobs.folder import JobFolder, Request, code_path
from finetune.jobs.outcome import Outcome, failure_to_start
from voices import names
from voices.workspace import Workspace, now

State = Literal["waiting", "running", "stopping", "ended"]
Direction = Literal["first", "up", "down", "last"]
LISTED_ENDED = 50


@dataclass(frozen=True, slots=True)
class Job:
    """A job as a person sees it in the list."""

    folder: JobFolder
    request: Request
    state: State
    outcome: Outcome | None
    queued_at: str

    @property
    def id(self) -> str:
        return self.folder.id

    @property
    def cause(self) -> str:
        """How it ended, by name; empty while it has not."""
        return self.outcome.cause if self.outcome else ""

    @property
    def silent(self) -> bool:
        """Whether it has not answered for two minutes."""
        return self.folder.silent_path.exists()

    def progress(self) -> Progress | None:
        return self.folder.progress()


def submit(workspace: Workspace, request: Request) -> Job:
    """Queue a job and start it if it can. A second request with the same `once` gets the first."""
    advance(workspace)  # so that one that has just ended is known to have
    folder = JobFolder(workspace.jobs / names.new_id())
    folder.write_request(replace(request, variables=process.chosen_here()))
    try:
        same = _enter(workspace, folder, request)
    except StudioError:  # a full disk, say: what is not listed must not lie about
        folder.discard()
        raise
    if same is not None:
        folder.discard()
        return find(workspace, same)
    advance(workspace)
    return find(workspace, folder.id)


def advance(workspace: Workspace) -> None:
    """Start what can start, note what has ended, and give a job without a keeper a new one."""
    with workspace.store.change() as store:
        taken: set[str] = set()
        for row in _in_order(store, "started") + _in_order(store, "waiting"):
            folder = JobFolder(workspace.jobs / row["id"])
            free = not row["needs"] or row["needs"] not in taken
            if folder.outcome() is not None:
                _note(store, folder, "ended")
            elif _is_kept(row, folder):
                _note(store, folder, "started")
                taken.add(row["needs"])
            elif not folder.is_readable():
                _note(store, folder, "ended")
            elif row["state"] == "started" or free:
                try:
                    _start_keeper(store, folder)
                    taken.add(row["needs"])
                except OSError as error:  # no process, no memory: the others must not wait for it
                    folder.write_outcome(failure_to_start(error))
                    _note(store, folder, "ended")


def jobs(workspace: Workspace, ended: int = LISTED_ENDED) -> list[Job]:
    """List the jobs: those at work, those waiting in order, then the newest of the ended."""
    rows = workspace.store.rows(
        "SELECT * FROM jobs WHERE state != 'ended' ORDER BY state = 'waiting', place"
    )
    rows += workspace.store.rows(
        "SELECT * FROM jobs WHERE state = 'ended' ORDER BY rowid DESC LIMIT ?", ended
    )
    return [_job(workspace, row) for row in rows]


def find(workspace: Workspace, job_id: str) -> Job:
    """Find a job by its id or the beginning of it."""
    known = job_id.isascii()  # ids are; what is not may not even be text that can be asked for
    rows = workspace.store.rows(
        "SELECT * FROM jobs WHERE substr(id, 1, ?) = ?", len(job_id), job_id if known else ""
    )
    if len(rows) != 1 or not job_id:
        found = "more than one job" if len(rows) > 1 else "no job"
        raise NotFoundError(
            f"There is {found} whose id begins with {job_id!r}.", "`jobs list` shows them all."
        )
    return _job(workspace, rows[0])


def stop(workspace: Workspace, job_id: str) -> Job:
    """Ask a running job to save and end; take a waiting one out of the queue."""
    job = find(workspace, job_id)
    if job.state == "ended":
        raise JobError(f"{job.request.title} has ended already.", "There is nothing to stop.")
    with workspace.store.change() as store:
        [row] = store.execute("SELECT * FROM jobs WHERE id = ?", (job.id,)).fetchall()
        begun = _is_kept(row, job.folder) or job.folder.was_begun()
        if not begun:
            job.folder.write_outcome(Outcome("stopped", "Taken out of the queue."))
            _note(store, job.folder, "ended")
    if begun:
        job.folder.ask_to_stop()
    advance(workspace)
    return find(workspace, job.id)


def move(workspace: Workspace, job_id: str, direction: Direction) -> None:
    """Change when a waiting job's turn comes."""
    job = find(workspace, job_id)
    with workspace.store.change() as store:
        waiting = [row["id"] for row in _in_order(store, "waiting")]
        if job.id not in waiting:
            raise JobError(
                f"{job.request.title} is not waiting.", "Only waiting jobs can be moved."
            )
        at = waiting.index(job.id)
        waiting.remove(job.id)
        to = {"first": 0, "up": max(at - 1, 0), "down": at + 1, "last": len(waiting)}[direction]
        waiting.insert(to, job.id)
        first = store.execute("SELECT min(place) FROM jobs WHERE state = 'waiting'").fetchone()[0]
        for place, waiting_id in enumerate(waiting, first):
            store.execute("UPDATE jobs SET place = ? WHERE id = ?", (place, waiting_id))


def _start_keeper(store: sqlite3.Connection, folder: JobFolder) -> None:
    """
    Start a keeper, before the commit.

    Cut off in between, the job is found waiting but kept; a second keeper would find the lock.
    """
    argv = [sys.executable, "-m", "finetune.jobs.keeper", str(folder.path)]
    keeper = process.start_detached(argv, folder.path, code_path(), folder.log_path)
    store.execute(
        "UPDATE jobs SET state = 'started', keeper = ? WHERE id = ?",
        (json.dumps(asdict(keeper)), folder.id),
    )


def _note(store: sqlite3.Connection, folder: JobFolder, state: str) -> None:
    store.execute("UPDATE jobs SET state = ? WHERE id = ?", (state, folder.id))


def _is_kept(row: sqlite3.Row, folder: JobFolder) -> bool:
    """Whether a keeper stays beside the job: the one noted here at its start, too early for a
    word of its own, or the one that says in the folder that it does."""
    noted = process.Identity(**json.loads(row["keeper"])) if row["keeper"] else None
    return process.lives(noted) or process.lives(folder.keeper())


def _enter(workspace: Workspace, folder: JobFolder, request: Request) -> str | None:
    """Put a job at the end of the queue, or give the id of the one that is the same wish."""
    with workspace.store.change() as store:
        same = _same(store, request)
        if same is None:
            store.execute(
                "INSERT INTO jobs SELECT ?, coalesce(max(place), 0) + 1, ?, ?, 'waiting', '', ?"
                " FROM jobs",
                (folder.id, request.needs, request.once, now()),
            )
    return same


def _same(store: sqlite3.Connection, request: Request) -> str | None:
    """The id of an unended job that is the same wish."""
    row = store.execute(
        "SELECT id FROM jobs WHERE once = ? AND once != '' AND state != 'ended'", (request.once,)
    ).fetchone()
    return row["id"] if row else None


def _in_order(store: sqlite3.Connection, state: str) -> list[sqlite3.Row]:
    return store.execute("SELECT * FROM jobs WHERE state = ? ORDER BY place", (state,)).fetchall()


def _job(workspace: Workspace, row: sqlite3.Row) -> Job:
    folder = JobFolder(workspace.jobs / row["id"])
    if not folder.is_readable():
        gone = Outcome("interrupted", "Its folder was deleted or damaged.")
        return Job(folder, Request("unknown", folder.id, ()), "ended", gone, row["queued_at"])
    outcome = folder.outcome()
    return Job(folder, folder.request(), _state(folder, row, outcome), outcome, row["queued_at"])


def _state(folder: JobFolder, row: sqlite3.Row, outcome: Outcome | None) -> State:
    if outcome is not None:
        return "ended"
    if row["state"] == "waiting":
        return "waiting"
    return "stopping" if folder.stop_asked() else "running"
