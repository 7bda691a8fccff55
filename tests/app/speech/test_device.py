"""Tests of app/speech/device.py."""

from dataclasses import dataclass

import pytest

from app.speech import device
from finetune.gpu import Card, Gpus
from finetune.jobs import queue
from finetune.jobs.folder import Request

ENOUGH = device.NEEDS_MIB


@pytest.mark.parametrize(
    "gpus, training, where",
    [
        (Gpus(), False, "cpu"),
        (Gpus(problem="no driver"), False, "cpu"),
        (Gpus((Card(0, free_mib=ENOUGH),)), False, "cuda"),
        (Gpus((Card(0, free_mib=ENOUGH - 1),)), False, "cpu"),
        (Gpus((Card(0, free_mib=None),)), False, "cpu"),
        (Gpus((Card(0, free_mib=ENOUGH),)), True, "cpu"),
        (Gpus((Card(0, free_mib=10), Card(1, free_mib=ENOUGH))), False, "cpu"),
        (Gpus((Card(0, free_mib=10, held_mib={7: ENOUGH}),)), False, "cuda"),
        (Gpus((Card(0, free_mib=10, held_mib={8: ENOUGH}),)), False, "cpu"),
        (Gpus((Card(0, free_mib=10, held_mib={7: None}),)), False, "cpu"),
    ],
)
def test_it_speaks_on_a_gpu_with_room_that_no_job_needs(gpus, training, where):
    assert device.chosen(gpus, training, speaker_pid=7) == where


@dataclass
class Listed:
    state: str
    needs: str

    @property
    def request(self):
        return Request("train", "Train", (), self.needs)


@pytest.mark.parametrize(
    "state, needs, wanted",
    [("running", "gpu-0", True), ("waiting", "gpu-0", True), ("stopping", "gpu-0", True),
     ("ended", "gpu-0", False), ("running", "cpu", False), ("waiting", "", False)],
)  # fmt: skip
def test_a_job_that_runs_on_a_gpu_or_waits_for_it_needs_it(state, needs, wanted):
    assert device.needs_gpu([Listed("running", ""), Listed(state, needs)]) == wanted


def test_a_job_in_the_queue_wants_the_gpu_until_it_is_taken_out(workspace, monkeypatch):
    monkeypatch.setattr(queue, "advance", lambda workspace: None)  # none is started
    assert not device.wanted_elsewhere(workspace)
    job = queue.submit(workspace, Request("train", "Train", ("nothing",), "gpu-0"))

    assert device.wanted_elsewhere(workspace)
    queue.stop(workspace, job.id)
    assert not device.wanted_elsewhere(workspace)
