"""Pocket as the training loop sees it: the heavy half of the engine."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engines.base import Batch, Clip, Features, Item, Sound
from engines.errors import TextError
from engines.pocket import saving, speaking
from engines.pocket.align import Alignment, align, durations
from engines.pocket.batches import as_batch
from engines.pocket.facts import HOP, RATE
from engines.pocket.features import features_of
from engines.pocket.phones import Text, sounds_of
from engines.pocket.settings import PocketSettings
from engines.pocket.sound import Floats, mels, speech_of

# Raised whenever the code makes other features of the same clip and base.
_FEATURES_CODE = 1
# Frames for each sound, at least: 62 a second, and nobody speaks 40 sounds in one.
_FEWEST_FRAMES = 1.5


class PocketModel:
    """A base in memory, ready to train and to speak."""

    turns: tuple[str, ...] = ("model",)

    def __init__(self, base: Path, settings: PocketSettings) -> None:
        self._settings = settings
        self.network, self._aligner = saving.load(base, settings.dropout)
        self.features_version = _features_version(self._aligner)

    def problem(self, clip: Clip) -> str:
        try:
            text = sounds_of(clip.text)
        except TextError as error:
            return error.what
        frames = len(speech_of(clip.sound)) // HOP
        if frames < _FEWEST_FRAMES * len(text.rows):
            return f"{frames * HOP / RATE:.1f} s are too short for {len(text.rows)} sounds."
        return ""

    def features(self, clips: Sequence[Clip]) -> list[Features]:
        return [self._features(clip) for clip in clips]

    def _features(self, clip: Clip) -> Features:
        samples = speech_of(clip.sound)
        text = sounds_of(clip.text, pauses_between_words=True)
        found = self._aligned(samples, text)
        lasts = durations(found.places, len(text.rows))
        # A pause that nobody made is not in the text either.
        made = lasts > 0
        return features_of(samples, text.rows[made], lasts[made])

    def _aligned(self, samples: Floats, text: Text) -> Alignment:
        return align(mels(samples), text.rows[:, 0], self._aligner)

    def forget_features(self) -> None:
        """The aligner is small, and goes with the voice."""

    def length(self, features: Features) -> int:
        return len(features["mels"])

    def batch(self, items: Sequence[Item]) -> Batch:
        return as_batch(items, self._settings.drawn_share)

    def parameters(self, turn: str) -> Iterable[Any]:
        return [*self.network.parameters()]

    def blocks(self) -> Sequence[Any]:
        return [*self.network.acoustic.speaker, *self.network.vocoder.blocks]

    def save(self, folder: Path) -> None:
        saving.save(self.network, self._aligner, folder)

    def speak(self, text: str, language: str, reference: Sound, seed: int) -> Sound:
        was_training = self.network.training
        self.network.eval()
        try:
            like = speaking.Manner.of(reference)
            found: Sound = speaking.speak(self.network, text, like, seed)
            return found
        finally:
            self.network.train(was_training)


def _features_version(aligner: Any) -> str:
    digest = hashlib.sha256(f"pocket {_FEATURES_CODE}".encode())
    for name in sorted(aligner):
        digest.update(np.ascontiguousarray(aligner[name]).tobytes())
    return digest.hexdigest()
