"""The weights of a run by name, and optimizers taken apart and put together, exactly."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from engines.errors import EngineError
from finetune.settings import TrainSettings
from finetune.training import weights
from finetune.training.optimizers import optimizer_for
from tests import learner


def model_of(network, turns=("model",), parameters=None):
    return SimpleNamespace(
        network=network,
        turns=turns,
        parameters=parameters or (lambda turn: network.parameters()),
    )


def test_what_a_run_changes_is_its_weights_and_what_a_forward_pass_keeps():
    network = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Linear(2, 2))
    network[2].requires_grad_(False)
    network.register_buffer("scratch", torch.zeros(3), persistent=False)

    found = weights.trained(model_of(network))

    assert found.keys() == {
        *("0.weight", "0.bias", "1.weight", "1.bias"),
        *("1.running_mean", "1.running_var", "1.num_batches_tracked"),
    }


def test_the_weights_of_all_turns_are_one():
    model = learner.RivalsModel(learner.LearnerSettings())

    assert weights.trained(model).keys() == model.network.state_dict().keys()


def test_weights_are_put_back_in_place():
    network = nn.Linear(2, 2)
    known = weights.trained(model_of(network))
    saved = {name: torch.full_like(each, 3) for name, each in known.items()}

    weights.put_back(known, saved)

    assert all(bool((each == 3).all()) for each in network.parameters())
    assert all(each.requires_grad for each in network.parameters())


@pytest.mark.parametrize(
    "saved",
    [
        {"weight": torch.zeros(2, 2)},
        {"weight": torch.zeros(2, 2), "bias": torch.zeros(3)},
        {"weight": torch.zeros(2, 2), "bias": torch.zeros(2), "more": torch.zeros(1)},
    ],
)
def test_the_weights_of_another_model_are_refused_and_nothing_is_changed(saved):
    network = nn.Linear(2, 2)
    before = [each.clone() for each in network.parameters()]

    with pytest.raises(EngineError, match="not those of this model"):
        weights.put_back(weights.trained(model_of(network)), saved)

    assert all(torch.equal(one, two) for one, two in zip(before, network.parameters(), strict=True))


def optimizers(model):
    settings, cpu = TrainSettings(), torch.device("cpu")
    return {turn: optimizer_for(model.parameters(turn), settings, cpu) for turn in model.turns}


def stepped(model, made, count, seed):
    torch.manual_seed(seed)
    for _ in range(count):
        for optimizer in made.values():
            for group in optimizer.param_groups:
                group["lr"] = 0.1 + 0.2  # no short decimal
                for each in group["params"]:
                    each.grad = torch.randn_like(each)
            optimizer.step()


def test_optimizers_go_on_exactly_after_being_taken_apart_and_through_json():
    one, other = (learner.RivalsModel(learner.LearnerSettings()) for _ in range(2))
    made = optimizers(one)
    stepped(one, made, 3, seed=1)

    plain, tensors = weights.split_optimizer(made)
    kept = {name: each.clone() for name, each in tensors.items()}
    other.network.load_state_dict(one.network.state_dict())
    again = optimizers(other)
    weights.join_optimizer(again, json.loads(json.dumps(plain)), kept)
    stepped(one, made, 3, seed=2)
    stepped(other, again, 3, seed=2)

    assert all(
        torch.equal(a, b)
        for a, b in zip(one.network.parameters(), other.network.parameters(), strict=True)
    )
    assert again["generator"].param_groups[0]["betas"] == made["generator"].param_groups[0]["betas"]


def test_each_turn_gets_its_own_state_back():
    model = learner.RivalsModel(learner.LearnerSettings())
    made = optimizers(model)
    stepped(model, {"generator": made["generator"]}, 2, seed=1)
    plain, tensors = weights.split_optimizer(made)

    again = optimizers(model)
    weights.join_optimizer(again, plain, tensors)

    assert all(name.startswith("generator/") for name in tensors)
    assert again["generator"].state and not again["discriminator"].state


def test_what_of_an_optimizer_is_a_plain_number_comes_back_as_one():
    weight = nn.Parameter(torch.ones(2))
    made = {"model": torch.optim.AdamW([weight])}
    made["model"].state[weight] = {"step": 7, "exp_avg": torch.ones(2)}

    plain, tensors = weights.split_optimizer(made)
    again = {"model": torch.optim.AdamW([weight])}
    weights.join_optimizer(again, json.loads(json.dumps(plain)), tensors)

    assert tensors.keys() == {"model/0/exp_avg"}
    assert again["model"].state[weight]["step"] == 7
