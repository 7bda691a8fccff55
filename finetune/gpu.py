"""The GPUs of this machine as their driver tells; what it does not tell is None, never 0."""

from __future__ import annotations

from finetune.monitor.cards import Card, Gpus, held_mib
from finetune.monitor.driver import TIMEOUT_SECONDS, Driver

__all__ = ["DRIVER", "Card", "Gpus", "held_mib", "read"]

# One for the whole process: however often a driver that hangs is asked, one thread hangs with it.
DRIVER = Driver()


def read(timeout_seconds: float = TIMEOUT_SECONDS) -> Gpus:
    """Ask the driver. A driver that hangs is left behind after the timeout, and said so."""
    return DRIVER.read(timeout_seconds)
