"""
What a training would hold, told without computing it: the same rehearsal with tensors that have
shapes and no content.

An estimate for cards that are not at hand. On a GPU some kernels keep more or less than on the
processor that is asked here, and libraries take memory of their own.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from engines.base import Item, Trainable
from finetune.fitting.peaks import Held, Point
from finetune.settings import TrainSettings
from finetune.training.gauge import Counted
from finetune.training.recompute import forget_activations
from finetune.training.rehearsal import Rehearsal, mapped
from finetune.training.turns import Trained

_HALVES = {"bf16": torch.bfloat16, "fp16": torch.float16}


class Imagined:
    """A processor that computes in some precision, as far as a rehearsal asks for one."""

    scaler = None
    device = torch.device("cpu")

    def __init__(self, precision: str) -> None:
        self._half = _HALVES.get(precision)

    def autocast(self) -> AbstractContextManager[Any]:
        return torch.autocast("cpu", self._half) if self._half else nullcontext()


def imagine(
    trainable: Trainable,
    settings: TrainSettings,
    precision: str,
    recompute: bool,
    clips: Sequence[Item],
    counts: Sequence[int],
) -> tuple[Held, list[Point]]:
    """Measure probes of such counts on a likeness of the network that holds nothing."""
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    likeness = _Likeness(trainable, mode)
    if recompute:
        forget_activations(likeness.blocks())
    with mode, Counted() as gauge:
        gauge.begin_with([*likeness.network.parameters(), *likeness.network.buffers()])
        rehearsal = Rehearsal(
            *(likeness, likeness.network, likeness.trained()),
            *(settings, Imagined(precision), gauge),
        )
        points = [point for count in counts for point in rehearsal.probe(clips, count)]
        # How long it took says nothing of how long it would take.
        return rehearsal.held(), [replace(each, seconds=0.0) for each in points]


class _Likeness:
    """A trainable whose network and batches have shapes only; the real one is left as it is."""

    def __init__(self, trainable: Trainable, mode: FakeTensorMode) -> None:
        self._real, self._mode = trainable, mode
        self.turns = trainable.turns
        self.network = copy.deepcopy(trainable.network, _shapes_of(trainable.network, mode))
        self.length: Callable[[Any], int] = trainable.length

    def batch(self, items: Sequence[Item]) -> Any:
        with torch.utils._python_dispatch._disable_current_modes():
            made = self._real.batch(items)
        return mapped(made, lambda each: _shape_of(each, self._mode))

    def trained(self) -> Trained:
        return {
            turn: self._like([p for p in self._real.parameters(turn) if p.requires_grad])
            for turn in self.turns
        }

    def blocks(self) -> Sequence[torch.nn.Module]:
        names = {id(each): name for name, each in self._real.network.named_modules()}
        return [self.network.get_submodule(names[id(each)]) for each in self._real.blocks()]

    def _like(self, parameters: Sequence[torch.nn.Parameter]) -> list[torch.nn.Parameter]:
        names = {id(each): name for name, each in self._real.network.named_parameters()}
        return [self.network.get_parameter(names[id(each)]) for each in parameters]


def _shapes_of(network: torch.nn.Module, mode: FakeTensorMode) -> dict[int, torch.Tensor]:
    """What copying a network is to take in place of its tensors."""
    likenesses: dict[int, torch.Tensor] = {
        id(each): _shape_of(each, mode) for each in network.buffers()
    }
    for each in network.parameters():
        like = _shape_of(each.detach(), mode)
        likenesses[id(each)] = torch.nn.Parameter(like, each.requires_grad)
    return likenesses


def _shape_of(tensor: torch.Tensor, mode: FakeTensorMode) -> torch.Tensor:
    """A tensor of the same shape without content, as if it were on the processor."""
    with mode:
        return mode.from_tensor(tensor).to("cpu")
