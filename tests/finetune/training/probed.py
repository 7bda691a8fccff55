"""The small engine, ready to be probed."""

from __future__ import annotations

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


def probe(trainable, clips, count, ceiling=float("inf"), precision="fp32"):
    """What a rehearsal on the processor tells, and what it says lies there."""
    with counted(trainable, ceiling) as gauge:
        rehearsal = Rehearsal(
            *(trainable, trainable.network, trained_of(trainable)),
            *(SETTINGS, Imagined(precision), gauge),
        )
        points = rehearsal.probe(clips, count)
        return points, rehearsal.held()
