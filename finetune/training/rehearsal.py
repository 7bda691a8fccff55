"""
A step as it will be, but that nothing changes: the most it holds, phase by phase, and how long
each takes.

The weights, the means that a forward pass keeps, and all chance are afterwards as they were.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any, Protocol

import torch
from accelerate import Accelerator

from engines.base import Batch, Features, Item
from finetune.fitting.peaks import CHANGE, FIRST, MORE, Held, Point, Timed
from finetune.settings import TrainSettings
from finetune.training import randomness
from finetune.training.gauge import Gauge
from finetune.training.optimizers import optimizer_for
from finetune.training.turns import Trained, forget_gradients, only

# Of so many throws of its dice, a clip is taken with the one that makes the largest batch.
_THROWS = 16


class Batching(Protocol):
    """What is asked of an engine here (engines.base.Trainable)."""

    def length(self, features: Features) -> int: ...

    def batch(self, items: Sequence[Item]) -> Batch: ...


class Rehearsal:
    """Takes steps of one training that change nothing, and measures them."""

    def __init__(
        self,
        batching: Batching,
        network: torch.nn.Module,
        trained: Trained,
        settings: TrainSettings,
        accelerator: Accelerator,
        gauge: Gauge,
    ) -> None:
        self._batching, self._network, self._trained = batching, network, trained
        self._accelerator, self._gauge = accelerator, gauge
        device = accelerator.device
        self._optimizers = {
            turn: optimizer_for(each, settings, device) for turn, each in trained.items()
        }
        scaled = accelerator.scaler is not None
        self._scaler = torch.amp.GradScaler(device.type) if scaled else None

    def probe(
        self, clips: Sequence[Item], count: int, *, warm: bool = True, timed: bool = False
    ) -> list[Point]:
        """
        Measure micro-batches of `count` copies of each clip; raise when memory runs out.

        A step goes before that is not measured, in which optimizer and libraries make what they
        keep; not so where they have it and nothing is timed (`warm` is False). With `timed` the
        seconds of later micro-batches and of the optimizer are those without the gauge.
        """
        with self._unseen():
            largest = [worst_throw(self._batching, each) for each in clips]
            if warm:
                self._step(largest[:1], count)
            return self._step(largest, count, timed=timed)

    def time(self, clip: Item, count: int) -> Timed:
        """
        Time a micro-batch of `count` clips as long as this, each with a chance of its own.

        The quicker of two counts: in the first, kernels are chosen and memory is touched.
        """
        items = [replace(clip, seed=clip.seed + each) for each in range(count)]
        with self._unseen():
            seconds = sum(self._seconds_of(turn, items) for turn in self._trained)
        return Timed(count, self._batching.length(clip.features), seconds)

    def held(self) -> Held:
        """What lies there from step to step; of the optimizer, once it was probed."""
        lasting = [*self._network.parameters(), *self._network.buffers()]
        learning = {id(each): each for turn in self._trained.values() for each in turn}
        kept = [
            value
            for optimizer in self._optimizers.values()
            for state in optimizer.state.values()
            for value in state.values()
            if torch.is_tensor(value)
        ]
        return Held(bytes_of(lasting), bytes_of(learning.values()), bytes_of(kept))

    def _step(self, clips: Sequence[Item], count: int, *, timed: bool = False) -> list[Point]:
        return [point for turn in self._trained for point in self._turn(turn, clips, count, timed)]

    def _turn(self, turn: str, clips: Sequence[Item], count: int, timed: bool) -> Iterator[Point]:
        with only(turn, self._trained):
            for clip in clips:
                length = self._batching.length(clip.features)
                forget_gradients(self._network)
                learn = partial(self._learn, turn, [clip] * count)
                for stage in (FIRST, MORE):
                    measured = self._measured(learn, timed and stage == MORE)
                    yield Point(turn, stage, count, length, *measured)
        for each in self._trained[turn]:
            if each.grad is not None:
                each.grad.zero_()
        measured = self._measured(partial(self._change, turn), timed)
        yield Point(turn, CHANGE, count, length, *measured)
        forget_gradients(self._network)

    def _measured(self, work: Callable[[], None], timed: bool) -> tuple[int, float]:
        self._gauge.set_back()
        seconds = self._timed(work)
        peak = self._gauge.peak()
        if timed and self._gauge.slows:
            # The same once more: all that lasts is there already.
            with self._gauge.aside():
                seconds = self._timed(work)
        return peak, seconds

    def _seconds_of(self, turn: str, items: Sequence[Item]) -> float:
        learn = partial(self._learn, turn, items)
        with only(turn, self._trained):
            forget_gradients(self._network)
            return min(self._timed(learn), self._timed(learn))

    def _timed(self, work: Callable[[], None]) -> float:
        began = self._gauge.seconds()
        work()
        return self._gauge.seconds() - began

    def _learn(self, turn: str, items: Sequence[Item]) -> None:
        device = self._accelerator.device
        batch: Batch = mapped(self._batching.batch(items), lambda each: each.to(device))
        with self._accelerator.autocast():
            loss = self._network(batch, dict(batch["targets"]), turn)["loss"]
        (self._scaler.scale(loss) if self._scaler else loss).backward()

    def _change(self, turn: str) -> None:
        """What is done once a step, with gradients of zero and a rate of zero."""
        optimizer = self._optimizers[turn]
        if self._scaler:
            self._scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(self._trained[turn], math.inf, foreach=True)
        if self._scaler:
            self._scaler.step(optimizer)
            self._scaler.update()
        else:
            optimizer.step()

    @contextmanager
    def _unseen(self) -> Iterator[None]:
        buffers = [each.clone() for each in self._network.buffers()]
        try:
            with randomness.untouched():
                yield
        finally:
            forget_gradients(self._network)
            for each, was in zip(self._network.buffers(), buffers, strict=True):
                each.copy_(was)


def worst_throw(batching: Batching, item: Item) -> Item:
    """The clip with the chance that makes the largest batch of it."""
    throws = [replace(item, seed=item.seed + throw) for throw in range(_THROWS)]
    return max(throws, key=lambda each: _size(batching.batch([each])))


def mapped(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """A batch with each of its tensors changed, wherever in it they are."""
    if torch.is_tensor(value):
        return change(value)
    if isinstance(value, Mapping):
        return {name: mapped(each, change) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(mapped(each, change) for each in value)
    if is_dataclass(value) and not isinstance(value, type):
        parts = {each.name: mapped(getattr(value, each.name), change) for each in fields(value)}
        return replace(value, **parts)
    return value


def _size(batch: Batch) -> int:
    sizes: list[int] = []

    def note(tensor: torch.Tensor) -> torch.Tensor:
        sizes.append(tensor.numel())
        return tensor

    mapped(batch, note)
    return sum(sizes)


def bytes_of(tensors: Iterable[torch.Tensor]) -> int:
    """What tensors take, those that share a storage once."""
    storages = {each.untyped_storage()._cdata: each.untyped_storage() for each in tensors}
    return sum(each.nbytes() for each in storages.values())
