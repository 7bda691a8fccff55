"""
One change of the weights, whole or not at all.

A step learns from a fixed set of clips, in as many micro-batches as the memory asks for. When it
runs out the step is rewound to its start, generators and all, and done again in smaller ones: the
same clips, the same rate, the same sum.
"""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from accelerate import Accelerator

from engines.base import Batch, Item, Totals, Trainable
from engines.errors import EngineError
from finetune.training import memory, order, randomness
from finetune.training.turns import forget_gradients, only, trained_of
from finetune.training.watch import Watch

# Gradients of several devices are added up in pieces of this size.
_BUCKET_BYTES = 32 << 20


Result = TypeVar("Result")


class Interrupted(Exception):
    """A wish to stop was heeded in the middle of a step, which was rewound."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What a step came to."""

    loss: float
    parts: dict[str, float]
    norm: float
    fault: str = ""
    """Why the weights were left as they are; empty when they changed."""
    overflowed: bool = False
    """The scale of fp16 was too large and was lowered; the weights were left as they are."""

    @property
    def changed(self) -> bool:
        """Whether the weights changed."""
        return not self.fault and not self.overflowed


class Stepper:
    """Takes steps, with everything that needs: network, optimizers, micro-batches."""

    def __init__(
        self,
        trainable: Trainable,
        network: Any,
        optimizers: Mapping[str, torch.optim.Optimizer],
        accelerator: Accelerator,
        micro_batch: int,
        clip_norm: float,
        watch: Watch,
        say: Callable[[str], None],
        ran_out: Callable[[int], None] = lambda clips: None,
    ) -> None:
        self.micro_batch = micro_batch
        self._trainable, self._network = trainable, network
        self._optimizers, self._accelerator = optimizers, accelerator
        self._clip_norm, self._watch, self._say = clip_norm, watch, say
        self._ran_out = ran_out
        self._trained = trained_of(trainable)

    def take(
        self,
        items: Callable[[Sequence[int]], list[Item]],
        indices: Sequence[int],
        rate: float,
        ceiling: float,
        stop: Callable[[], bool],
    ) -> Taken:
        """
        Learn from these clips once; raise Interrupted when `stop` said so in time.

        A loss above `ceiling`, or one that is no number, changes nothing and is named.
        """
        for optimizer in self._optimizers.values():
            for group in optimizer.param_groups:
                group["lr"] = rate
        found: list[Taken] = []
        for turn in self._trainable.turns:
            # From the second turn on something has changed already: the step is seen through.
            heed = stop if not found else _never
            taken = self._turn(turn, lambda: self._batches(items, indices), ceiling, heed)
            found.append(taken)
            if taken.fault:
                break
        if scaler := self._accelerator.scaler:
            scaler.update()
        return _together(found)

    def _turn(
        self,
        turn: str,
        make: Callable[[], list[Batch]],
        ceiling: float,
        stop: Callable[[], bool],
    ) -> Taken:
        while True:
            before, buffers = randomness.capture(), self._buffers()
            try:
                sums = self._learn(turn, make, stop)
                break
            except Interrupted:
                self._rewind(before, buffers)
                raise
            except Exception as error:
                if not memory.is_out_of_memory(error):
                    raise
                # The error holds on to its frames, and they to everything the step had made.
                traceback.clear_frames(error.__traceback__)
                self._rewind(before, buffers)
                self._halve(error)
        with self._watch.phase("optimizer"):
            return self._change(turn, sums, ceiling)

    def _learn(
        self, turn: str, make: Callable[[], list[Batch]], stop: Callable[[], bool]
    ) -> dict[str, torch.Tensor]:
        """Add up the gradients of all micro-batches; give back the sums of their losses."""
        forget_gradients(self._trainable.network)
        with self._watch.phase("data"):
            batches = self._agreed(make)
            totals = self._totals(batches)
        with only(turn, self._trained):
            return self._agreed(lambda: self._gradients(turn, batches, totals, stop))

    def _batches(
        self, items: Callable[[Sequence[int]], list[Item]], indices: Sequence[int]
    ) -> list[Batch]:
        """The micro-batches of this device."""
        mine = order.share_for(
            self._accelerator.process_index, self._accelerator.num_processes, indices
        )
        return [
            self._to_device(self._trainable.batch(items(micro)))
            for micro in order.micro_batches(mine, self.micro_batch)
        ]

    def _to_device(self, batch: Batch) -> Batch:
        device = self._accelerator.device
        return {
            name: value.to(device, non_blocking=True) if torch.is_tensor(value) else value
            for name, value in batch.items()
        }

    def _totals(self, batches: Sequence[Batch]) -> Totals:
        """What the whole step has to learn from, on all devices."""
        names = sorted({name for batch in batches for name in batch["targets"]})
        sums = {name: sum(float(batch["targets"][name]) for batch in batches) for name in names}
        if self._accelerator.num_processes == 1:
            return sums
        every = _from_all(sums)
        return {
            name: sum(each.get(name, 0.0) for each in every)
            for name in {name for each in every for name in each}
        }

    def _gradients(
        self,
        turn: str,
        batches: Sequence[Batch],
        totals: Totals,
        stop: Callable[[], bool],
    ) -> dict[str, torch.Tensor]:
        sums: dict[str, torch.Tensor] = {}
        for batch in batches:
            if stop():
                raise Interrupted
            with self._watch.phase("forward"), self._accelerator.autocast():
                losses = self._network(batch, totals, turn)
            with self._watch.phase("backward"):
                self._backward(losses["loss"])
            for name, value in losses.items():
                part = value.detach().float()
                sums[name] = sums[name] + part if name in sums else part
        return sums

    def _backward(self, loss: torch.Tensor) -> None:
        scaler = self._accelerator.scaler
        (scaler.scale(loss) if scaler else loss).backward()

    def _change(self, turn: str, sums: dict[str, torch.Tensor], ceiling: float) -> Taken:
        """Change the weights, unless what came out is no number or far too large."""
        optimizer, scaler = self._optimizers[turn], self._accelerator.scaler
        self._add_up_devices(turn, sums)
        if scaler:
            scaler.unscale_(optimizer)
        norm = torch.nn.utils.clip_grad_norm_(
            self._trained[turn], self._clip_norm or math.inf, foreach=True
        )
        names = sorted(sums)
        # The one time in a step that the processor waits for the GPU.
        *values, length = torch.stack([*(sums[name] for name in names), norm.float()]).tolist()
        parts = dict(zip(names, values, strict=True))
        loss = parts.pop("loss")
        fault = _fault(loss, ceiling)
        endless = not fault and not math.isfinite(length)
        # At a scale below 1 nothing is left to lower: the gradient itself is broken.
        overflowed = endless and scaler is not None and scaler.get_scale() >= 1
        if endless and not overflowed:
            fault = "its gradient is no number"
        if not fault:
            (scaler.step(optimizer) if scaler else optimizer.step())
        forget_gradients(self._trainable.network)
        return Taken(loss, parts, length, fault, overflowed)

    def _add_up_devices(self, turn: str, sums: dict[str, torch.Tensor]) -> None:
        if self._accelerator.num_processes == 1:
            return
        # One without a clip in this step has no gradients and no losses: they count as nothing.
        # What none has a gradient for stays without, or weight decay would change it.
        trained = self._trained[turn]
        every_has = _from_all([each.grad is not None for each in trained])
        for each, *has in zip(trained, *every_has, strict=True):
            if each.grad is None and any(has):
                each.grad = torch.zeros_like(each)
        gradients = [each.grad for each in trained if each.grad is not None]
        for bucket in _buckets(gradients):
            flat = torch._utils._flatten_dense_tensors(bucket)
            torch.distributed.all_reduce(flat)
            for gradient, summed in zip(
                bucket, torch._utils._unflatten_dense_tensors(flat, bucket), strict=True
            ):
                gradient.copy_(summed)
        every = _from_all({name: float(value) for name, value in sums.items()})
        for name in sorted({name for each in every for name in each}):
            total = sum(each.get(name, 0.0) for each in every)
            sums[name] = torch.tensor(total, device=self._accelerator.device)

    def _agreed(self, work: Callable[[], Result]) -> Result:
        """Do something that fails on every device when it fails on one."""
        if self._accelerator.num_processes == 1:
            return work()
        failed: Exception | None = None
        try:
            done = work()
        except Exception as error:
            failed = error
        worst = max(_from_all(_grade(failed)))
        if failed is not None and worst == _grade(failed):
            raise failed
        if worst == _BROKEN:
            raise EngineError("Another device could not go on.", "The log says why it could not.")
        if worst == _STOPPED:
            raise Interrupted
        if worst == _OUT_OF_MEMORY:
            raise torch.OutOfMemoryError("another device ran out of memory")
        return done

    def _halve(self, cause: BaseException) -> None:
        """Go on with half as many clips at once; raise when there is only one."""
        memory.free()
        self._ran_out(self.micro_batch)
        if self.micro_batch <= 1:
            raise EngineError(
                "There is not enough memory to learn from one clip at a time.",
                "Close other programs that use it, leave out the longest clips, or choose"
                " recompute, an 8-bit optimizer, or LoRA.",
            ) from cause
        was, self.micro_batch = self.micro_batch, math.ceil(self.micro_batch / 2)
        self._say(
            f"Memory ran out with {was} clips at once: it goes on with {self.micro_batch}, and"
            " adds up more of them for each step. The voice comes out the same."
        )

    def _rewind(self, before: randomness.Chance, buffers: list[torch.Tensor]) -> None:
        forget_gradients(self._trainable.network)
        randomness.restore(before)
        for buffer, was in zip(self._trainable.network.buffers(), buffers, strict=True):
            buffer.copy_(was)

    def _buffers(self) -> list[torch.Tensor]:
        """What a forward pass may change beside the weights: running means."""
        return [each.clone() for each in self._trainable.network.buffers()]


_OUT_OF_MEMORY, _STOPPED, _BROKEN = 1, 2, 3


def _grade(failed: Exception | None) -> int:
    """How bad a failure is: the worst of all devices decides for all."""
    if failed is None:
        return 0
    if isinstance(failed, Interrupted):
        return _STOPPED
    return _OUT_OF_MEMORY if memory.is_out_of_memory(failed) else _BROKEN


def _from_all(mine: Any) -> list[Any]:
    """What every device has, in their order."""
    every: list[Any] = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(every, mine)
    return every


def _buckets(tensors: Sequence[torch.Tensor]) -> Iterator[list[torch.Tensor]]:
    bucket: list[torch.Tensor] = []
    for each in tensors:
        bucket.append(each)
        if sum(one.numel() * one.element_size() for one in bucket) >= _BUCKET_BYTES:
            yield bucket
            bucket = []
    if bucket:
        yield bucket


def _fault(loss: float, ceiling: float) -> str:
    if not math.isfinite(loss):
        return "its loss is no number"
    return f"its loss is {loss:.3g}, far above what is usual" if loss > ceiling else ""


def _together(turns: Sequence[Taken]) -> Taken:
    """The turns of a step as one: losses of all, the first fault."""
    if len(turns) == 1:
        return turns[0]
    return Taken(
        sum(each.loss for each in turns),
        {name: value for each in turns for name, value in each.parts.items()},
        max(each.norm for each in turns),
        next((each.fault for each in turns if each.fault), ""),
        any(each.overflowed for each in turns),
    )


def _never() -> bool:
    return False
