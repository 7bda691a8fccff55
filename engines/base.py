"""
The interface every engine implements, in two halves.

The light half states facts and imports in milliseconds: the screen reads it. The heavy half does
the work with torch and exists only in a job. The training loop owns everything an engine does not
answer here: devices, precision, optimizer, schedule, saving, resuming, sampling, memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Features = Mapping[str, "NDArray[Any]"]
"""What one clip becomes, once: named arrays, kept in a file between runs."""

Batch = Mapping[str, Any]
"""Features of several clips as padded tensors."""

Losses = Mapping[str, Any]
"""Named scalar tensors. "loss" is the one that is made smaller; the rest is shown."""


@dataclass(frozen=True, slots=True)
class Sound:
    """Audio in memory: one channel, -1 to 1."""

    samples: NDArray[np.float32]
    rate: int

    @property
    def seconds(self) -> float:
        return len(self.samples) / self.rate


@dataclass(frozen=True, slots=True)
class Clip:
    """One training example: a short piece of a recording and the words spoken in it."""

    sound: Sound
    text: str
    language: str


@dataclass(frozen=True, slots=True)
class Base:
    """Weights that a training can start from."""

    name: str
    licence: str
    """Shown, and agreed to, before the first download."""
    download_mb: int = 0
    """0 when it ships with Timbre."""


class Engine(Protocol):
    """The light half: what the studio may know without loading anything."""

    name: str
    """Short id, also the folder name: "xtts"."""
    title: str
    """What people call it: "XTTS v2"."""
    about: str
    """One sentence: what it is good for."""
    licence: str
    """Licence of the code. Each base has its own."""
    languages: frozenset[str]
    sample_rate: int
    min_clip_seconds: float
    max_clip_seconds: float
    bases: tuple[Base, ...]

    def speaks(self, language: str) -> bool:
        """Whether a base of this engine knows the language."""

    def missing(self) -> str:
        """Why it cannot be used on this machine, and what to do; "" when it can."""

    def load(self, base: Path, device: str) -> Trainable:
        """Bring a base into memory, ready to train and to speak. Imports torch: only in a job."""


class Trainable(Protocol):
    """The heavy half: a loaded model, as the training loop sees it."""

    turns: tuple[str, ...]
    """What is trained one after the other in each step: ("model",), or a GAN's two sides."""

    def features(self, clip: Clip) -> Features:
        """Turn a clip into what training needs of it. Slow parts belong here: it is done once."""

    def batch(self, clips: Sequence[Features]) -> Batch:
        """Put clips together, padded to the longest."""

    def parameters(self, turn: str) -> Iterable[Any]:
        """The tensors that a turn trains."""

    def losses(self, batch: Batch, turn: str) -> Losses:
        """Run the model forward on a batch."""

    def save(self, folder: Path) -> None:
        """Write the voice as the engine's own tools load it, into an empty folder."""

    def speak(self, text: str, language: str, reference: Sound, seed: int) -> Sound:
        """Say one sentence like the reference; the same seed says it the same way."""
