"""A job runs on while one studio after another is killed; each new one must find it."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence

from finetune.jobs import queue
from finetune.jobs.events import Event, Progress, Stopped
from finetune.jobs.folder import JobFolder, code_path
from tests.bench import work
from tests.bench.progress import Progress as Telling
from tests.bench.record import CannotMeasure, Figure, Measured, Settings
from tests.bench.studios import (
    Studio,
    a_free_port,
    events_of,
    outcome_of,
    short_lived_workspace,
    starts_of,
    wait_for,
    wait_for_no_family,
)
from tests.bench.timing import spread
from voices.workspace import Workspace

ROUNDS = 100
SEED = 20261120
SHORTEST_LIFE_S, LONGEST_LIFE_S = 0.1, 6.0
STEP_SECONDS = 0.02
# One that has not answered by then counts as having taken so long.
PATIENCE_S = 2.0

FIGURES = (
    Figure("studio_kills", "kill -9 of the studio while a job runs"),
    Figure("found_s_max", "longest time from a start to the job in its list, seconds", "< 2"),
    Figure("found_s_median", "the same, the median"),
    Figure("found_s_low", "the same: a quarter of them lies below"),
    Figure("found_s_high", "the same: a quarter of them lies above"),
    Figure("found_rounds", "studios that lived long enough to tell"),
    Figure("steps", "steps the job did meanwhile"),
    Figure("steps_lost", "of these, not in its events, or not in order", "== 0"),
    Figure("longest_stall_s", "longest time for one step of 0.02 s"),
    Figure("workers_started", "processes that did the job's work", "== 1"),
    Figure("stops_after_reattach", "it stopped with its last word, asked by a new process", "== 1"),
)


def measure(settings: Settings, progress: Telling) -> Measured:
    with short_lived_workspace() as workspace:
        job = queue.submit(workspace, work.request("tick", STEP_SECONDS)).folder
        if wait_for(job.progress) is None:
            raise CannotMeasure(f"the job did not start: {job.log_tail()}")
        lives = planned_lives(settings.rounds or ROUNDS)
        found = _kill_studios(workspace, job, lives, progress)
        stopped = _stop_from_outside(workspace, job)
        return Measured(
            {
                "studio_kills": len(lives),
                **_of_finding(found),
                **_of_the_job(job),
                "stops_after_reattach": int(stopped),
                "strays": len(wait_for_no_family(job)),
            }
        )


def planned_lives(rounds: int) -> list[float]:
    """How long each studio lives: more of them short, where a start is most easily hurt."""
    luck = random.Random(SEED)
    reach = LONGEST_LIFE_S - SHORTEST_LIFE_S
    return [SHORTEST_LIFE_S + reach * luck.random() ** 1.7 for _ in range(rounds)]


def steps_lost(events: Sequence[Event], last: int) -> int:
    """How many of the steps 1..last are missing, told twice or out of their order."""
    told = [int(event.done) for event in events if isinstance(event, Progress)]
    misplaced = sum(later != earlier + 1 for earlier, later in zip([0, *told], told, strict=False))
    return len(set(range(1, last + 1)) - set(told)) or misplaced


def _kill_studios(
    workspace: Workspace, job: JobFolder, lives: list[float], progress: Telling
) -> list[float]:
    found, port, before = [], a_free_port(), None
    for life in progress.through(lives, "kills of the studio"):
        studio = Studio(workspace.root, port)
        if before is not None:
            before.wait()
        seconds = _seconds_to_find(studio, job, life)
        if seconds is not None:
            found.append(seconds)
        time.sleep(max(0.0, life - studio.age()))
        studio.kill()
        before = studio
    if before is not None:
        before.wait()
    return found


def _seconds_to_find(studio: Studio, job: JobFolder, life: float) -> float | None:
    """From its start to the job in its list; None when it did not live long enough to tell."""
    while studio.age() < life:
        if job.id in studio.jobs():
            return studio.age()
        time.sleep(0.01)
    return life if life > PATIENCE_S else None


def _stop_from_outside(workspace: Workspace, job: JobFolder) -> bool:
    """Ask for a stop as a person would, from a process that knows nothing but the workspace."""
    asked = [sys.executable, "-m", "app", "--home", str(workspace.root), "jobs", "stop", job.id]
    environment = {**os.environ, **code_path()}
    subprocess.run(asked, check=True, stdout=subprocess.DEVNULL, env=environment)
    return outcome_of(job).cause == "stopped" and isinstance(job.last_word(), Stopped)


def _of_finding(found: list[float]) -> dict[str, float]:
    told: dict[str, float] = {"found_rounds": len(found)}
    if found:
        middle = spread(found)
        told |= {"found_s_max": max(found), "found_s_median": middle.median}
        told |= {"found_s_low": middle.low, "found_s_high": middle.high}
    return told


def _of_the_job(job: JobFolder) -> dict[str, float]:
    """What the job's own account says of it, its last word being the steps and the longest one."""
    last = job.last_word()
    steps, longest = last.text.split() if isinstance(last, Stopped) else ("0", "0")
    return {
        "steps": int(steps),
        "steps_lost": steps_lost(events_of(job), int(steps)),
        "longest_stall_s": float(longest),
        "workers_started": starts_of(job),
    }
