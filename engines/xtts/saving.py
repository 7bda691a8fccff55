"""A voice as coqui-tts itself and AllTalk load it: one folder, for speaking only."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch
from TTS.tts.configs.xtts_config import XttsArgs, XttsAudioConfig, XttsConfig

from engines.xtts import facts, loading
from engines.xtts.adapters import merged_state


def save(xtts: Any, base: Path, folder: Path) -> None:
    """
    Write model.pth, config.json, vocab.json and speakers_xtts.pth into an empty folder.

    Additions of LoRA are worked into the weights; the model that is trained stays as it is.
    """
    torch.save({"model": weights(xtts)}, folder / "model.pth")
    public_config(xtts.config).save_json(str(folder / "config.json"))
    shutil.copyfile(base / "vocab.json", folder / "vocab.json")
    torch.save(loading.speakers(base), folder / "speakers_xtts.pth")


def weights(xtts: Any) -> dict[str, torch.Tensor]:
    """Give what an Xtts that only speaks is made of, by the names it has there."""
    decoder = xtts.hifigan_decoder.state_dict()
    state = {
        **{f"gpt.{name}": value for name, value in merged_state(xtts.gpt).items()},
        **{f"hifigan_decoder.{name}": value for name, value in decoder.items()},
        "mel_stats": xtts.mel_stats,
    }
    return {name: _plain(value) for name, value in state.items()}


def public_config(config: XttsConfig) -> XttsConfig:
    """Make the config anew from what was read, so that nothing of this computer is in it."""
    return XttsConfig(
        model_args=XttsArgs(**{name: config.model_args[name] for name in facts.MODEL_ARGS}),
        audio=XttsAudioConfig(**{name: config.audio[name] for name in facts.AUDIO}),
        languages=list(config.languages),
        **{name: config[name] for name in facts.SPOKEN},
    )


def _plain(value: torch.Tensor) -> torch.Tensor:
    kept = value.detach().cpu()
    return (kept.float() if kept.is_floating_point() else kept).clone(
        memory_format=torch.contiguous_format
    )
