"""Studio, keeper and worker killed in every order: nothing strays, nothing starts twice."""

from __future__ import annotations

import itertools
import random
import time
from dataclasses import dataclass

from finetune.jobs import process, queue
from finetune.jobs.folder import JobFolder
from tests.bench import work
from tests.bench.progress import Progress
from tests.bench.record import CannotMeasure, Figure, Measured, Settings
from tests.bench.studios import (
    STRAY_SECONDS,
    Studio,
    a_free_port,
    keeper_of,
    kill,
    short_lived_workspace,
    starts_of,
    wait_for,
)
from voices.workspace import Workspace

ORDERS = tuple(itertools.permutations(("studio", "keeper", "worker")))
ROUNDS_AN_ORDER = 4
EARLY_ROUNDS = 24
SEED = 20261120
# Between two kills: at once, while the others react, and when they have settled.
GAPS_S = (0.0, 0.1, 0.4, 1.0, 3.0)
# From a job being queued until after its worker is up.
EARLY_S = 0.8

FIGURES = (
    Figure("order_kills", "rounds of killing studio, keeper and worker, in each order"),
    Figure("early_kills", "kills of a keeper at the start of its job"),
    Figure("strays", "processes of a job left 10 s after the kills, or after its end", "== 0"),
    Figure("second_starts", "work that was begun twice", "== 0"),
    Figure("jobs_not_settled", "jobs without an end to read 10 s after", "== 0"),
    Figure("next_jobs_not_done", "jobs behind them that did not come to their turn", "== 0"),
    Figure("settled_s_max", "longest time from the last kill to the next job's end, seconds"),
)


@dataclass
class Counts:
    strays: int = 0
    second_starts: int = 0
    not_settled: int = 0
    next_not_done: int = 0
    settled_s_max: float = 0.0


def measure(settings: Settings, progress: Progress) -> Measured:
    counts, luck = Counts(), random.Random(SEED)
    orders = ORDERS * ROUNDS_AN_ORDER
    orders = orders[: settings.rounds] if settings.rounds else orders
    early = settings.rounds or EARLY_ROUNDS
    with short_lived_workspace() as workspace:
        for order in progress.through(orders, "rounds of killing all three"):
            _kill_in_order(workspace, order, luck, counts)
        for _ in progress.through(range(early), "early kills of a keeper"):
            _kill_early(workspace, luck.uniform(0, EARLY_S), counts)
        _count_late_starts(workspace, counts)
    return Measured(
        {
            "order_kills": len(orders),
            "early_kills": early,
            "strays": counts.strays,
            "second_starts": counts.second_starts,
            "jobs_not_settled": counts.not_settled,
            "next_jobs_not_done": counts.next_not_done,
            "settled_s_max": counts.settled_s_max,
        }
    )


def _kill_in_order(
    workspace: Workspace, order: tuple[str, ...], luck: random.Random, counts: Counts
) -> None:
    studio = Studio(workspace.root, a_free_port())
    job = queue.submit(workspace, work.request("with_helpers", needs="cpu")).folder
    following = queue.submit(workspace, work.request("count", 3, needs="cpu")).folder
    if not wait_for(lambda: job.id in studio.jobs() and _family_is_whole(job)):
        raise CannotMeasure(f"the job or the studio did not start: {job.log_tail()}")
    for number, which in enumerate(order):
        time.sleep(luck.choice(GAPS_S) if number else 0)
        _kill_one(which, workspace, studio, job)
    studio.wait()
    killed_at = time.monotonic()
    # What any later studio or command does; when all three are gone nobody else would.
    queue.advance(workspace)
    _settle(job, following, counts)
    counts.settled_s_max = max(counts.settled_s_max, time.monotonic() - killed_at)


def _family_is_whole(job: JobFolder) -> bool:
    return job.progress() is not None and len(process.family(job.id)) == 3


def _kill_one(which: str, workspace: Workspace, studio: Studio, job: JobFolder) -> None:
    if which == "studio":
        studio.kill()
    else:
        kill(keeper_of(workspace, job) if which == "keeper" else job.worker())


def _settle(job: JobFolder, following: JobFolder, counts: Counts) -> None:
    """Give it its time, then count what is not as it should be."""

    def settled() -> bool:
        return bool(job.outcome() and following.outcome() and not process.family(job.id))

    wait_for(settled, STRAY_SECONDS)
    counts.strays += len(process.family(job.id))
    counts.not_settled += job.outcome() is None
    after = following.outcome()
    counts.next_not_done += after is None or after.cause != "finished"


def _kill_early(workspace: Workspace, seconds: float, counts: Counts) -> None:
    """Kill a keeper somewhere between its start and its first look at the running job."""
    job = queue.submit(workspace, work.request("count", 20)).folder
    time.sleep(seconds)
    kill(keeper_of(workspace, job))
    queue.advance(workspace)
    wait_for(job.outcome, STRAY_SECONDS)
    counts.not_settled += job.outcome() is None
    counts.strays += len(process.family(job.id))


def _count_late_starts(workspace: Workspace, counts: Counts) -> None:
    """At the very end, when whatever was going to start has had the time for it."""
    jobs = [JobFolder(path) for path in workspace.jobs.iterdir()]
    counts.second_starts += sum(max(0, starts_of(job) - 1) for job in jobs)
    counts.strays += sum(len(process.family(job.id)) for job in jobs if job.outcome())
