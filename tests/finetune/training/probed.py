"""The small engine, ready to be probed."""

from __future__ import annotations

from types import SimpleNamespace

import torch

from engines.base import Item
from finetune.settings import TrainSettings
from finetune.training.gauge import Counted
from finetune.training.prior import Imagined
from finetune.training.rehearsal import Rehearsal
from finetune.training.turns import trained_of
from tests import learner

SETTINGS = TrainSettings(batch=8, device="cpu", threads=1)


def model(kind=learner.LearnerModel, **chosen):
    made = kind(learner.LearnerSettings(**chosen))
    made.network.train()
    return made


def items(trainable, *seconds):
    """Clips of such lengths as they come from the store."""
    found = trainable.features([learner.clip(7, each) for each in seconds])
    tensors = [{name: torch.from_numpy(each) for name, each in one.items()} for one in found]
    return [Item(each, each, number) for number, each in enumerate(tensors)]


def counted(trainable, ceiling=float("inf")):
    gauge = Counted(ceiling)
    network = trainable.network
    gauge.begin_with([*network.parameters(), *network.buffers()])
    return gauge


def rehearsal(trainable, gauge, precision="fp32"):
    return Rehearsal(
        *(trainable, trainable.network, trained_of(trainable)),
        *(SETTINGS, Imagined(precision), gauge),
    )


def probe(trainable, clips, count, ceiling=float("inf"), precision="fp32", timed=False):
    """What a rehearsal on the processor tells, and what it says lies there."""
    with counted(trainable, ceiling) as gauge:
        made = rehearsal(trainable, gauge, precision)
        points = made.probe(clips, count, timed=timed)
        return points, made.held()


class Clock:
    """A time that passes only where a test says so."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        told = SimpleNamespace(perf_counter=lambda: self.now)
        monkeypatch.setattr("finetune.training.gauge.time", told)

    def passes(self, seconds):
        self.now += seconds


def count_slowly(clock, monkeypatch):
    """Let the counting of memory take a second for whatever is computed."""
    counting = Counted.__torch_dispatch__

    def slow(*given, **more):
        clock.passes(1.0)
        return counting(*given, **more)

    monkeypatch.setattr(Counted, "__torch_dispatch__", slow)
