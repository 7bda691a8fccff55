"""An engine that trains next to nothing and speaks silence: the whole way without a model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from engines.base import Base, Batch, Clip, Features, Item, Manners, Sound, all_in, chosen
from engines.errors import EngineError
from engines.settings import Checked, setting

# As slow as a calm reader, so that durations look like speech.
CHARACTERS_PER_SECOND = 15
FILE = "silence.json"


@dataclass(frozen=True)
class SilentSettings(Checked):
    """How it keeps silent."""

    patience: float = setting(1.0, "How long it keeps silent", low=0.1, high=10)


class Silent:
    """The light half."""

    name = "silent"
    title = "Silence"
    about = "Trains next to nothing and speaks silence, for tests."
    licence = "Apache-2.0"
    languages = frozenset({"en"})
    sample_rate = 16000
    min_clip_seconds = 0.1
    max_clip_seconds = 20.0
    half_on_processors = False
    exports: ClassVar[dict[str, str]] = {}
    own_form = ""
    bases = (Base("silence", "CC0-1.0"),)
    base_files = (FILE,)
    settings: type[Checked] = SilentSettings
    advised = MappingProxyType({"learning_rate": 0.1, "batch": 2, "epochs": 1})

    def speaks(self, language: str) -> bool:
        return language in self.languages

    def missing(self) -> str:
        return ""

    def base_in(self, folder: Path) -> list[Path]:
        return all_in(folder, self.base_files, self.title)

    def convert(self, base: Path, folder: Path) -> None:
        try:
            level = float(json.loads((base / FILE).read_text())["level"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise EngineError(f"{base.name} is no silence.", "Choose a quieter base.") from error
        (folder / FILE).write_text(json.dumps({"level": level}))

    def load(self, base: Path, settings: Checked) -> SilentModel:
        return SilentModel(json.loads((base / FILE).read_text())["level"], settings)

    def manners_in(self, folder: Path) -> Manners:
        return {}

    def open_voice(self, folder: Path, device: str = "cpu") -> SilentVoice:
        if not (folder / FILE).is_file():
            raise EngineError(f"{folder.name} is no silent voice.", "Open one that is.")
        return SilentVoice()


class SilentModel:
    """The heavy half: one number, which learns how loud the clips are."""

    turns: tuple[str, ...] = ("model",)
    features_version = "silent 1"

    def __init__(self, level: float, settings: Checked) -> None:
        self.network = _network(level)
        self.patience = settings.patience

    def problem(self, clip: Clip) -> str:
        return "" if clip.text.strip() else "It has no text."

    def features(self, clips: Sequence[Clip]) -> list[Features]:
        return [{"loudness": np.abs(clip.sound.samples).astype(np.float32)} for clip in clips]

    def forget_features(self) -> None:
        pass  # nothing is held for them

    def length(self, features: Features) -> int:
        return len(features["loudness"])

    def batch(self, items: Sequence[Item]) -> Batch:
        from torch.nn.utils.rnn import pad_sequence

        rows = [item.features["loudness"] for item in items]
        # What fills up is below any loudness, and no target.
        padded = pad_sequence(rows, batch_first=True, padding_value=-1.0)
        return {"loudness": padded, "targets": {"samples": sum(map(len, rows))}}

    def parameters(self, turn: str) -> Iterable[Any]:
        return self.network.parameters()

    def blocks(self) -> Sequence[Any]:
        return []

    def save(self, folder: Path) -> None:
        (folder / FILE).write_text(json.dumps({"level": self.network.level.item()}))

    def speak(self, text: str, language: str, reference: Sound, seed: int) -> Sound:
        return _silence(text, self.patience)


class SilentVoice:
    """A finished voice; it needs no torch."""

    sample_rate: int = Silent.sample_rate
    manners: Mapping[str, tuple[float, float, float]] = MappingProxyType({"speed": (0.5, 1.0, 2.0)})

    def longest_text(self, language: str) -> int:
        return 100

    def speak(
        self, text: str, language: str, reference: Sound, seed: int, **manners: float
    ) -> Sound:
        return _silence(text, 1 / chosen(self.manners, manners)["speed"])


def _silence(text: str, patience: float) -> Sound:
    seconds = len(text) / CHARACTERS_PER_SECOND * patience
    samples = round(seconds * Silent.sample_rate)
    return Sound(np.zeros(samples, dtype=np.float32), Silent.sample_rate)


def _network(level: float) -> Any:
    """Make the module only when it is asked for: tests of the studio load no torch."""
    import torch

    class Level(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.level = torch.nn.Parameter(torch.tensor(level))

        def forward(self, batch: Batch, totals: Any, turn: str = "model") -> Any:
            loudness = batch["loudness"]
            off = (loudness - self.level).square() * (loudness >= 0)
            return {"loss": off.sum() / totals["samples"]}

    return Level()


ENGINE = Silent()
