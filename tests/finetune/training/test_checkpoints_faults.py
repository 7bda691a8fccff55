"""Saving on a disk that fails at each of its operations, or loses power: old or new, never neither."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from engines.errors import DiskFullError
from finetune.jobs.worker import StopWork
from finetune.runs import RunFolder
from finetune.training import checkpoints
from finetune.training.checkpoints import Snapshot
from tests.faults import (
    Outcome,
    Scenario,
    acknowledge,
    assert_told,
    enumerate_faults,
    enumerate_power_loss,
    needs_linux,
)
from voices import files

# Each of some hundred runs is a fork of a process with torch in it.
pytestmark = [needs_linux, pytest.mark.timeout(600)]

# "From here on" would leave the same: whatever failed once ends the saving.
FAULTS = ("no space, once", "an I/O error, once", "the process ends")


def snapshot(step: int) -> Snapshot:
    one = {"one": torch.full((2,), float(step))}
    return Snapshot(step, {"epoch": step}, one, {"model/0/step": one["one"]}, {}, {})


class Save(Scenario):
    """Save, keep the best, let go of the oldest: what is there is the old or the new, and whole."""

    def prepare(self, folder: Path) -> None:
        run = RunFolder(folder)
        for each in (run.checkpoints, run.best):
            each.mkdir()
        # The best is the one that is let go of: its weights must outlive it.
        checkpoints.keep_best(run, checkpoints.save(run, snapshot(5)), 5, "old")
        checkpoints.save(run, snapshot(10))

    def act(self, folder: Path) -> None:
        checkpoints._SPARE_BYTES = 0  # in this process only: other disks are small
        checkpoints.save_with_patience(
            *(RunFolder(folder), snapshot(15), lambda text: None, lambda: True), best="new"
        )
        acknowledge("saved")

    def check(self, folder: Path, outcome: Outcome) -> None:
        run = RunFolder(folder)
        for each in (run.checkpoints, run.best):
            files.sweep(each)
        self.tells(outcome)
        said: list[str] = []
        newest = checkpoints.load_newest(run, said.append)
        assert newest is not None, "there is no checkpoint any more"
        assert said == [], "one that is not whole stands under its name"
        self.is_whole(newest, (15,) if outcome.acknowledged else (10, 15))
        step, reason, weights = checkpoints.best(run) or (0, "", {})
        assert (step, reason) in (
            [(15, "new")] if outcome.acknowledged else [(5, "old"), (15, "new")]
        )
        assert weights["one"].tolist() == [step, step]
        if outcome.kind == "exited" or outcome.kind == "power lost":
            self.goes_on(run)

    def tells(self, outcome: Outcome) -> None:
        # A wish to stop is there all the time: what could be waited for ends with StopWork.
        if not outcome.is_a(StopWork.__name__):
            assert_told(outcome)
        if outcome.kind == "raised" and outcome.was_full:
            waits = (StopWork.__name__, DiskFullError.__name__)
            assert outcome.is_a(*waits), f"{outcome} does not wait for room"

    def is_whole(self, found: Snapshot, steps: tuple[int, ...]) -> None:
        assert found.step in steps
        assert found.state["epoch"] == found.step
        for part in (found.weights["one"], found.optimizer["model/0/step"]):
            assert part.tolist() == [found.step] * 2

    def goes_on(self, run: RunFolder) -> None:
        """What the next job does: everything that was left over is put right by it."""
        for step in (15, 20):
            checkpoints.keep_best(run, checkpoints.save(run, snapshot(step)), step, "later")
        names = sorted(each.name for each in run.checkpoints.iterdir())
        assert names == ["step-000015", "step-000020"]
        assert [each.name for each in run.best.iterdir()] == ["best-000020"]
        about = json.loads((run.best / "best-000020" / "best.json").read_bytes())
        assert about["reason"] == "later"


def test_whatever_fails_and_whenever_there_is_the_old_or_the_new(tmp_path):
    tried = enumerate_faults(Save, tmp_path, FAULTS)

    assert tried.endings.keys() >= {"done", "exited", "StopWork", "OSError"}


def test_whenever_the_power_goes_there_is_the_old_or_the_new(tmp_path):
    enumerate_power_loss(Save, tmp_path)
