"""A job that prints 100 MB with nobody reading, side by side with one that prints nothing."""

from __future__ import annotations

from finetune.jobs import queue
from finetune.jobs.events import Finished
from tests.bench import work
from tests.bench.progress import Progress
from tests.bench.record import CannotMeasure, Figure, Measured, Settings
from tests.bench.studios import outcome_of, short_lived_workspace
from tests.bench.timing import alternate, shares, spread
from voices.workspace import Workspace

ROUNDS = 6
STEPS = 1000
STEP_SECONDS = 0.015
NOISE_BYTES = 100_000_000

FIGURES = (
    Figure("slowdown_share", "more time a job takes that prints 100 MB, median", "<= 0.02"),
    Figure("slowdown_share_low", "the same: a quarter of the pairs lies below"),
    Figure("slowdown_share_high", "the same: a quarter of the pairs lies above"),
    Figure("quiet_s_median", "seconds of the job that prints nothing"),
    Figure("slowdown_pairs", "pairs of jobs, in alternation"),
)


def measure(settings: Settings, progress: Progress) -> Measured:
    rounds = settings.rounds or ROUNDS
    with short_lived_workspace() as workspace:
        pairs = alternate(
            lambda: seconds_of_a_job(workspace, 0),
            lambda: seconds_of_a_job(workspace, NOISE_BYTES),
            progress.through(range(rounds), "pairs of a quiet and a loud job"),
        )
    slower = spread(shares(pairs))
    return Measured(
        {
            "slowdown_share": slower.median,
            "slowdown_share_low": slower.low,
            "slowdown_share_high": slower.high,
            "quiet_s_median": spread([quiet for quiet, _ in pairs]).median,
            "slowdown_pairs": rounds,
        }
    )


def seconds_of_a_job(workspace: Workspace, noise_bytes: int) -> float:
    """Let a job work and print so much in all; the time is its own, without start and end."""
    job = queue.submit(
        workspace, work.request("talk", STEPS, STEP_SECONDS, noise_bytes // STEPS)
    ).folder
    outcome = outcome_of(job)
    last = job.last_word()
    if not isinstance(last, Finished) or job.log_path.stat().st_size < noise_bytes:
        raise CannotMeasure(f"a job did not print what it should ({outcome.what})")
    job.log_path.unlink()
    return float(last.text)
