"""
Jobs for the tests and benchmarks: each really runs, in a process of its own, through the worker.

`python -m tests.jobs_at_work NAME [ARGUMENTS]`, with the job's folder as working directory.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from engines.errors import NameProblem
from finetune.jobs.events import Progress
from finetune.jobs.folder import JobFolder, Request
from finetune.jobs.worker import Job, StopWork, run


def request(name: str, *arguments: object, **fields) -> Request:
    """Ask for one of the jobs below."""
    argv = (sys.executable, "-m", "tests.jobs_at_work", name, *map(str, arguments))
    return Request(kind="test", title=name, argv=argv, **fields)


def count(job: Job, steps: str, seconds: str = "0.01", noise_bytes: str = "0") -> str:
    """Count steps, as a training does; stop when asked, between two of them."""
    noise = ("x" * 99 + "\n") * (int(noise_bytes) // 100)
    for step in range(int(steps)):
        time.sleep(float(seconds))
        sys.stderr.write(noise)
        job.say(Progress(step + 1, int(steps), "steps"))
        if job.stop_wanted():
            raise StopWork(f"Saved at step {step + 1}.")
    return f"{steps} steps."


def deaf(job: Job) -> str:
    """Never notice that it should stop, nor that it is told to end; with a helper like it."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    helper = [sys.executable, "-c", "import signal, time; signal.signal(15, 1); time.sleep(600)"]
    child = subprocess.Popen(helper, start_new_session=True)
    job.say(Progress(child.pid, 0, "pid"))
    time.sleep(600)
    return ""


def die(job: Job, how: str) -> str:
    """End in one of the ways a job can end badly."""
    if how.lstrip("-").isdigit():
        if int(how) < 0:
            os.kill(os.getpid(), -int(how))
            time.sleep(60)
        os._exit(int(how))
    errors = {
        "memory": MemoryError(),
        "disk": OSError(28, "No space left on device"),
        "gpu": RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB."),
        "input": NameProblem("The recording is empty.", "Choose another one."),
        "bug": ZeroDivisionError("division by zero"),
    }
    try:
        raise errors[how]
    except Exception as first:
        if how == "bug":
            raise RuntimeError("a later one") from first
        raise


def crash_after_the_end(job: Job) -> str:
    """Say that it has finished, then crash while things are taken down."""
    import atexit

    atexit.register(os.abort)
    return "All done."


def leave_a_helper(job: Job) -> str:
    """End well, with a helper in a session of its own still running."""
    helper = [sys.executable, "-c", "import time; time.sleep(600)"]
    subprocess.Popen(helper, start_new_session=True)
    return "Done."


WORKS = (count, deaf, die, crash_after_the_end, leave_a_helper)

if __name__ == "__main__":
    work = {each.__name__: each for each in WORKS}[sys.argv[1]]
    raise SystemExit(run(JobFolder(Path.cwd()), lambda job: work(job, *sys.argv[2:])))
