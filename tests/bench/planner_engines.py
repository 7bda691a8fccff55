"""Trainings whose memory is measured: the real networks and batches, with clips made up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from engines.base import Batch, Features, Item

# Of a clip of XTTS, what is text: read English has about two codes for each piece of a word.
_TEXT_SHARE = 0.38
_FRAMES_OF_A_CODE = 4
_BANDS = 80


@dataclass(frozen=True, slots=True)
class Subject:
    """One training, made anew each time, and clips of it of any length."""

    name: str
    make: Callable[[], Any]
    clip: Callable[[Any, int], Features]
    """Features of that length, as the engine counts it."""
    lengths: tuple[int, ...]
    """Of the clips that are probed: a longest, a middling, a shortest."""
    counts: tuple[int, int]
    """Of the two probes."""
    held_out: tuple[tuple[int, int], ...]
    """(clips, length) that are told from those, and then measured."""
    precision: str = "fp32"

    def items(self, trainable: Any, lengths: Iterable[int]) -> list[Item]:
        made = [self.clip(trainable, length) for length in lengths]
        return [Item(each, each, number) for number, each in enumerate(made)]

    def trainable(self) -> Any:
        made = self.make()
        made.network.train()
        return made


class XttsLikeness:
    """
    XTTS as the loop sees it, of the real classes at any size; its weights are random.

    At 1,024 wide and 30 deep it is the v2 that people have: 441 million weights that learn.
    """

    turns: tuple[str, ...] = ("model",)

    def __init__(self, dim: int, layers: int, heads: int) -> None:
        from TTS.tts.models.xtts import Xtts

        from engines.xtts import loading
        from engines.xtts.batches import Marks
        from engines.xtts.network import XttsNetwork
        from engines.xtts.settings import XttsSettings
        from tests.engines.xtts.tiny import tiny_config, write_vocab

        with TemporaryDirectory(prefix="timbre-bench-") as folder:
            vocab = Path(folder) / "vocab.json"
            write_vocab(vocab)
            config = tiny_config(vocab, dim=dim, layers=layers, heads=heads)
            config.model_args.gpt_number_text_tokens = 6681  # as v2 has
            with loading.quietly(), loading._Uninitialised():
                gpt = Xtts(config).gpt
        with torch.no_grad():
            for each in gpt.parameters():
                each.fill_(0.01)  # what was in memory could be anything, slow numbers too
        self.network: Any = XttsNetwork(gpt)
        self._marks, self._settings = Marks.of(gpt), XttsSettings()

    def length(self, features: Features) -> int:
        return len(features["text"]) + len(features["codes"])

    def batch(self, items: Sequence[Item]) -> Batch:
        from engines.xtts.batches import collate

        return collate(items, self._settings, self._marks, torch.zeros(_BANDS))

    def parameters(self, turn: str) -> Iterable[Any]:
        return self.network.parameters()

    def blocks(self) -> Sequence[Any]:
        return list(self.network.gpt.gpt.h)


def xtts(name: str, dim: int, layers: int, heads: int, **measured: Any) -> Subject:
    return Subject(name, lambda: XttsLikeness(dim, layers, heads), _xtts_clip, **measured)


def _xtts_clip(trainable: Any, length: int) -> Features:
    text = round(length * _TEXT_SHARE)
    codes = length - text
    return {
        "text": torch.arange(text) % 90 + 3,
        "codes": torch.arange(codes) % 1000,
        "mel": torch.zeros(_BANDS, codes * _FRAMES_OF_A_CODE + 1).half(),
    }


def pocket(**measured: Any) -> Subject:
    """The engine in the box, as it ships."""

    def make() -> Any:
        from engines.pocket.model import PocketModel
        from engines.pocket.settings import PocketSettings
        from voices import shipped

        return PocketModel(shipped.base("pocket", "english"), PocketSettings())

    return Subject("pocket", make, _pocket_clip, **measured)


def _pocket_clip(trainable: Any, length: int) -> Features:
    from engines.pocket.acoustic import MANNER
    from engines.pocket.facts import BANDS, HOP

    lasts = np.full(length // 5, 5)
    lasts[-1] += length - lasts.sum()
    rows = np.stack([1 + np.arange(len(lasts)) % 30, *np.zeros((3, len(lasts)), int)], axis=1)
    rows[:, 3] = 1
    return {
        "rows": torch.from_numpy(rows),
        "durations": torch.from_numpy(lasts),
        "mels": torch.full((length, BANDS), -5.0),
        "pitch": torch.full((length,), 5.0),
        "voiced": torch.ones(length),
        "samples": torch.zeros(length * HOP, dtype=torch.int16),
        "manner": torch.zeros(MANNER),
    }


def rivals(**measured: Any) -> Subject:
    """Two networks that learn in turns, as a GAN does; small, until an engine is one."""

    def make() -> Any:
        from tests.learner import LearnerSettings, RivalsModel

        return RivalsModel(LearnerSettings())

    return Subject("two turns", make, _learner_clip, **measured)


def _learner_clip(trainable: Any, length: int) -> Features:
    from tests.learner import FRAME

    return {"frames": torch.zeros(length, FRAME), "letters": torch.arange(20)}
