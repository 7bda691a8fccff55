"""Pocket's weights on disk: one file for its three networks, in half precision, and a page of JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from engines.pocket.facts import CONFIG, WEIGHTS
from engines.pocket.sound import Floats

NETS = ("acoustic", "vocoder", "aligner")
Net = Mapping[str, Floats]


def read(path: Path) -> Net:
    """Tensors of a file, in full precision."""
    return {name: each.astype(np.float32) for name, each in load_file(path).items()}


def net_of(every: Net, name: str) -> Net:
    """One of the networks of a file."""
    return {
        key.removeprefix(f"{name}."): each
        for key, each in every.items()
        if key.startswith(f"{name}.")
    }


def write(folder: Path, nets: Mapping[str, Net], config: Mapping[str, Any]) -> None:
    """Write networks into a folder; halves lose nothing that can be heard and take half the room."""
    folder.mkdir(exist_ok=True)
    halves = {
        f"{net}.{name}": np.ascontiguousarray(each, np.float16)
        for net, weights in nets.items()
        for name, each in weights.items()
    }
    save_file(halves, folder / WEIGHTS)
    (folder / WEIGHTS).chmod(0o644)  # safetensors makes files that only their owner may read
    (folder / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
