"""A small engine that really learns: everything a training loop can get wrong shows in its weights."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from engines.base import (
    Base,
    Batch,
    Clip,
    Features,
    Item,
    Losses,
    Manners,
    Sound,
    Totals,
    all_in,
    chosen,
)
from engines.settings import Checked, setting

RATE = 8000
FRAME = 80


@dataclass(frozen=True)
class LearnerSettings(Checked):
    dropout: float = setting(0.1, "Share of what is left out at random", low=0, high=0.9)
    draws: bool = setting(False, "Draw from Python's, NumPy's and torch's generators in each step")
    spare: bool = setting(False, "Have weights that no step uses")


class Network(nn.Module):
    """Tells the next frame of a sound from this one and the letters."""

    def __init__(self, settings: LearnerSettings, size: int = 16) -> None:
        super().__init__()
        self.letters = nn.Embedding(128, size)
        self.into = nn.Linear(FRAME, size)
        self.block = nn.Sequential(nn.Linear(size, size), nn.Tanh(), nn.Dropout(settings.dropout))
        self.out = nn.Linear(size, FRAME)
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))
        self.draws = settings.draws
        if settings.spare:
            self.spare = nn.Parameter(torch.ones(size, size))
        self.before: Callable[[Batch], None] = lambda batch: None
        """Called with each batch, for tests that want something to go wrong."""

    def forward(self, batch: Batch, totals: Totals, turn: str) -> Losses:
        self.before(batch)
        if self.training:
            self.seen += 1
        spoken = self.letters(batch["letters"]) * batch["spoken"][..., None]
        told = self.tell(batch, spoken)
        errors = ((told - batch["frames"][:, 1:]) ** 2).mean(-1) * batch["heard"][:, 1:]
        frames = errors.sum() / totals["frames"]
        size = (spoken**2).sum() / totals["letters"]
        return {"loss": frames + 0.01 * size, "frames": frames, "letters": size}

    def tell(self, batch: Batch, spoken: torch.Tensor) -> torch.Tensor:
        """The frames after the first."""
        hidden = self.into(batch["frames"][:, :-1]) + spoken.sum(1, keepdim=True) / 10
        if self.training and self.draws:
            drawn = random.random() + float(np.random.rand()) + float(torch.rand(()))
            hidden = hidden + 0.1 * drawn
        return self.out(self.block(hidden))


class Rivals(Network):
    """Two that learn in turns: one goes on with a sound, the other tells whether it is real."""

    def __init__(self, settings: LearnerSettings, size: int = 16) -> None:
        super().__init__(settings, size)
        self.critic = nn.Sequential(nn.Linear(FRAME, size), nn.Tanh(), nn.Linear(size, 1))

    def forward(self, batch: Batch, totals: Totals, turn: str) -> Losses:
        if turn == "generator":
            losses = super().forward(batch, totals, turn)
            adversary = self._judged(batch, totals, real=False, wanted=1.0)
            return {**losses, "loss": losses["loss"] + 0.1 * adversary, "adversary": adversary}
        self.before(batch)
        loss = self._judged(batch, totals, real=True, wanted=1.0)
        loss = loss + self._judged(batch, totals, real=False, wanted=0.0)
        return {"loss": loss, "critic": loss}

    def _judged(self, batch: Batch, totals: Totals, real: bool, wanted: float) -> torch.Tensor:
        spoken = self.letters(batch["letters"]) * batch["spoken"][..., None]
        frames = batch["frames"][:, 1:] if real else self.tell(batch, spoken)
        missed = (self.critic(frames)[..., 0] - wanted) ** 2 * batch["heard"][:, 1:]
        return missed.sum() / totals["frames"]


class Learner:
    """The light half."""

    name = "learner"
    title = "Learner"
    about = "Learns to go on with a sound, for tests."
    licence = "Apache-2.0"
    languages = frozenset({"en"})
    sample_rate = RATE
    min_clip_seconds = 0.1
    max_clip_seconds = 12.0
    half_on_processors = False
    exports: ClassVar[dict[str, str]] = {}
    own_form = ""
    bases = (Base("blank", "CC0-1.0"),)
    base_files = ("learner.safetensors",)
    settings = LearnerSettings
    advised = MappingProxyType({"learning_rate": 0.01, "batch": 4, "epochs": 3})

    def speaks(self, language: str) -> bool:
        return language in self.languages

    def missing(self) -> str:
        return ""

    def base_in(self, folder: Path) -> list[Path]:
        return all_in(folder, self.base_files, self.title)

    def convert(self, base: Path, folder: Path) -> None:
        (folder / "learner.safetensors").write_bytes((base / "learner.safetensors").read_bytes())

    def load(self, base: Path, settings: Checked) -> LearnerModel:
        assert isinstance(settings, LearnerSettings)
        model = LearnerModel(settings)
        model.network.load_state_dict(load_file(base / "learner.safetensors"))
        return model

    def manners_in(self, folder: Path) -> Manners:
        return {}

    def open_voice(self, folder: Path, device: str = "cpu") -> LearnerVoice:
        load_file(folder / "learner.safetensors")
        return LearnerVoice()


class LearnerModel:
    """The heavy half."""

    turns: tuple[str, ...] = ("model",)
    features_version = "learner 1"

    def __init__(self, settings: LearnerSettings, seed: int = 0) -> None:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.network: Any = Network(settings)
        self.asked = 0

    def problem(self, clip: Clip) -> str:
        return "it has a Ω in it" if "Ω" in clip.text else ""

    def features(self, clips: Sequence[Clip]) -> list[Features]:
        self.asked += len(clips)
        return [
            {
                "frames": clip.sound.samples[: len(clip.sound.samples) // FRAME * FRAME]
                .reshape(-1, FRAME)
                .astype(np.float32),
                "letters": np.array([ord(c) % 128 for c in clip.text], dtype=np.int64),
            }
            for clip in clips
        ]

    def forget_features(self) -> None: ...

    def length(self, features: Features) -> int:
        return len(features["frames"])

    def batch(self, items: Sequence[Item]) -> Batch:
        pad = torch.nn.utils.rnn.pad_sequence
        frames = [item.features["frames"] for item in items]
        letters = [item.features["letters"] for item in items]
        return {
            "frames": pad(frames, batch_first=True),
            "heard": pad([torch.ones(len(each)) for each in frames], batch_first=True),
            "letters": pad(letters, batch_first=True),
            "spoken": pad([torch.ones(len(each)) for each in letters], batch_first=True),
            "targets": {
                "frames": sum(len(each) - 1 for each in frames),
                "letters": sum(len(each) for each in letters),
            },
        }

    def parameters(self, turn: str) -> Iterable[nn.Parameter]:
        return self.network.parameters()

    def blocks(self) -> Sequence[nn.Module]:
        return [self.network.block]

    def save(self, folder: Path) -> None:
        save_file(self.network.state_dict(), folder / "learner.safetensors")

    def speak(self, text: str, language: str, reference: Sound, seed: int) -> Sound:
        return _tone(text, seed)


class LearnerVoice:
    """A finished voice: a tone as long as the text, as high as its seed."""

    sample_rate: int = RATE
    manners: Mapping[str, tuple[float, float, float]] = MappingProxyType({})

    def longest_text(self, language: str) -> int:
        return 100

    def speak(
        self, text: str, language: str, reference: Sound, seed: int, **manners: float
    ) -> Sound:
        chosen(self.manners, manners)
        return _tone(text, seed)


def _tone(text: str, seed: int) -> Sound:
    tone = np.sin(np.arange(len(text) * 400) * (0.1 + seed % 7 / 50)).astype(np.float32)
    return Sound(tone / 2, RATE)


class RivalsModel(LearnerModel):
    """The heavy half of one that learns in two turns."""

    turns = ("generator", "discriminator")

    def __init__(self, settings: LearnerSettings, seed: int = 0) -> None:
        super().__init__(settings, seed)
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.network = Rivals(settings)

    def parameters(self, turn: str) -> Iterable[nn.Parameter]:
        critics = {id(each) for each in self.network.critic.parameters()}
        return [
            each
            for each in self.network.parameters()
            if (id(each) in critics) == (turn == "discriminator")
        ]


ENGINE = Learner()


def make_base(folder: Path, seed: int = 0) -> Path:
    """Weights to start from."""
    folder.mkdir(parents=True, exist_ok=True)
    model = LearnerModel(LearnerSettings(), seed)
    save_file(model.network.state_dict(), folder / "learner.safetensors")
    return folder


def clip(number: int, seconds: float | None = None) -> Clip:
    """A clip like no other, as long as its number says."""
    rng = np.random.default_rng(number)
    seconds = seconds or 0.2 + number % 5 * 0.1
    wave = np.sin(np.arange(int(seconds * RATE)) * rng.uniform(0.05, 0.3))
    samples = (0.5 * wave + 0.05 * rng.standard_normal(len(wave))).astype(np.float32)
    return Clip(Sound(samples, RATE), f"clip number {number}", "en")
