"""What a turn trains keeps its gradients, whoever else trains it too."""

from __future__ import annotations

import pytest
import torch

from finetune.training.turns import forget_gradients, only

BOTH, MINE, THEIRS = (torch.nn.Parameter(torch.ones(2)) for _ in range(3))
TRAINED = {"mine": [BOTH, MINE], "theirs": [BOTH, THEIRS]}


def learning():
    return [each.requires_grad for each in (BOTH, MINE, THEIRS)]


def test_only_what_others_train_alone_is_spared():
    with only("mine", TRAINED):
        assert learning() == [True, True, False]

    assert learning() == [True, True, True]


def test_after_a_fault_all_learns_again():
    with pytest.raises(KeyError), only("theirs", TRAINED):
        assert learning() == [True, False, True]
        raise KeyError

    assert learning() == [True, True, True]


def test_gradients_are_forgotten():
    network = torch.nn.Linear(2, 1)
    network(torch.ones(2)).backward()

    forget_gradients(network)

    assert all(each.grad is None for each in network.parameters())
