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

from engines.errors import EngineError, SettingsError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from engines.settings import Checked

Features = Mapping[str, Any]
"""What one clip becomes, once: named arrays. Made as numpy's, given back as torch's."""

Batch = Mapping[str, Any]
"""Features of several clips as padded tensors, and `targets`: see Trainable.batch."""

Totals = Mapping[str, float]
"""The targets of a whole step, over all its micro-batches and devices."""

Manners = Mapping[str, tuple[float, float, float]]
"""What can be chosen while speaking, by name: the lowest, what it is unless chosen, the highest."""

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
class Item:
    """One clip in one epoch."""

    features: Features
    companion: Features
    """Another clip of the same voice, or the same one where there is no other."""
    seed: int
    """Whatever is drawn by chance for the clip comes from this: the same however it is batched."""


@dataclass(frozen=True, slots=True)
class Base:
    """Weights that a training can start from."""

    name: str
    licence: str
    """Shown, and agreed to, before the first download."""
    download_mb: int = 0
    """0 when it ships with Timbre, or cannot be downloaded."""
    repository: str = ""
    """Where it is on the Hugging Face hub."""
    revision: str = "main"
    shipped: bool = False
    """Whether it comes with Timbre (voices/shipped.py)."""


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
    """Of the clips it learns from."""
    min_clip_seconds: float
    max_clip_seconds: float
    half_on_processors: bool
    """Whether it learns as well in bf16 on a processor that computes it."""
    bases: tuple[Base, ...]
    base_files: tuple[str, ...]
    """What a base consists of where it is downloaded."""
    exports: Mapping[str, str]
    """
    Formats of other programs that a voice of it can be written in, and the module that does it:
    `python -m MODULE ENGINE_FOLDER REFERENCE NAME TARGET`, in a process of its own.
    """
    own_form: str
    """The one of `exports` that its own tools load; "" when they load the folder as it is."""
    settings: type[Checked]
    """What can be chosen for a training with this engine, beside what holds for every engine."""
    advised: Mapping[str, float]
    """
    What it wants where a person chose nothing: learning_rate, batch, and epochs or steps; ema.

    An engine that learns a voice in about so many steps, however many clips there are, says steps.
    """

    def speaks(self, language: str) -> bool:
        """Whether a base of this engine knows the language."""

    def missing(self) -> str:
        """Why it cannot be used on this machine, and what to do; "" when it can."""

    def base_in(self, folder: Path) -> list[Path]:
        """The files of a base in a folder, under any of the names their owners give them; raise
        EngineError, naming it, when one is missing."""

    def convert(self, base: Path, folder: Path) -> None:
        """
        Write a base, as its owners have it, into an empty folder as `load` takes it.

        Only safetensors and JSON come out; whatever else was in there is opened in a process that
        can do no harm. Raise EngineError for what is no base of this engine.
        """

    def load(self, base: Path, settings: Checked) -> Trainable:
        """Bring a converted base into memory, ready to train and to speak. Only in a job."""

    def manners_in(self, folder: Path) -> Manners:
        """What can be chosen while the voice in a folder speaks, as `Speaking.manners`; it is not
        opened for that."""

    def open_voice(self, folder: Path, device: str = "cpu") -> Speaking:
        """
        Bring into memory what `Trainable.save` wrote, to speak only. Heavy: for the speaker.

        A folder may come from a stranger: nothing in it is executed, and what is no voice of this
        engine raises EngineError.
        """


class Trainable(Protocol):
    """
    The heavy half: a loaded model, as the training loop sees it.

    It is made on the CPU. The loop moves `network`; what only `features` needs stays where it is.
    """

    turns: tuple[str, ...]
    """What is trained one after the other in each step: ("model",), or a GAN's two sides."""
    network: Any
    """
    The torch module that is trained. `network(batch, totals, turn)` gives Losses.

    They are this micro-batch's share of the whole step: sums over its targets divided by `totals`,
    so that the losses of the step's micro-batches add up to that of the step, however it is cut.
    """
    features_version: str
    """Changes whenever `features` would give something else: base, settings, code."""

    def problem(self, clip: Clip) -> str:
        """Why this clip cannot be learned from, in a sentence; "" when it can."""

    def features(self, clips: Sequence[Clip]) -> list[Features]:
        """Turn clips into what training needs of them. Slow parts belong here: it is done once."""

    def forget_features(self) -> None:
        """Let go of what only `features` needs; it is not asked again."""

    def length(self, features: Features) -> int:
        """What a clip costs in a batch: clips of like length are put together."""

    def batch(self, items: Sequence[Item]) -> Batch:
        """
        Put clips together, padded to the longest, on the device where their features are.

        `batch["targets"]` maps a name to how many targets are in it, as plain numbers; the sums
        over a step come back as `totals`.
        """

    def parameters(self, turn: str) -> Iterable[Any]:
        """The tensors that a turn trains."""

    def blocks(self) -> Sequence[Any]:
        """The modules that may forget their activations and compute them again."""

    def save(self, folder: Path) -> None:
        """Write what `open_voice` opens into an empty folder: safetensors and JSON, all it needs to
        speak and nothing of where it was made."""

    def speak(self, text: str, language: str, reference: Sound, seed: int) -> Sound:
        """Say one sentence like the reference; the same seed says it the same way."""


class Speaking(Protocol):
    """
    A finished voice in memory, one sentence at a time.

    What it hears of a reference it keeps for the next sentences.
    """

    sample_rate: int
    manners: Manners

    def longest_text(self, language: str) -> int:
        """How many characters of a language it says well in one call."""

    def speak(
        self, text: str, language: str, reference: Sound, seed: int, **manners: float
    ) -> Sound:
        """
        Say one sentence like the reference.

        On a processor, with as many threads, the same folder, arguments and seed give the same
        samples wherever the folder lies; raise SettingsError for a manner that it has not, or beyond its limits.
        """


def all_in(folder: Path, names: Sequence[str], title: str) -> list[Path]:
    """Find files that have one name each; raise EngineError, naming them, when some are missing."""
    lacks = [name for name in names if not (folder / name).is_file()]
    if lacks:
        raise EngineError(
            f"{folder} is no whole base of {title}: {' and '.join(lacks)}"
            f" {'is' if len(lacks) == 1 else 'are'} missing.",
            "Copy what is missing from where the base came from.",
        )
    return [folder / name for name in names]


def chosen(manners: Manners, given: Mapping[str, float]) -> dict[str, float]:
    """Each of a voice's manners as it was chosen, or as it is unless chosen."""
    for name, value in given.items():
        if name not in manners:
            known = ", ".join(manners) or "nothing"
            raise SettingsError(
                f"This voice has no {name} to choose.", f"What can be chosen is: {known}."
            )
        low, usual, high = manners[name]
        if not low <= value <= high:
            raise SettingsError(
                f"{name} is {value:g}.", f"Choose from {low:g} to {high:g}; usual is {usual:g}."
            )
    return {name: given.get(name, usual) for name, (_, usual, _) in manners.items()}
