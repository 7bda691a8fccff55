"""Every generator is kept, put back, and left alone where that is promised."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
import torch
from safetensors.torch import load, save

from finetune.training import randomness


def drawn():
    """A number of each, and those they keep ready for the next time."""
    return [
        random.random(),
        random.gauss(0, 1),
        float(np.random.rand()),
        float(np.random.standard_normal()),
        torch.rand(3).tolist(),
        torch.randn(3).tolist(),
    ]


@pytest.mark.parametrize("before", [0, 1, 700])
def test_all_go_on_exactly_after_json_and_safetensors(before):
    randomness.seed_all(5)
    for _ in range(before):  # an odd number of normal ones leaves the other of the pair waiting
        drawn()
    plain, tensors = randomness.to_plain(randomness.capture())

    expected = drawn()
    randomness.seed_all(6)
    randomness.restore(randomness.from_plain(json.loads(json.dumps(plain)), load(save(tensors))))

    assert drawn() == expected


def test_whatever_is_drawn_inside_outside_nothing_was():
    randomness.seed_all(5)
    expected = drawn()

    randomness.seed_all(5)
    with pytest.raises(KeyError), randomness.untouched():
        drawn()
        randomness.seed_all(1)
        raise KeyError

    assert drawn() == expected


@pytest.mark.parametrize("seed", [0, 2**32, 2**40 + 3])
def test_any_seed_gives_the_same_every_time(seed):
    randomness.seed_all(seed)
    first = drawn()
    randomness.seed_all(seed)

    assert drawn() == first


def test_a_machine_with_fewer_gpus_restores_what_it_has(monkeypatch):
    there = []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "set_rng_state", lambda state, number: there.append(number))
    chance = randomness.capture()
    states = tuple(torch.full((16,), each, dtype=torch.uint8) for each in range(11))
    plain, tensors = randomness.to_plain(
        randomness.Chance(chance.python, chance.numpy, chance.torch, states)
    )

    again = randomness.from_plain(plain, tensors)
    randomness.restore(again)

    assert [int(each[0]) for each in again.devices] == list(range(11))  # 10 comes after 9
    assert there == [0]
