"""Pocket's bases and voices on disk are one and the same: a voice can be learned from again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from engines.errors import EngineError
from engines.pocket import weights
from engines.pocket.facts import CONFIG, PHONES, WEIGHTS
from engines.pocket.network import PocketNetwork
from engines.pocket.shape import Shape

VERSION = 1
_LEARNED = ("acoustic", "vocoder")


def load(base: Path, dropout: float) -> tuple[PocketNetwork, weights.Net]:
    """The networks of a base, and its aligner; raise EngineError for what is none."""
    try:
        every = weights.read(base / WEIGHTS)
        config = json.loads((base / CONFIG).read_bytes())
        _refuse_newer(config)
        with torch.random.fork_rng(devices=[]):  # its first weights are written over at once
            network = PocketNetwork(Shape.read(config.get("shape"), dropout))
        for name in _LEARNED:
            found = {
                key: torch.from_numpy(each) for key, each in weights.net_of(every, name).items()
            }
            getattr(network, name).load_state_dict(found)
        network.eval()
        return network, _aligner_in(every)
    except (OSError, ValueError, RuntimeError, SafetensorError) as cause:
        raise EngineError(
            f"{base} is no base of Pocket that this Timbre can load ({_first_line(cause)}).",
            "Leave --base out to take the one that ships with Timbre.",
        ) from cause


def save(network: PocketNetwork, aligner: weights.Net, folder: Path) -> None:
    """Write what speaks, and what a further voice would be aligned with, into a folder."""
    nets: dict[str, Mapping[str, Any]] = {
        name: {key: each.cpu().numpy() for key, each in getattr(network, name).state_dict().items()}
        for name in _LEARNED
    }
    weights.write(
        folder,
        {**nets, "aligner": aligner},
        {"v": VERSION, "shape": network.acoustic.shape.to_json()},
    )


def convert(base: Path, folder: Path) -> None:
    """Write a base anew, of what was understood of it."""
    network, aligner = load(base, dropout=0.0)
    save(network, aligner, folder)


def _aligner_in(every: weights.Net) -> weights.Net:
    found = weights.net_of(every, "aligner")
    if "take_in.weight" not in found or len(found.get("out.bias", ())) != len(PHONES):
        raise ValueError("it has no aligner")
    return found


def _refuse_newer(config: Any) -> None:
    version = config.get("v") if isinstance(config, dict) else None
    if version != VERSION:
        raise ValueError(f"its version is {version!r}")


def _first_line(cause: Exception) -> str:
    return str(cause).strip().splitlines()[0] if str(cause).strip() else type(cause).__name__
