"""Learning with fewer weights."""

from __future__ import annotations

import copy

import pytest
import torch

from engines.xtts.adapters import add_lora, freeze, merge_lora, merged_state
from engines.xtts.batches import Marks, collate
from engines.xtts.network import XttsNetwork
from engines.xtts.settings import PARTS
from tests.engines.xtts.test_batches import OTHER, SILENCE, mixed
from tests.engines.xtts.test_network import make_gpt


@pytest.fixture
def batch():
    return collate(mixed(3), OTHER, Marks(199, 0, 1024, 1025, 32), SILENCE)


def with_lora():
    """Make a GPT whose additions are not nothing, as after some training."""
    gpt = make_gpt()
    add_lora(gpt, rank=4, alpha=8)
    torch.manual_seed(1)
    for name, weight in gpt.named_parameters():
        if "lora_B" in name:
            weight.data = 0.1 * torch.randn_like(weight)
    return gpt


def learn(network, batch):
    losses = network(batch, batch["targets"], "model")
    losses["loss"].backward()
    return losses


def test_additions_change_nothing_before_they_have_learned(batch):
    plain, added = make_gpt(), make_gpt()
    add_lora(added, rank=4, alpha=8)

    expected, found = (XttsNetwork(gpt).hidden(batch) for gpt in (plain, added))

    assert torch.equal(expected, found)


def test_only_the_additions_learn_in_every_block_and_matrix(batch):
    network = XttsNetwork(with_lora())

    learn(network, batch)

    learning = {n for n, weight in network.named_parameters() if weight.grad is not None}
    assert learning == {n for n, weight in network.named_parameters() if weight.requires_grad}
    assert all("lora_" in name for name in learning)
    assert len(learning) == 2 * 4 * len(network.gpt.gpt.h)


def test_merged_weights_answer_as_the_additions_did(batch):
    gpt = with_lora()
    expected = XttsNetwork(gpt).hidden(batch)
    assert not torch.allclose(XttsNetwork(make_gpt()).hidden(batch), expected, atol=1e-2)

    merge_lora(gpt)

    torch.testing.assert_close(XttsNetwork(gpt).hidden(batch), expected, rtol=1e-4, atol=1e-5)


def test_merged_weights_have_the_names_of_the_base_and_load_as_such():
    gpt, base = with_lora(), make_gpt()

    merge_lora(gpt)

    assert gpt.state_dict().keys() == base.state_dict().keys()
    assert not any("lora" in name for name, _ in gpt.named_modules())
    base.load_state_dict(gpt.state_dict(), strict=True)


def test_a_voice_can_be_saved_while_the_additions_go_on_learning(batch):
    gpt = with_lora()
    before = copy.deepcopy(gpt.state_dict())

    saved = merged_state(gpt)

    assert all(torch.equal(value, before[name]) for name, value in gpt.state_dict().items())
    merge_lora(gpt)
    assert saved.keys() == gpt.state_dict().keys()
    for name, value in gpt.state_dict().items():
        torch.testing.assert_close(saved[name], value)
        assert not saved[name].requires_grad


def test_without_additions_the_saved_weights_are_the_weights():
    gpt = make_gpt()

    saved = merged_state(gpt)
    merge_lora(gpt)

    assert saved.keys() == gpt.state_dict().keys()
    assert all(torch.equal(saved[name], value) for name, value in gpt.state_dict().items())


@pytest.mark.parametrize("part", PARTS)
def test_a_frozen_part_stays_as_it_is_and_the_rest_learns(batch, part):
    network = XttsNetwork(make_gpt())
    freeze(network.gpt, [part])

    learn(network, batch)

    resting = {n for n, weight in network.gpt.named_parameters() if weight.grad is None}
    expected = {n for n, _ in network.gpt.named_parameters() if n.startswith(PARTS[part])}
    assert resting == expected != set()


def test_the_parts_are_the_whole_network():
    gpt = make_gpt()

    freeze(gpt, PARTS)

    assert not any(weight.requires_grad for weight in gpt.parameters())
