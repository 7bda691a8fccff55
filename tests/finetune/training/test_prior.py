"""What a training would hold, told with tensors that have no content."""

from __future__ import annotations

import pytest
import torch

from finetune.fitting.peaks import MORE
from finetune.training.prior import imagine
from finetune.training.recompute import forget_activations
from tests import learner
from tests.finetune.training import probed

KINDS = pytest.mark.parametrize("kind", [learner.LearnerModel, learner.RivalsModel])


def imagined(trainable, clips, counts=(2, 8), precision="fp32", recompute=False):
    return imagine(trainable, probed.SETTINGS, precision, recompute, clips, counts)


@KINDS
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("recompute", [False, True])
def test_it_tells_what_the_same_steps_take_for_real(kind, precision, recompute):
    trainable = probed.model(kind)
    clips = probed.items(trainable, 6.0, 1.0)

    held, points = imagined(trainable, clips, (3,), precision, recompute)
    if recompute:
        forget_activations(trainable.blocks())
    real, really_held = probed.probe(trainable, clips, 3, precision=precision)

    assert held == really_held
    assert [(each.turn, each.stage, each.length) for each in points] == [
        (each.turn, each.stage, each.length) for each in real
    ]
    for told, true in zip(points, real, strict=True):
        assert told.bytes == pytest.approx(true.bytes, rel=0.02), told


def test_how_long_it_took_is_not_told():
    trainable = probed.model()

    _, points = imagined(trainable, probed.items(trainable, 1.0))

    assert {each.seconds for each in points} == {0.0}


def test_the_real_network_is_left_as_it_is():
    trainable = probed.model()
    before = {name: each.clone() for name, each in trainable.network.state_dict().items()}

    imagined(trainable, probed.items(trainable, 1.0), recompute=True)

    after = trainable.network.state_dict()
    assert all(torch.equal(after[name], each) for name, each in before.items())
    assert all(type(each) is torch.nn.Parameter for each in trainable.network.parameters())
    assert "forward" not in vars(trainable.network.block)


def test_computing_again_takes_less():
    trainable = probed.model()
    clips = probed.items(trainable, 9.0)

    _, kept = imagined(trainable, clips, (16,))
    _, again = imagined(trainable, clips, (16,), recompute=True)

    most = [max(e.bytes for e in points if e.stage == MORE) for points in (kept, again)]
    assert most[1] < most[0]
