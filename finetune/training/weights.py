"""The weights that a run changes, by name, and the state of what changes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from engines.base import Trainable
from engines.errors import EngineError


def trained(trainable: Trainable) -> dict[str, torch.Tensor]:
    """The weights of all turns, by their names in the network, and what a forward pass changes."""
    wanted = {id(each) for turn in trainable.turns for each in trainable.parameters(turn)}
    network: torch.nn.Module = trainable.network
    found: dict[str, torch.Tensor] = {
        name: each
        for name, each in network.named_parameters()
        if id(each) in wanted and each.requires_grad
    }
    # What a forward pass may change is kept too: running means. What does not last is none.
    lasting = network.state_dict(keep_vars=True).keys()
    found |= {name: each for name, each in network.named_buffers() if name in lasting}
    return found


def put_back(weights: Mapping[str, torch.Tensor], saved: Mapping[str, torch.Tensor]) -> None:
    """Give weights the values they had; raise when these are another model's."""
    if weights.keys() != saved.keys() or any(
        weights[name].shape != each.shape for name, each in saved.items()
    ):
        raise EngineError(
            "The saved weights are not those of this model.",
            "The base, the engine's settings or its version changed: begin a new run.",
        )
    for name, each in saved.items():
        weights[name].detach().copy_(each)


def split_optimizer(
    optimizers: Mapping[str, torch.optim.Optimizer],
) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """The states of optimizers as JSON and tensors."""
    plain: dict[str, Any] = {}
    tensors: dict[str, torch.Tensor] = {}
    for turn, optimizer in optimizers.items():
        state = optimizer.state_dict()
        numbers: dict[str, dict[str, Any]] = {}
        for index, entries in state["state"].items():
            for name, value in entries.items():
                if torch.is_tensor(value):
                    tensors[f"{turn}/{index}/{name}"] = value
                else:
                    numbers.setdefault(str(index), {})[name] = value
        plain[turn] = {"groups": state["param_groups"], "numbers": numbers}
    return plain, tensors


def join_optimizer(
    optimizers: Mapping[str, torch.optim.Optimizer],
    plain: Mapping[str, Any],
    tensors: Mapping[str, torch.Tensor],
) -> None:
    """Give optimizers the state they had."""
    for turn, optimizer in optimizers.items():
        state: dict[int, dict[str, Any]] = {
            int(index): dict(entries) for index, entries in plain[turn]["numbers"].items()
        }
        for key, value in tensors.items():
            of, index, name = key.split("/")
            if of == turn:
                state.setdefault(int(index), {})[name] = value
        groups = [{**group, "betas": tuple(group["betas"])} for group in plain[turn]["groups"]]
        optimizer.load_state_dict({"state": state, "param_groups": groups})
