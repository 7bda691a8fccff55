"""XTTS as the training loop sees it: the heavy half of the engine."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from engines.base import Batch, Clip, Features, Item, Sound
from engines.xtts import loading, saving, speaking
from engines.xtts.adapters import add_lora, freeze
from engines.xtts.batches import Marks, collate
from engines.xtts.features import FLOOR, Featurizer
from engines.xtts.network import XttsNetwork, set_dropout
from engines.xtts.settings import XttsSettings

# Raised whenever the code makes other features of the same clip and base.
_FEATURES_CODE = 1
_FEATURES_FROM = ("dvae.safetensors", "mel_stats.safetensors", "vocab.json")


class XttsModel:
    """A converted base in memory, ready to train and to speak."""

    turns: tuple[str, ...] = ("model",)

    def __init__(self, base: Path, settings: XttsSettings) -> None:
        self._base, self._settings = base, settings
        self._xtts = loading.load(base)
        _prepare(self._xtts.gpt, settings)
        self.network = XttsNetwork(self._xtts.gpt)
        self.features_version = features_version(base)
        self._marks = Marks.of(self._xtts.gpt)
        self._silence = math.log(FLOOR) / loading.mel_stats(base)
        self._featurizer: Featurizer | None = None

    def problem(self, clip: Clip) -> str:
        return self._ready_featurizer().problem(clip)

    def features(self, clips: Sequence[Clip]) -> list[Features]:
        # The network is there too, with its weights of 1.8 GB: features go where it is.
        return self._ready_featurizer().to(self._xtts.device).features(clips)

    def forget_features(self) -> None:
        self._featurizer = None

    def length(self, features: Features) -> int:
        return len(features["text"]) + len(features["codes"])

    def batch(self, items: Sequence[Item]) -> Batch:
        return collate(items, self._settings, self._marks, self._silence)

    def parameters(self, turn: str) -> Iterable[Any]:
        return (each for each in self.network.parameters() if each.requires_grad)

    def blocks(self) -> Sequence[Any]:
        return list(self._xtts.gpt.gpt.h)

    def save(self, folder: Path) -> None:
        saving.save(self._xtts, self._base, folder)

    def speak(self, text: str, language: str, reference: Sound, seed: int) -> Sound:
        return speaking.speak(self._xtts, text, language, reference, seed)

    def _ready_featurizer(self) -> Featurizer:
        """Bring in the DVAE, 100 MB, only when it is asked for."""
        if self._featurizer is None:
            dvae, norms = loading.load_dvae(self._base), loading.mel_stats(self._base)
            self._featurizer = Featurizer(self._xtts.tokenizer, dvae, norms)
        return self._featurizer


def features_version(base: Path) -> str:
    """Tell bases apart that make other features of the same clip."""
    digest = hashlib.sha256(f"xtts {_FEATURES_CODE}".encode())
    for name in _FEATURES_FROM:
        content = (base / name).read_bytes()
        digest.update(f" {name} {len(content)} ".encode())
        digest.update(content)
    return digest.hexdigest()


def _prepare(gpt: Any, settings: XttsSettings) -> None:
    """Decide what of the network learns, and how."""
    if settings.dropout >= 0:
        set_dropout(gpt, settings.dropout)
    if settings.lora_rank:
        add_lora(gpt, settings.lora_rank, settings.lora_alpha)
    freeze(gpt, settings.frozen)
