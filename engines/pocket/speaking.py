"""A text said like a reference: all of it at once, a hundred times faster than it takes to hear."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from engines.base import Sound
from engines.pocket import sound as heard
from engines.pocket.acoustic import PITCH_SPREAD, Frames
from engines.pocket.facts import HOP, PITCH_IN_MANNER, RATE
from engines.pocket.features import manner
from engines.pocket.network import PocketNetwork
from engines.pocket.phones import sounds_of

LOUDEST = 0.98
_LONGEST = 5.0
"""Natural logarithm of frames: no sound takes more than two seconds."""


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
