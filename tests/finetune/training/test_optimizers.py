"""AdamW: weight decay only on matrices, fused where it can be, 8 bit where it is installed."""

from __future__ import annotations

import sys

import pytest
import torch
from torch import nn

from engines.errors import SettingsError
from finetune.settings import TrainSettings
from finetune.training.optimizers import optimizer_for

CPU = torch.device("cpu")


def test_only_matrices_are_pulled_towards_zero():
    network = nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3))

    made = optimizer_for(network.parameters(), TrainSettings(weight_decay=0.3), CPU)

    decay = {
        id(each): group["weight_decay"] for group in made.param_groups for each in group["params"]
    }
    assert {name: decay[id(each)] for name, each in network.named_parameters()} == {
        "0.weight": 0.3,
        "0.bias": 0.0,
        "1.weight": 0.0,
        "1.bias": 0.0,
    }


def test_what_does_not_learn_is_left_out():
    network = nn.Linear(3, 3)
    network.bias.requires_grad_(False)

    made = optimizer_for(network.parameters(), TrainSettings(), CPU)

    assert [len(group["params"]) for group in made.param_groups] == [1]


def test_it_is_fused_on_the_processor_and_gives_what_the_plain_one_gives():
    one, two = nn.Linear(3, 3), nn.Linear(3, 3)
    two.load_state_dict(one.state_dict())
    fused = optimizer_for(one.parameters(), TrainSettings(weight_decay=0.0), CPU)
    plain = torch.optim.AdamW(two.parameters(), betas=(0.9, 0.96), weight_decay=0.0, fused=False)
    assert all(group["fused"] for group in fused.param_groups)

    for optimizer, network in ((fused, one), (plain, two)):
        for number in range(5):
            for group in optimizer.param_groups:
                group["lr"] = 0.1
            for each in network.parameters():
                each.grad = torch.full_like(each, number - 1.5)
            optimizer.step()

    torch.testing.assert_close(one.weight, two.weight)


@pytest.mark.parametrize("name", ["adamw_8bit", "paged_adamw_8bit"])
def test_one_that_is_not_installed_says_what_to_install(monkeypatch, name):
    monkeypatch.setitem(sys.modules, "bitsandbytes", None)

    with pytest.raises(SettingsError, match=name) as caught:
        optimizer_for(nn.Linear(3, 3).parameters(), TrainSettings(optimizer=name), CPU)

    assert "bitsandbytes" in caught.value.fix and "adamw" in caught.value.fix
