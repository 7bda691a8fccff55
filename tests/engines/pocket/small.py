"""Small networks, and clips made up for them: what pocket's parts are tried on."""

from __future__ import annotations

from functools import cache

import numpy as np
import torch
from scipy.signal import lfilter

from engines.base import Item
from engines.pocket.acoustic import MANNER, Acoustic
from engines.pocket.facts import BANDS, HOP, MARKS, PHONES, RATE, STRESSES
from engines.pocket.network import PocketNetwork
from engines.pocket.phones import EDGES
from engines.pocket.pretrain.aligner import Aligner
from engines.pocket.shape import Shape
from engines.pocket.vocoder import Vocoder
from tests import speech

SHAPE = Shape(text=16, text_blocks=2, frames=16, frame_blocks=2, voice=8, sound=16, sound_blocks=2)


def acoustic(seed=0):
    """A small acoustic network that is set in its ways, in eval mode."""
    torch.manual_seed(seed)
    made = Acoustic(SHAPE)
    made.mel_mean.fill_(-5)
    made.mel_std.fill_(2)
    return stirred(made)


def vocoder(seed=0):
    torch.manual_seed(seed)
    return stirred(Vocoder(SHAPE), 0.05)


def aligner(seed=0):
    torch.manual_seed(seed)
    return stirred(Aligner(width=16, blocks=3))


def network(seed=0):
    """Both networks that learn, small."""
    torch.manual_seed(seed)
    made = PocketNetwork(SHAPE)
    made.acoustic, made.vocoder = acoustic(seed), vocoder(seed)
    return made.eval()


def stirred(net, by=0.2):
    """Move all weights: as they are made, blocks add next to nothing and no leak would show."""
    with torch.no_grad():
        for each in net.parameters():
            each.add_(by * torch.randn_like(each))
    return net.eval()


def clip(frames=80, sounds=9, seed=0):
    """A clip as pocket's features have it, of the same types, made up."""
    chance = np.random.default_rng(seed)
    cuts = np.sort(chance.choice(np.arange(1, frames), sounds - 1, replace=False))
    rows = [chance.integers(1, len(PHONES), sounds)]
    rows += [chance.integers(0, size, sounds) for size in (len(STRESSES), EDGES, len(MARKS))]
    found = {
        "rows": np.stack(rows, 1).astype(np.int16),
        "durations": np.diff(cuts, prepend=0, append=frames).astype(np.int16),
        "mels": chance.normal(-5, 2, (frames, BANDS)).astype(np.float16),
        "pitch": chance.normal(5, 0.2, frames).astype(np.float32),
        "voiced": chance.random(frames) < 0.6,
        "samples": chance.integers(-9000, 9000, frames * HOP).astype(np.int16),
        "manner": chance.normal(0, 1, MANNER).astype(np.float32),
    }
    found["manner"][-3] = 5 + 0.1 * chance.normal()
    return {name: torch.from_numpy(each) for name, each in found.items()}


def item(frames=80, sounds=9, seed=0):
    return Item(clip(frames, sounds, seed), clip(30, 4, seed + 1000), seed)


def mixed():
    """Clips of all lengths, two of them shorter than the vocoder's pieces."""
    sizes = [(80, 9), (150, 20), (40, 5), (66, 3), (50, 12), (64, 8)]
    return [item(frames, sounds, seed) for seed, (frames, sounds) in enumerate(sizes)]


def puffs(hertz, seconds=1.0):
    """A pulse for each swing of a voice, at one pitch or one that moves; between samples too."""
    swung = np.cumsum(np.broadcast_to(hertz, int(seconds * RATE))) / RATE
    (at,) = np.nonzero(np.diff(np.floor(swung)))
    late = (swung[at + 1] % 1) / (swung[at + 1] - swung[at])
    made = np.zeros(len(swung), np.float32)
    made[at + 1] += 0.5 * (1 - late)
    made[at] += 0.5 * late
    return made


def hum(hertz, seconds=1.0):
    """The same with a voice's softness: harmonics fall by twelve decibels an octave above 300."""
    soft = 1 - 2 * np.pi * 300 / RATE
    made = lfilter([1 - soft], [1, -soft], lfilter([1 - soft], [1, -soft], puffs(hertz, seconds)))
    return (0.5 * made / np.abs(made).max()).astype(np.float32)


def noise(seconds=1.0, loudness=0.1, seed=0):
    chance = np.random.default_rng(seed)
    return (loudness * chance.standard_normal(int(seconds * RATE))).astype(np.float32)


@cache
def sentences():
    """Sentences with their samples at pocket's rate, from the synthesisers."""
    return speech.bundled()
