"""The learning rate of each step: it rises first, and its fall ends with the run."""

from __future__ import annotations

import math

from finetune.settings import TrainSettings


def rate_at(step: int, total: int, full: float, settings: TrainSettings) -> float:
    """The rate of a step, counted from 0, of `total`."""
    rising = math.ceil(settings.warmup_share * total)
    if step < rising:
        return full * (step + 1) / rising
    done = (step - rising) / max(1, total - rising)
    return full * _left(min(1.0, done), settings.decay)


def _left(done: float, decay: str) -> float:
    if decay == "cosine":
        return (1 + math.cos(math.pi * done)) / 2
    return 1 - done if decay == "linear" else 1.0
