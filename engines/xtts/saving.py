"""A finished voice on disk, for speaking only: safetensors and JSON, named as a base's are."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from engines.xtts.adapters import merged_state

WEIGHTS = "model.safetensors"
# Converted bases have them so already: cleaned, and nothing of any computer in them.
_AS_THE_BASE_HAS_THEM = ("config.json", "vocab.json", "speakers.safetensors", "speakers.json")


def save(xtts: Any, base: Path, folder: Path) -> None:
    """
    Write a voice into an empty folder; what only trains (the DVAE) is not in it.

    Additions of LoRA are worked into the weights; the model that is trained stays as it is.
    """
    save_file(weights(xtts), folder / WEIGHTS)
    for name in _AS_THE_BASE_HAS_THEM:
        shutil.copyfile(base / name, folder / name)


def weights(xtts: Any) -> dict[str, torch.Tensor]:
    """Give what an Xtts that only speaks is made of, by the names it has there."""
    decoder = xtts.hifigan_decoder.state_dict()
    state = {
        **{f"gpt.{name}": value for name, value in merged_state(xtts.gpt).items()},
        **{f"hifigan_decoder.{name}": value for name, value in decoder.items()},
        "mel_stats": xtts.mel_stats,
    }
    return {name: _plain(value) for name, value in state.items()}


def _plain(value: torch.Tensor) -> torch.Tensor:
    kept = value.detach().cpu()
    return (kept.float() if kept.is_floating_point() else kept).clone(
        memory_format=torch.contiguous_format
    )
