"""Forgetting activations changes nothing but memory: the same gradients, bit for bit."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from finetune.training import randomness
from finetune.training.recompute import forget_activations
from tests import learner
from tests.finetune.training.learning import SETTINGS, Lesson, same

DROPPING = learner.LearnerSettings(dropout=0.5)


def gradients(forgetful):
    model = learner.LearnerModel(DROPPING)
    if forgetful:
        forget_activations(model.blocks())
    model.network.train()
    features = model.features([learner.clip(3), learner.clip(4)])
    items = [
        learner.Item({n: torch.from_numpy(v) for n, v in each.items()}, each, 0)
        for each in features
    ]
    batch = model.batch(items)
    randomness.seed_all(4)
    for _ in range(2):  # twice: what is drawn while computing again must not be used up
        model.network(batch, batch["targets"], "model")["loss"].backward()
    return {name: each.grad for name, each in model.network.named_parameters()}


def test_the_gradients_are_the_same_bit_for_bit_with_dropout():
    assert same(gradients(forgetful=False), gradients(forgetful=True))


def test_a_run_with_it_gives_the_same_weights(tmp_path):
    settings = replace(SETTINGS, epochs=1)
    plain = Lesson(tmp_path / "plain", settings, DROPPING).learn()
    forgetful = Lesson(tmp_path / "forgetful", settings, DROPPING)
    forget_activations(forgetful.trainable.blocks())

    assert same(plain.weights, forgetful.learn().weights)


def test_nothing_is_kept_of_what_is_between():
    model = learner.LearnerModel(DROPPING)
    block = model.network.block
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda each: (kept.append(each.shape), each)[1], lambda each: each
    ):
        block(torch.ones(2, 16, requires_grad=True))
    without = len(kept)
    forget_activations([block])
    kept.clear()

    with torch.autograd.graph.saved_tensors_hooks(
        lambda each: (kept.append(each.shape), each)[1], lambda each: each
    ):
        block(torch.ones(2, 16, requires_grad=True))

    assert len(kept) < without


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_speaking_still_works_and_what_blocks_are_given_by_name_arrives(mode):
    class Block(torch.nn.Module):
        def forward(self, hidden, past=None, *, use_cache=False):
            return hidden + (0 if past is None else past), use_cache

    block = Block()
    forget_activations([block])

    with mode():
        spoken = block(torch.ones(2), past=torch.ones(2), use_cache=True)
    learned = block(torch.ones(2, requires_grad=True), past=torch.ones(2), use_cache=True)

    assert spoken[0].tolist() == learned[0].tolist() == [2.0, 2.0]
    assert spoken[1] is learned[1] is True


def test_weights_keep_their_names():
    model = learner.LearnerModel(DROPPING)
    before = list(model.network.state_dict())

    forget_activations(model.blocks())

    assert list(model.network.state_dict()) == before
