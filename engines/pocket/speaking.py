"""A text said like a reference: all of it at once, a hundred times faster than it takes to hear."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from engines.base import Manners, Sound, chosen
from engines.errors import EngineError
from engines.pocket import saving
from engines.pocket import sound as heard
from engines.pocket.acoustic import PITCH_SPREAD, Frames
from engines.pocket.facts import HOP, MANNERS, PITCH_IN_MANNER, RATE
from engines.pocket.features import manner
from engines.pocket.network import PocketNetwork
from engines.pocket.phones import sounds_of
from engines.references import References

LOUDEST = 0.98
_LONGEST = 5.0
"""Natural logarithm of frames: no sound takes more than two seconds."""
_LONGEST_TEXT = 240
"""Characters in 16 s, its longest clips: the slowest of its teachers speaks 14.7 a second."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How the reference sounds: what the networks are told, and the height of its voice."""

    numbers: torch.Tensor
    centre: float

    @staticmethod
    def of(reference: Sound) -> Manner:
        samples = heard.speech_of(reference)
        found = manner(heard.mels(samples), heard.pitch(samples))
        return Manner(torch.from_numpy(found), float(found[PITCH_IN_MANNER]))


@torch.inference_mode()  # type: ignore[untyped-decorator]  # mypy does not follow torch
def speak(network: PocketNetwork, text: str, like: Manner, seed: int, pace: float = 1.0) -> Sound:
    """Say a text; the seed is that of its breath, and a pace of 2 takes half the time."""
    device = network.acoustic.mel_mean.device
    rows = torch.from_numpy(sounds_of(text).rows)[None].to(device)
    frames = _drawn(network, rows, like, pace)
    mels = network.acoustic.natural(frames.mels)
    pitch = frames.pitch * PITCH_SPREAD + like.centre
    chance = torch.Generator().manual_seed(seed)
    noise = torch.randn(1, mels.shape[1] * HOP, generator=chance).to(device)
    made = network.vocoder(mels, pitch, (frames.voicing > 0).float(), noise)[0]
    return Sound(_audible(made.float().cpu().numpy()), RATE)


def _drawn(network: PocketNetwork, rows: torch.Tensor, like: Manner, pace: float) -> Frames:
    net = network.acoustic
    voice = net.voice(like.numbers[None].to(rows.device))
    state, mask = net.read(rows, voice)
    prosody = net.prosody(state, mask, voice)
    lasts = (prosody.durations.clamp(max=_LONGEST).exp() / pace).round().clamp(min=1).long()
    return net.speak(state, lasts, prosody.pitch, prosody.energy, voice)


def _audible(samples: heard.Floats) -> heard.Floats:
    loudest = float(np.abs(samples).max(initial=0.0))
    return samples * np.float32(LOUDEST / loudest) if loudest > LOUDEST else samples


class Voice:
    """A finished voice that speaks one sentence at a time; what it heard of a reference it keeps."""

    sample_rate: int = RATE
    manners: Manners = MANNERS

    def __init__(self, folder: Path, device: str) -> None:
        self._network = _opened(folder).to(device)
        self._references = References(Manner.of)

    def longest_text(self, language: str) -> int:
        """Nothing in its networks ends there, but longer ones it has not learned from."""
        return _LONGEST_TEXT

    def speak(
        self, text: str, language: str, reference: Sound, seed: int, **manners: float
    ) -> Sound:
        pace = chosen(self.manners, manners)["speed"]
        like = self._references.heard(reference)
        found: Sound = speak(self._network, text, like, seed, pace)
        return found


def _opened(folder: Path) -> PocketNetwork:
    try:
        network, _ = saving.load(folder, dropout=0.0)
        return network
    except EngineError as error:
        raise EngineError(
            f"The voice cannot be opened. {error.what}",
            "Take it once more from where it came from, or from its run.",
        ) from error
