"""The same job asked for by two processes, by two threads in each, at the same moment."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO

from finetune.jobs import queue
from finetune.jobs.folder import JobFolder, code_path
from tests.bench.progress import Progress
from tests.bench.record import CannotMeasure, Figure, Measured, Settings
from tests.bench.studios import (
    outcome_of,
    short_lived_workspace,
    starts_of,
    wait_for,
    wait_for_no_family,
)
from voices.workspace import Workspace

ROUNDS = 50
PROCESSES = 2

FIGURES = (
    Figure("double_starts", "times one job was asked for four times at once"),
    Figure("jobs_per_double_start_max", "the most jobs that came of one of them", "== 1"),
    Figure("workers_per_double_start_max", "the most processes that did its work", "== 1"),
)


def measure(settings: Settings, progress: Progress) -> Measured:
    rounds = settings.rounds or ROUNDS
    made, worked, strays = [], [], 0
    with short_lived_workspace() as workspace, ExitStack() as stack:
        submitters = [stack.enter_context(_submitter(workspace)) for _ in range(PROCESSES)]
        for number in progress.through(range(rounds), "double starts"):
            before = set(workspace.jobs.iterdir())
            asked = {job_id for ids in _ask(submitters, f"double {number}") for job_id in ids}
            jobs = [JobFolder(path) for path in set(workspace.jobs.iterdir()) - before]
            made.append(max(len(jobs), len(asked)))
            worked.append(sum(_starts_until_stopped(workspace, job) for job in jobs))
            strays += sum(len(wait_for_no_family(job)) for job in jobs)
    return Measured(
        {
            "double_starts": rounds,
            "jobs_per_double_start_max": max(made),
            "workers_per_double_start_max": max(worked),
            "strays": strays,
        }
    )


Submitter = tuple[IO[str], IO[str]]


@contextmanager
def _submitter(workspace: Workspace) -> Iterator[Submitter]:
    """A process to write a wish to and read the jobs' ids from; it ends with the block."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.bench.submitter", str(workspace.root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **code_path()},
        text=True,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        yield process.stdin, process.stdout


def _ask(submitters: list[Submitter], once: str) -> list[list[str]]:
    for wish, _ in submitters:
        wish.write(f"{once}\n")
    for wish, _ in submitters:
        wish.flush()
    found = [answer.readline().split() for _, answer in submitters]
    if not all(found):
        raise CannotMeasure("a process that asks for jobs ended by itself; see above")
    return found


def _starts_until_stopped(workspace: Workspace, job: JobFolder) -> int:
    """Let it work, stop it, and tell how many processes have worked."""
    wait_for(job.progress)
    queue.stop(workspace, job.id)
    outcome_of(job)
    return starts_of(job)
