"""Jobs on a disk that loses its power: what was acknowledged is there."""

from __future__ import annotations

from pathlib import Path

from finetune.jobs import queue
from finetune.jobs.events import Finished
from finetune.jobs.folder import JobFolder
from finetune.jobs.worker import Job
from tests.faults import Outcome, Scenario, acknowledge, enumerate_power_loss, needs_linux
from tests.jobs_at_work import request
from voices.workspace import open_workspace

pytestmark = needs_linux
DONE = Finished("All done.")


class LastWord(Scenario):
    """A job's last word is on the disk before anything is taken down."""

    def prepare(self, folder: Path) -> None:
        JobFolder(folder / "job").write_request(request("count", 3))

    def act(self, folder: Path) -> None:
        Job(JobFolder(folder / "job")).say_last(DONE)
        acknowledge("said")

    def check(self, folder: Path, outcome: Outcome) -> None:
        said = JobFolder(folder / "job").last_word()
        assert said == DONE if outcome.acknowledged else said in (None, DONE)


class Submit(Scenario):
    """A job that was queued is listed, with its request; all of it but the keeper's start."""

    def prepare(self, folder: Path) -> None:
        open_workspace(folder).close()

    def act(self, folder: Path) -> None:
        queue.advance = lambda workspace: None
        workspace = open_workspace(folder)
        queue.submit(workspace, request("count", 3))
        acknowledge("queued")
        workspace.close()

    def check(self, folder: Path, outcome: Outcome) -> None:
        workspace = open_workspace(folder)
        listed = [job.request.title for job in queue.jobs(workspace)]
        assert listed == ["count"] if outcome.acknowledged else listed in ([], ["count"])
        workspace.close()


def test_the_last_word_survives_a_power_cut(tmp_path):
    enumerate_power_loss(LastWord, tmp_path)


def test_a_queued_job_survives_a_power_cut(tmp_path):
    enumerate_power_loss(Submit, tmp_path)
