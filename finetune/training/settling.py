"""From what a person chose to what a run does: every 0 and auto becomes a number, with its reason."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from finetune.settings import TrainSettings

# Enough hearings to see a curve, each of which costs as much as dozens of steps.
_HEARINGS, _STEPS_BETWEEN = 12, 50
# Where an engine advises steps: no clip is learned from less often.
_FEWEST_EPOCHS = 4
_LONGEST_BATCH_SHARE = 0.25
"""With few clips a batch holds at most this share of them: an epoch is then four steps."""


@dataclass(frozen=True, slots=True)
class Settled:
    """A run as it will be done."""

    settings: TrainSettings
    """With nothing left to be settled but what depends on the machine."""
    steps_per_epoch: int
    total: int
    reasons: tuple[str, ...]

    @property
    def sentences(self) -> list[str]:
        return [f"{each[0].upper()}{each[1:]}." for each in self.reasons]


def settle(
    settings: TrainSettings, advised: Mapping[str, float], clips: int, clips_per_epoch: int
) -> Settled:
    """Fill in what was left open, for so many clips to learn from."""
    reasons: list[str] = []
    batch = settings.batch or _batch(int(advised["batch"]), clips, reasons)
    steps = math.ceil(clips_per_epoch / batch)
    epochs = settings.epochs or _epochs(advised, steps, reasons)
    rate = settings.learning_rate or float(advised["learning_rate"])
    if not settings.learning_rate:
        reasons.append(f"learning rate {rate:g}: as the engine advises for its batch")
    ema = settings.ema or float(advised.get("ema", 0.0))
    if ema != settings.ema:
        reasons.append(
            f"an average of the weights over {1 / (1 - ema):.0f} steps: as the engine advises"
        )
    total = steps * epochs
    micro = min(settings.micro_batch or batch, batch)
    settled = replace(
        settings,
        batch=batch,
        micro_batch=micro,
        epochs=epochs,
        learning_rate=rate,
        ema=ema,
        listen_every=settings.listen_every or max(_STEPS_BETWEEN, math.ceil(total / _HEARINGS)),
    )
    return Settled(settled, steps, total, tuple(reasons))


def _batch(advised: int, clips: int, reasons: list[str]) -> int:
    most = max(1, int(clips * _LONGEST_BATCH_SHARE))
    if most < advised:
        reasons.append(f"batch {most}: with {clips} clips, more would be too few steps")
        return most
    reasons.append(f"batch {advised}: as the engine advises")
    return advised


def _epochs(advised: Mapping[str, float], steps: int, reasons: list[str]) -> int:
    if "steps" not in advised:
        epochs = int(advised["epochs"])
        reasons.append(f"{epochs} epochs: as the engine advises")
        return epochs
    epochs = max(_FEWEST_EPOCHS, math.ceil(advised["steps"] / steps))
    reasons.append(
        f"{epochs} epochs: the engine learns a voice in about {advised['steps']:.0f} steps"
    )
    return epochs


def affordable(seconds_per_step: float, seconds_left: float, done: int, total: int) -> int:
    """How many steps a run can have, in all, when it is to end in so many seconds."""
    if seconds_per_step <= 0:
        return total
    return max(done + 1, min(total, done + int(seconds_left / seconds_per_step)))
