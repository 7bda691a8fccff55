"""What trainings at work have said of memory that spills over, for whoever watches the GPUs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from finetune.jobs.events import Said, from_line
from finetune.jobs.folder import read_lines
from finetune.jobs.queue import Job

_SIGN = "spills over into the computer's memory"
_LEARN = ("train", "make")


@dataclass(frozen=True, slots=True)
class Spill:
    """A training whose memory spills over."""

    job: str
    title: str
    text: str
    """Why, and what to do."""


class Spills:
    """Reads what jobs say, each line once."""

    def __init__(self) -> None:
        self._read: dict[str, tuple[int, str]] = {}

    def now(self, jobs: Iterable[Job]) -> list[Spill]:
        """Those among the jobs at work that said so, with their newest word on it."""
        learning = [
            job
            for job in jobs
            if job.request.kind in _LEARN and job.state in ("running", "stopping")
        ]
        said = ((job, self._said(job)) for job in learning)
        return [Spill(job.id, job.request.title, text) for job, text in said if text]

    def _said(self, job: Job) -> str:
        position, text = self._read.get(job.id, (0, ""))
        lines, position = read_lines(job.folder.events_path, position)
        for line in lines:
            # A run tells of thousands of steps: most lines need no parsing.
            if _SIGN in line and isinstance(event := from_line(line), Said):
                text = event.text
        self._read[job.id] = position, text
        return text
