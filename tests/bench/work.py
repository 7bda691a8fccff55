"""
The jobs that are measured: real ones, in processes of their own, through the worker.

`python -m tests.bench.work NAME [ARGUMENTS]`, with the job's folder as working directory.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from finetune.jobs.events import Progress, Said
from finetune.jobs.folder import JobFolder, Request
from finetune.jobs.worker import Job, StopWork, run

BEGAN = "Began as process "
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(900)"
CALM = "import time; time.sleep(900)"


def request(name: str, *arguments: object, **fields: str) -> Request:
    """Ask for one of the jobs below."""
    argv = (sys.executable, "-m", "tests.bench.work", name, *map(str, arguments))
    return Request("bench", name, argv, **fields)


def tick(job: Job, seconds: str) -> str:
    """Count steps until asked to stop; then tell the last one and the longest time for one."""
    longest, last, step = 0.0, time.monotonic(), 0
    while True:
        time.sleep(float(seconds))
        step += 1
        job.say(Progress(step, 0, "steps"))
        longest, last = max(longest, time.monotonic() - last), time.monotonic()
        if job.stop_wanted():
            raise StopWork(f"{step} {longest}")


def count(job: Job, steps: str) -> str:
    """Count a few steps."""
    for step in range(int(steps)):
        time.sleep(0.01)
        job.say(Progress(step + 1, int(steps), "steps"))
    return f"{steps} steps."


def talk(job: Job, steps: str, seconds: str, noise_bytes: str) -> str:
    """Work in steps that each print so much, and tell how long all of them took."""
    noise = ("x" * 99 + "\n") * (int(noise_bytes) // 100)
    began = time.monotonic()
    for step in range(int(steps)):
        time.sleep(float(seconds))
        sys.stderr.write(noise)
        job.say(Progress(step + 1, int(steps), "steps"))
    return f"{time.monotonic() - began}"


def with_helpers(job: Job) -> str:
    """Work with helpers in sessions of their own, as data loaders are; one hears no signal."""
    helpers = [
        subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
        for code in (DEAF, CALM)
    ]
    return tick(job, str(0.01 * len(helpers)))


if __name__ == "__main__":
    work = {each.__name__: each for each in (tick, count, talk, with_helpers)}[sys.argv[1]]

    def begin(job: Job) -> str:
        job.say(Said(f"{BEGAN}{os.getpid()}"))
        return work(job, *sys.argv[2:])

    raise SystemExit(run(JobFolder(Path.cwd()), begin))
