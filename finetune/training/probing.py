"""One training asked for its memory on one device: a probe, and what there is room for."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TypeVar

import psutil
import torch
from accelerate import Accelerator

from engines.base import Item, Trainable
from finetune.fitting import budget
from finetune.fitting.budget import Room
from finetune.fitting.peaks import Held, Point, Timed
from finetune.settings import TrainSettings
from finetune.training import memory
from finetune.training.gauge import Counted, CudaGauge
from finetune.training.rehearsal import Rehearsal, bytes_of
from finetune.training.sampling import undisturbed
from finetune.training.turns import trained_of

Result = TypeVar("Result")
_ADAMW_NUMBERS = 2


@dataclass(frozen=True, slots=True)
class Probed:
    """What a probe found."""

    held: Held
    points: tuple[Point, ...]
    fragmented: float


class Prober:
    """Probes one training, inside the room that there is."""

    def __init__(
        self,
        trainable: Trainable,
        settings: TrainSettings,
        accelerator: Accelerator,
        room: Room,
        speak: Callable[[], object] | None = None,
    ) -> None:
        self._trainable, self._settings, self._accelerator = trainable, settings, accelerator
        self._room, self._speak = room, speak
        self.count = 0
        """How many probes there were."""

    @property
    def gradients(self) -> int:
        """Bytes of the weights that learn, and of their gradients."""
        trained = trained_of(self._trainable).values()
        return bytes_of(each for turn in trained for each in turn)

    @property
    def held(self) -> int:
        """What will lie there all the time at least, as AdamW keeps two numbers for each weight."""
        network = self._trainable.network
        kept = _ADAMW_NUMBERS if self._settings.optimizer == "adamw" else 0
        lasting = bytes_of([*network.parameters(), *network.buffers()])
        return lasting + (1 + kept) * self.gradients

    def probe(self, clips: Sequence[Item], count: int) -> Probed | None:
        """Measure `count` of each clip at once; None when memory runs out."""
        self.count += 1

        def measured(gauge: Counted | CudaGauge) -> Probed:
            rehearsal = self._rehearsal(gauge)
            points = tuple(rehearsal.probe(clips, count, timed=True))
            return Probed(rehearsal.held(), points, gauge.fragmented())

        return self._within_room(measured)

    def time(self, clip: Item, count: int) -> Timed | None:
        """
        Time `count` clips at once of which it is known that they fit; None when they do not.

        It is no probe of the memory, and asks for less of it: no optimizer is there.
        """

        def measured(gauge: Counted | CudaGauge) -> Timed:
            with gauge.aside():
                return self._rehearsal(gauge).time(clip, count)

        return self._within_room(measured)

    def speaking(self) -> int | None:
        """What speaking a sentence takes beside the weights; None when memory runs out."""
        speak = self._speak
        if speak is None:
            return 0

        def measured(gauge: Counted | CudaGauge) -> int:
            before = gauge.held()
            gauge.set_back()
            with undisturbed(self._trainable.network):
                speak()
            return gauge.peak() - before

        return self._within_room(measured)

    def _rehearsal(self, gauge: Counted | CudaGauge) -> Rehearsal:
        return Rehearsal(
            *(self._trainable, self._trainable.network, trained_of(self._trainable)),
            *(self._settings, self._accelerator, gauge),
        )

    def _within_room(self, work: Callable[[Counted | CudaGauge], Result]) -> Result | None:
        """Do something under a gauge; None when memory runs out."""
        memory.free()
        gauge = self._gauge()
        try:
            with gauge if isinstance(gauge, Counted) else nullcontext():
                return work(gauge)
        except Exception as error:
            if not memory.is_out_of_memory(error):
                raise
            # The error holds on to its frames, and they to everything that was made.
            traceback.clear_frames(error.__traceback__)
            return None
        finally:
            memory.free()

    def _gauge(self) -> Counted | CudaGauge:
        """Where nothing tells of memory it is counted, and refused before the system would kill."""
        if self._accelerator.device.type == "cuda":
            return CudaGauge()
        gauge = Counted(self._room.for_tensors)
        network = self._trainable.network
        gauge.begin_with([*network.parameters(), *network.buffers()])
        return gauge


def room_on(device: torch.device, network: torch.nn.Module) -> Room:
    """The room there is now, together with what this process takes already."""
    if device.type == "cuda":
        free, total = torch.cuda.mem_get_info(device)
        mine = int(torch.cuda.memory_reserved(device))
        return budget.of_card(total, free + mine, windows=psutil.WINDOWS, context=0)
    now, mine = psutil.virtual_memory(), int(psutil.Process().memory_info().rss)
    beside = max(0, mine - bytes_of([*network.parameters(), *network.buffers()]))
    return budget.of_computer(now.total, min(now.total, now.available + mine), beside)


def keep_within(room: Room, device: torch.device) -> None:
    """Let the allocator refuse where the room ends, before Windows begins to swap the GPU."""
    if device.type == "cuda":
        total = torch.cuda.get_device_properties(device).total_memory
        # Of the current device, which is this one: it does not take a device without a number.
        torch.cuda.set_per_process_memory_fraction(min(1.0, room.for_allocator / total))
