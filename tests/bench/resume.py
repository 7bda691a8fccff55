"""kill -9 at any moment of a training: it goes on from a whole checkpoint, to the same weights."""

from __future__ import annotations

import json
import os
import random
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tests.bench.progress import Progress
from tests.bench.record import Benchmark, CannotMeasure, Figure, Measured, Settings
from voices import files

ROUNDS = 200
SEED = 20261121
SAVE_EVERY = 5
EPOCHS, CLIPS, BATCH = 4, 20, 4
# What follows a kill is killed as well, but a run must come to its end to be compared.
KILLS_A_RUN = 5
AT_ONCE = 4
LONGEST_SECONDS = 240.0
_POLL_SECONDS = 0.002
_FAILED = 1

Files = dict[str, str]
"""SHA-256 by name."""


def measure(settings: Settings, progress: Progress) -> Measured:
    """Train once without a kill, then kill other trainings and compare what becomes of them."""
    _one_thread()
    rounds = settings.rounds or ROUNDS
    with tempfile.TemporaryDirectory(prefix="timbre-bench-") as work:
        unbroken = _unbroken(Path(work))
        shares = [min(KILLS_A_RUN, rounds - at) for at in range(0, rounds, KILLS_A_RUN)]
        # Forks, each of which forks its trainings: nothing is loaded twice.
        with get_context("fork").Pool(AT_ONCE) as pool:
            running = [
                pool.apply_async(_share, (Path(work, f"{number}"), number, kills, unbroken))
                for number, kills in enumerate(shares)
            ]
            found = [each.get() for each in progress.through(running, "trainings, each killed")]
    return _together(found)


# ---- One training ----------------------------------------------------------------------------


def _one_thread() -> None:
    """Load everything once: each training is a fork of this process, and starts in no time."""
    import torch
    import torch._dynamo  # which the first optimizer would load, for seconds

    from finetune.training import loop
    from tests.finetune.training import learning

    assert learning
    torch.set_num_threads(1)
    loop._TELL_SECONDS = 0.0  # every step is told: the last one told is the last one done


def train(folder: Path, cache: Path, told: Callable[[Any], None] = lambda event: None) -> None:
    """Do what a job does, with the small engine: sweep, go on or begin, learn to the end."""
    from finetune.best import Heard
    from finetune.runs import RunFolder
    from finetune.settings import TrainSettings
    from finetune.training import devices, settling
    from finetune.training.loop import Lessons, Loop
    from finetune.training.told import Told
    from tests import learner
    from tests.finetune.training.learning import store_of

    run = RunFolder(folder)
    for each in (run.path, run.checkpoints, run.best):
        each.mkdir(exist_ok=True)
        files.sweep(each)
    model = learner.LearnerModel(learner.LearnerSettings(draws=True))
    model.network.train()
    wanted = TrainSettings(
        epochs=EPOCHS, batch=BATCH, save_every=SAVE_EVERY, listen_every=8, ema=0.9
    )
    settled = settling.settle(wanted, learner.ENGINE.advised, CLIPS, CLIPS)
    names = [f"clip {number}" for number in range(CLIPS)]
    tell = Told(told, run.history_path)
    Loop(
        *(run, model, Lessons(store_of(model, CLIPS, cache), CLIPS, names, "the same"), settled),
        devices.accelerator_for("cpu", "fp32"),
        *(lambda step: Heard(step, abs(step - 14)), tell, lambda wish: False),
    ).run()


def _in_fork(work: Callable[[], None], log: Path) -> int:
    child = os.fork()
    if child:
        return child
    code = _FAILED
    try:
        work()
        code = 0
    except BaseException:
        log.write_text(traceback.format_exc())
    finally:
        os._exit(code)


def _ended(child: int, seconds: float) -> int | None:
    """Wait so long for its end: its exit code, or None when it was killed instead."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(_POLL_SECONDS)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return None if code == -signal.SIGKILL else code


@dataclass(frozen=True, slots=True)
class _Unbroken:
    """What a training that nobody kills comes to."""

    cache: Path
    seconds: float
    checkpoints: dict[int, Files]
    """By step, every file of each."""
    best: Files

    @property
    def last(self) -> Files:
        return self.checkpoints[max(self.checkpoints)]


def _unbroken(work: Path) -> _Unbroken:
    run, cache, noted, log = work / "unbroken", work / "cache", work / "noted", work / "log"

    def noting(event: Any) -> None:
        if path := getattr(event, "path", ""):
            with noted.open("a") as file:
                file.write(json.dumps([event.step, _sealed(run / path)]) + "\n")

    for folder, told in ((work / "first", lambda event: None), (run, noting)):
        began = time.monotonic()
        code = _ended(_in_fork(lambda f=folder, t=told: train(f, cache, t), log), LONGEST_SECONDS)
        if code != 0:
            said = log.read_text() if log.exists() else f"it ended with {code}"
            raise CannotMeasure(f"the training does not run by itself: {said}")
    seconds = time.monotonic() - began
    checkpoints = dict(json.loads(line) for line in noted.read_text().splitlines())
    [best] = (run / "best").iterdir()
    return _Unbroken(cache, seconds, checkpoints, _sealed(best))


def _sealed(folder: Path) -> Files:
    return {name: each.sha256 for name, each in files.read_manifest(folder).items()}


# ---- Kills -----------------------------------------------------------------------------------


@dataclass
class _Found:
    """Looks at what each kill left, and at what each run came to."""

    unbroken: _Unbroken
    kills: int = 0
    runs: int = 0
    runs_lost: int = 0
    corrupt: int = 0
    most_lost: float = 0.0
    bests_lost: int = 0
    equal: int = 0
    inside: int = 0
    left: int = 0
    steps: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def look(self, folder: Path) -> None:
        """Check what stands after a kill."""
        from finetune.runs import RunFolder
        from finetune.training import checkpoints

        run, last = RunFolder(folder), _last_told(folder)
        self.kills += 1
        self.inside += any(folder.glob("*/.tmp-*"))
        self.steps.append(last)
        newest = checkpoints.load_newest(run, self._damaged) if run.checkpoints.exists() else None
        step = newest.step if newest else 0
        self.most_lost = max(self.most_lost, (last - step) / SAVE_EVERY)
        if newest and _sealed(run.checkpoints / f"step-{step:06}") != self.unbroken.checkpoints.get(
            step
        ):
            self.corrupt += 1
            self.notes.append(f"The checkpoint of step {step} is not the unbroken run's.")
        self._look_at_best(run, step)

    def _look_at_best(self, run: Any, step: int) -> None:
        from finetune.training import checkpoints

        best = checkpoints.best(run) if run.best.exists() else None
        # The first hearing after step 0 is after step 8, and better.
        if best is None and step >= 10:
            self.bests_lost += 1
            self.notes.append(f"After step {step} there is no best any more.")

    def _damaged(self, text: str) -> None:
        # A kill loses no page that was written: nothing may be damaged by it.
        self.corrupt += 1
        self.notes.append(text)

    def compare(self, folder: Path, kills: int, code: int | None, log: Path) -> None:
        """Check what a run came to in the end."""
        if code != 0:
            self.runs_lost += 1
            said = log.read_text().strip().splitlines()[-1:] if log.exists() else [f"code {code}"]
            self.notes.append(f"A run did not go on: {' '.join(said)}")
            return
        step = max(self.unbroken.checkpoints)
        last = _sealed(folder / "checkpoints" / f"step-{step:06}")
        bests = [_sealed(each) for each in (folder / "best").iterdir()]
        self.left += sum(1 for _ in folder.glob("**/.tmp-*"))
        self.bests_lost += bests != [self.unbroken.best]
        if last["weights.safetensors"] == self.unbroken.last["weights.safetensors"]:
            self.equal += kills
        else:
            self.notes.append(f"After {kills} kills a run came to other weights.")


def _share(folder: Path, number: int, kills: int, unbroken: _Unbroken) -> _Found:
    """Kill trainings so many times in all; each comes to its end afterwards."""
    luck, found = random.Random(f"{SEED} {number}"), _Found(unbroken)
    folder.mkdir()
    while found.kills < kills:
        found.runs += 1
        _kill_and_resume(folder / f"run {found.runs}", luck, kills, found)
    return found


def _kill_and_resume(folder: Path, luck: random.Random, most: int, found: _Found) -> None:
    """Kill a training some times, then let it come to its end."""
    before, log, cache = found.kills, folder.with_suffix(".log"), found.unbroken.cache
    while True:
        may_kill = found.kills < most
        seconds = luck.uniform(0, found.unbroken.seconds) if may_kill else LONGEST_SECONDS
        code = _ended(_in_fork(lambda: train(folder, cache), log), seconds)
        if code is not None or not may_kill:
            found.compare(folder, found.kills - before, code, log)
            return
        found.look(folder)


def _together(found: Sequence[_Found]) -> Measured:
    """Add up what all found."""
    figures = {
        "rounds": sum(each.kills for each in found),
        "runs": sum(each.runs for each in found),
        "runs_lost": sum(each.runs_lost for each in found),
        "corrupt_accepted": sum(each.corrupt for each in found),
        "intervals_lost_max": max(each.most_lost for each in found),
        "weights_equal": sum(each.equal for each in found),
        "bests_lost": sum(each.bests_lost for each in found),
        "leftovers_left": sum(each.left for each in found),
        "kills_inside_a_save": sum(each.inside for each in found),
        "steps_killed_at": len({step for each in found for step in each.steps}),
    }
    return Measured(figures, tuple(note for each in found for note in each.notes))


def _last_told(folder: Path) -> int:
    from finetune import runs
    from finetune.jobs.events import Step
    from finetune.runs import RunFolder

    told = runs.history(RunFolder(folder))
    return max((each.step for each in told if isinstance(each, Step)), default=0)


BENCHMARK = Benchmark(
    name="resume",
    about="kill -9 of a training at any moment: it goes on, to the weights of an unbroken one.",
    figures=(
        Figure("rounds", f"kills of a training that saves every {SAVE_EVERY} steps"),
        Figure("runs", "trainings that were killed, some more than once"),
        Figure("runs_lost", "of these, could not go on to their end", "== 0"),
        Figure(
            "corrupt_accepted",
            "checkpoints that were taken for whole and are not the unbroken run's",
            "== 0",
        ),
        Figure(
            "intervals_lost_max",
            "the most between the last step told and the newest checkpoint, in saving intervals",
            "<= 1",
        ),
        Figure("weights_equal", "kills whose run came to the very same weights", "== rounds"),
        Figure("bests_lost", "times the best weights were missing or others in the end", "== 0"),
        Figure("leftovers_left", "unfinished files and folders that were overlooked", "== 0"),
        Figure("kills_inside_a_save", "kills that left something unfinished"),
        Figure("steps_killed_at", "different steps that were the last one told"),
    ),
    measure=measure,
)
