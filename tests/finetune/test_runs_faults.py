"""finetune/runs.py on a disk that fails at each of its operations, and that loses its power."""

from __future__ import annotations

from pathlib import Path

from finetune import runs
from finetune.runs import Plan, RunFolder
from tests.faults import (
    Outcome,
    Scenario,
    acknowledge,
    assert_told,
    enumerate_faults,
    enumerate_power_loss,
    needs_linux,
)
from voices.workspace import open_workspace

pytestmark = needs_linux

PLAN = Plan("Ada", "p1", 2, "silent", "/base")
ID = "0123456789ab"


class CreateRun(Scenario):
    """A run that is listed is complete; one that is not can be made again under the same id."""

    def prepare(self, folder: Path) -> None:
        open_workspace(folder).close()

    def act(self, folder: Path) -> None:
        runs.lay_out(RunFolder(folder / "runs" / ID), PLAN)
        acknowledge(ID)

    def check(self, folder: Path, outcome: Outcome) -> None:
        assert_told(outcome)
        workspace = open_workspace(folder)
        if not runs.all(workspace):
            assert not outcome.acknowledged, "the run that was answered is gone"
            runs.create(workspace, PLAN, ID)
        [run] = runs.all(workspace)
        assert (run.id, run.plan) == (ID, PLAN)
        assert run.folder.checkpoints.is_dir() and run.folder.best.is_dir()
        workspace.close()


class NoteJob(CreateRun):
    """The jobs of a run are the old ones, or the old ones and the new one."""

    def prepare(self, folder: Path) -> None:
        workspace = open_workspace(folder)
        runs.create(workspace, PLAN, ID).note_job("first")
        workspace.close()

    def act(self, folder: Path) -> None:
        RunFolder(folder / "runs" / ID).note_job("second")
        acknowledge("second")

    def check(self, folder: Path, outcome: Outcome) -> None:
        assert_told(outcome)
        noted = RunFolder(folder / "runs" / ID).job_ids()
        assert noted in (["first"], ["first", "second"])
        assert not outcome.acknowledged or noted[-1] == "second"


def test_whatever_fails_and_whenever_a_listed_run_is_complete(tmp_path):
    enumerate_faults(CreateRun, tmp_path)


def test_whenever_the_power_goes_a_listed_run_is_complete(tmp_path):
    enumerate_power_loss(CreateRun, tmp_path)


def test_whatever_fails_and_whenever_no_job_of_a_run_is_forgotten(tmp_path):
    enumerate_faults(NoteJob, tmp_path)
