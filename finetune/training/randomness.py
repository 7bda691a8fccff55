"""Everything that is drawn by chance: kept, put back, and left as it was."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

# What a generator of torch on a device is kept under.
_DEVICE = "device"


@dataclass(frozen=True, slots=True)
class Chance:
    """The state of every generator: Python's, NumPy's, torch's and each device's."""

    python: tuple[Any, ...]
    numpy: dict[str, Any]
    torch: torch.Tensor
    devices: tuple[torch.Tensor, ...]


def capture() -> Chance:
    return Chance(
        random.getstate(),
        dict(np.random.get_state(legacy=False)),
        torch.get_rng_state(),
        tuple(torch.cuda.get_rng_state_all()) if torch.cuda.is_available() else (),
    )


def restore(chance: Chance) -> None:
    """Let every generator go on from there; a machine with other GPUs keeps theirs as they are."""
    random.setstate(chance.python)
    np.random.set_state(chance.numpy)
    torch.set_rng_state(chance.torch)
    for number, state in enumerate(chance.devices[: torch.cuda.device_count()]):
        torch.cuda.set_rng_state(state, number)


@contextmanager
def untouched() -> Iterator[None]:
    """Whatever is drawn inside, outside nothing was."""
    before = capture()
    try:
        yield
    finally:
        restore(before)


def seed_all(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)  # every device too


def to_plain(chance: Chance) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """Write the states as JSON and tensors."""
    version, inner, gauss = chance.python
    numpy = chance.numpy
    plain = {
        "python": [version, list(inner), gauss],
        "numpy": {**numpy, "state": {**numpy["state"], "key": numpy["state"]["key"].tolist()}},
    }
    devices = {f"{_DEVICE}{number}": state for number, state in enumerate(chance.devices)}
    return plain, {"torch": chance.torch, **devices}


def from_plain(plain: dict[str, Any], tensors: dict[str, torch.Tensor]) -> Chance:
    version, inner, gauss = plain["python"]
    numpy = plain["numpy"]
    key = np.array(numpy["state"]["key"], dtype=np.uint32)
    count = sum(name.startswith(_DEVICE) for name in tensors)
    return Chance(
        (version, tuple(inner), gauss),
        {**numpy, "state": {**numpy["state"], "key": key}},
        tensors["torch"],
        tuple(tensors[f"{_DEVICE}{number}"] for number in range(count)),
    )
