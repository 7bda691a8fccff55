"""Rounds of: start a writer, kill it at a seeded moment, look at what it left, let another go on."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from finetune.jobs.folder import code_path
from tests.bench.progress import Progress
from tests.bench.record import CannotMeasure

# One folder is written in for so many rounds, so that what follows a kill is killed too.
ROUNDS_A_FOLDER = 8
LONGEST_SECONDS = 0.3
SEED = 20261120


@dataclass(frozen=True, slots=True)
class Killed:
    """What one round's writer had said. Its actions are numbered on from those before."""

    folder: Path
    seed: int
    before: int
    acknowledged: int


Check = Callable[[Killed], int | None]
"""Tells how many actions are found done, or None when nothing more can be built on them."""


def kill_writers(what: str, rounds: int, progress: Progress, check: Check) -> int:
    """Do the rounds, and return how many actions were acknowledged in all."""
    luck = random.Random(SEED)
    acknowledged, done = 0, None
    with tempfile.TemporaryDirectory(prefix="timbre-bench-") as work:
        for number in progress.through(range(rounds), f"kills of a writer ({what})"):
            if number % ROUNDS_A_FOLDER == 0 or done is None:
                folder, seed, done = Path(work, f"{number}"), SEED + number, 0
                folder.mkdir()
            # Now and then from the start on, so that the opening is killed too.
            from_start = number % ROUNDS_A_FOLDER in (0, ROUNDS_A_FOLDER - 1)
            killed = _write_and_kill(what, Killed(folder, seed, done, done), luck, from_start)
            acknowledged += killed.acknowledged - killed.before
            done = check(killed)
    return acknowledged


def _write_and_kill(what: str, start: Killed, luck: random.Random, from_start: bool) -> Killed:
    seconds = luck.uniform(0, LONGEST_SECONDS)
    argv = [what, str(start.folder), str(start.seed), str(start.before)]
    log = start.folder.with_suffix(".log")
    process = _start([sys.executable, "-m", "tests.bench.writer", *argv], log)
    with process:
        try:
            assert process.stdout is not None
            said = b"" if from_start else process.stdout.readline()
            time.sleep(seconds)
            ended_itself = process.poll() is not None
        finally:
            process.kill()
        said += process.stdout.read()
    if ended_itself:
        last_line = log.read_text().strip().splitlines()[-1:]
        raise CannotMeasure(f"the writer ended by itself: {' '.join(last_line)}")
    lines = said[: said.rfind(b"\n") + 1].split()
    return Killed(start.folder, start.seed, start.before, int(lines[-1]) if lines else start.before)


def _start(argv: list[str], log: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, **code_path()}
    with log.open("wb") as errors:
        return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=errors, env=environment)
