"""An average of the weights follows them, and takes their place only for a while."""

from __future__ import annotations

import pytest
import torch

from finetune.training.average import Average


@pytest.fixture
def weights():
    return {
        "one": torch.nn.Parameter(torch.zeros(3)),
        "seen": torch.tensor(0),
        "mean": torch.zeros(2),
    }


def step(weights, value):
    with torch.no_grad():
        weights["one"].fill_(value)
        weights["mean"].fill_(value)
        weights["seen"] += 1


def test_it_follows_by_the_share_it_does_not_keep(weights):
    average = Average(weights, 0.75)

    for value in (1.0, 3.0):
        step(weights, value)
        average.follow()

    assert average.tensors["one"].tolist() == [0.25 * 0.75 + 3 * 0.25] * 3
    assert average.tensors["mean"].tolist() == [0.9375] * 2
    assert int(average.tensors["seen"]) == 2  # a count has no average


def test_it_is_in_place_for_a_while_and_then_both_are_as_they_were(weights):
    average = Average(weights, 0.5)
    step(weights, 2.0)
    average.follow()

    with pytest.raises(KeyError), average.in_place():
        inside = weights["one"].tolist()
        raise KeyError

    assert inside == [1.0] * 3
    assert weights["one"].tolist() == [2.0] * 3
    assert average.tensors["one"].tolist() == [1.0] * 3


def test_it_goes_on_from_what_was_saved(weights):
    average = Average(weights, 0.5)
    saved = {name: torch.full_like(each.detach(), 8) for name, each in weights.items()}

    average.load(saved)
    saved["one"].zero_()
    average.follow()

    assert average.tensors["one"].tolist() == [4.0] * 3


def test_without_a_share_it_takes_no_memory_and_changes_nothing(weights):
    average = Average(weights, 0.0)
    step(weights, 2.0)
    average.follow()

    with average.in_place():
        assert weights["one"].tolist() == [2.0] * 3
    assert average.tensors == {}
