"""An engine that trains nothing and speaks silence: the whole way without a model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from engines.base import Base, Batch, Clip, Features, Losses, Sound

# As slow as a calm reader, so that durations look like speech.
CHARACTERS_PER_SECOND = 15


class Silent:
    """The light half."""

    name = "silent"
    title = "Silence"
    about = "Trains nothing and speaks silence, for tests."
    licence = "Apache-2.0"
    languages = frozenset({"en"})
    sample_rate = 16000
    min_clip_seconds = 0.1
    max_clip_seconds = 20.0
    bases = (Base("silence", "CC0-1.0"),)

    def speaks(self, language: str) -> bool:
        return language in self.languages

    def missing(self) -> str:
        return ""

    def load(self, base: Path, device: str) -> SilentModel:
        return SilentModel(json.loads((base / "silence.json").read_text())["steps"])


class SilentModel:
    """The heavy half: one number, which counts the batches it has seen."""

    turns = ("model",)

    def __init__(self, steps: int) -> None:
        self.steps = np.array(steps)

    def features(self, clip: Clip) -> Features:
        return {"samples": clip.sound.samples, "letters": np.array([ord(c) for c in clip.text])}

    def batch(self, clips: Sequence[Features]) -> Batch:
        longest = max(len(clip["samples"]) for clip in clips)
        padded = [np.pad(c["samples"], (0, longest - len(c["samples"]))) for c in clips]
        return {"samples": np.stack(padded)}

    def parameters(self, turn: str) -> Iterable[np.ndarray]:
        return [self.steps]

    def losses(self, batch: Batch, turn: str) -> Losses:
        self.steps += 1
        return {"loss": float(np.mean(batch["samples"] ** 2)) / int(self.steps)}

    def save(self, folder: Path) -> None:
        (folder / "silence.json").write_text(json.dumps({"steps": int(self.steps)}))

    def speak(self, text: str, language: str, reference: Sound, seed: int) -> Sound:
        samples = round(len(text) / CHARACTERS_PER_SECOND * Silent.sample_rate)
        return Sound(np.zeros(samples, dtype=np.float32), Silent.sample_rate)


ENGINE = Silent()
