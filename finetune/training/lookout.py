"""What is watched while a run learns: GPU and computer, kept with the run; and memory that spills."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from finetune import gpu
from finetune.jobs.events import Event, Planned, Said, Step
from finetune.monitor.cards import Card, pcie_limit_mb_s
from finetune.monitor.kept import Kept
from finetune.monitor.machine import Machine
from finetune.monitor.sampler import Reading, Sampler
from finetune.monitor.spill import Moment, spilling

_KEPT_MOMENTS = 600
"""Seconds that are looked back on, for how fast it was before."""
_MIB = 2**20
# What every step does; saving comes now and then.
_OF_A_STEP = ("data", "forward", "backward", "optimizer")


class Lookout:
    """Notes what happens around a run; says, once, when its memory spills."""

    def __init__(self, say: Callable[[Event], None], path: Path, device: torch.device) -> None:
        self._tell, self._kept, self._device = say, Kept(path), device
        self._moments: deque[Moment] = deque(maxlen=_KEPT_MOMENTS)
        self._step: Step | None = None
        self._measured_ms: float | None = None
        self._warning = ""
        self._warned = False

    def say(self, event: Event) -> None:
        """Pass on what the run tells, and take note of its speed."""
        self._tell(event)
        match event:
            case Step():
                self._step = event
            case Planned(micro_batch=clips, accumulation=times, clips_per_second=speed) if speed:
                self._measured_ms = 1000 * clips * times / speed
        # Here, because what tells of a run is told by one thread.
        if self._warning and not self._warned:
            self._warned = True
            self._tell(Said(self._warning))

    def note(self, reading: Reading) -> None:
        """Keep a reading; called each second, in a thread of its own."""
        self._kept.note(reading)
        card = card_of(reading, self._device)
        if card is not None and not self._warning:
            self._moments.append(self._moment(reading, card))
            self._warning = spilling(list(self._moments), self._measured_ms)

    def _moment(self, reading: Reading, card: Card) -> Moment:
        reserved = torch.cuda.memory_reserved(self._device) // _MIB
        step, moved = self._step, [card.received_mb_s, card.sent_mb_s]
        return Moment(
            at=reading.at,
            total_mib=card.total_mib,
            free_mib=card.free_mib,
            others_mib=_others(card, reserved),
            reserved_mib=reserved,
            link_mb_s=max((each for each in moved if each is not None), default=None),
            link_limit_mb_s=pcie_limit_mb_s(card),
            clips_per_second=step.clips_per_second if step else None,
            step_ms=sum(step.ms.get(name, 0.0) for name in _OF_A_STEP) if step else None,
        )


@contextmanager
def looking_out(lookout: Lookout, root: Path) -> Iterator[None]:
    """Read GPU and computer while the block runs; `root` is on the disk that is watched."""
    sampler = Sampler(gpu.DRIVER, Machine(root), noted=lookout.note)
    sampler.start()
    try:
        yield
    finally:
        sampler.stop()


def card_of(reading: Reading, device: torch.device) -> Card | None:
    """The card that a run computes on, by its UUID: drivers and CUDA count differently."""
    if device.type != "cuda":
        return None
    uuid = f"GPU-{torch.cuda.get_device_properties(device).uuid}"
    return next((each for each in reading.gpus.cards if each.uuid == uuid), None)


def _others(card: Card, reserved: int) -> int | None:
    """What is used beside this run's tensors; the driver's own share is in it."""
    return None if card.used_mib is None else max(0, card.used_mib - reserved)
