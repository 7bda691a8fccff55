"""What a larger batch asks of the learning rate."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Offer:
    """A learning rate for another batch than the engine's own."""

    rate: float
    rule: str
    """"square root" or "linear"."""
    reason: str


def offers(advised_rate: float, advised_batch: int, batch: int) -> tuple[Offer, ...]:
    """Rates for a batch that a person chose, the recommended first; none where it stays."""
    if batch == advised_batch:
        return ()
    times = batch / advised_batch
    bold = "bolder with AdamW; take it with a longer warm-up"
    beside = bold if times > 1 else "more cautious with AdamW"
    root = Offer(
        advised_rate * math.sqrt(times),
        "square root",
        f"the batch is {times:g} times the advised {advised_batch}, and AdamW divides by the size"
        " of its gradients, whose noise falls with the square root of the batch",
    )
    linear = Offer(
        advised_rate * times,
        "linear",
        f"the batch is {times:g} times the advised {advised_batch}: the rule of plain gradient"
        f" descent, {beside}",
    )
    return root, linear
