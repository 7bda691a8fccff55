"""What each turn of a step trains, and nothing else meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch

from engines.base import Trainable

Trained = Mapping[str, Sequence[torch.nn.Parameter]]


def trained_of(trainable: Trainable) -> Trained:
    """The tensors of each turn."""
    return {
        turn: [each for each in trainable.parameters(turn) if each.requires_grad]
        for turn in trainable.turns
    }


@contextmanager
def only(turn: str, trained: Trained) -> Iterator[None]:
    """Spare the gradients of what other turns train, and this one does not."""
    mine = {id(each) for each in trained[turn]}
    others = [
        each
        for of_turn in trained.values()
        for each in of_turn
        if id(each) not in mine and each.requires_grad
    ]
    for each in others:
        each.requires_grad_(False)
    try:
        yield
    finally:
        for each in others:
            each.requires_grad_(True)


def forget_gradients(network: torch.nn.Module) -> None:
    for each in network.parameters():
        each.grad = None
