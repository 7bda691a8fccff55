"""
Look at takes of prompts as they come: `python -m finetune.taking PROJECT` in a job's folder.

It stays for a while when there are none: whoever reads sentences keeps the next one soon, and a
new process for each would need seconds to find out how it went.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from finetune import prompted, takes
from finetune.jobs.events import Said
from finetune.jobs.folder import JobFolder
from finetune.jobs.worker import Job, StopWork, run
from finetune.projects import Project, open_project
from finetune.prompted import Taken
from finetune.takes import Waiting

STAYS_SECONDS = 60.0
_LOOKS_EVERY_SECONDS = 0.2


def work(job: Job, folder: Path, stays_seconds: float = STAYS_SECONDS) -> str:
    """Look at every take there is, and at those that come soon after."""
    good = again = 0
    last = time.monotonic()
    with open_project(folder) as project:
        while time.monotonic() - last < stays_seconds:
            for take in takes.waiting(folder):
                taken = _take(job, project, take)
                good, again = good + taken.good, again + (not taken.good)
                last = time.monotonic()
            if job.stop_wanted():
                raise StopWork("Stopped. Takes that come later are looked at when they come.")
            time.sleep(_LOOKS_EVERY_SECONDS)
    return f"Takes that are good: {good}; to be read again: {again}."


def _take(job: Job, project: Project, take: Waiting) -> Taken:
    sound = takes.sound_of(project.folder, take)
    taken = prompted.add_take(
        project, take.prompts, take.prompt, sound, job.stop_wanted, take.language
    )
    if taken.clip and take.language:
        project.recordings.set_language(taken.clip.values.recording, take.language)
    takes.settle(project.folder, take, () if taken.clip else taken.problems)
    said = " ".join(taken.problems) or "good."
    job.say(Said(f"{take.prompts} {take.number:03d}: {said}"))
    return taken


if __name__ == "__main__":
    raise SystemExit(run(JobFolder(Path.cwd()), lambda job: work(job, Path(sys.argv[1]))))
