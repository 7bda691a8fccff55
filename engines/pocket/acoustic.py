"""From sounds to mel bands: how long, how high, how loud, then what it sounds like. All at once."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from engines.pocket.blocks import Block
from engines.pocket.facts import BANDS, MARKS, PHONES, STRESSES
from engines.pocket.phones import EDGES
from engines.pocket.shape import SHIPPED, Shape

MANNER = 2 * BANDS + 3
"""Numbers that describe a voice: see features.manner."""
PITCH_SPREAD = 0.25
"""What one unit of pitch is, in logarithms of hertz."""


@dataclass(frozen=True, slots=True)
class Prosody:
    """Of each sound: ln frames, pitch beside the voice's own (in PITCH_SPREAD), loudness."""

    durations: torch.Tensor
    pitch: torch.Tensor
    energy: torch.Tensor


@dataclass(frozen=True, slots=True)
class Frames:
    """Of each frame: standardised mel bands, pitch like a sound's, how surely it is voiced."""

    mels: torch.Tensor
    pitch: torch.Tensor
    voicing: torch.Tensor
    mask: torch.Tensor


class Acoustic(nn.Module):  # type: ignore[misc]  # mypy does not follow torch
    """
    A non-autoregressive network with durations that an aligner taught it.

    Nothing is spoken twice or left out, since each sound has its frames; that is why it learns a
    voice from minutes. There is no postnet, flow or diffusion: with synthesised teachers an L1
    loss is nearly sharp enough, and the vocoder is trained on what comes out here.
    """

    def __init__(self, shape: Shape = SHIPPED) -> None:
        super().__init__()
        self.shape = shape
        width, voice, drop = shape.text, shape.voice, shape.dropout
        self.describe = nn.Sequential(nn.Linear(MANNER, 128), nn.SiLU(), nn.Linear(128, voice))
        self.register_buffer("manner_mean", torch.zeros(MANNER))
        self.register_buffer("manner_std", torch.ones(MANNER))
        self.phone = _table(len(PHONES), width)
        self.stress, self.edge = _table(len(STRESSES), width), _table(EDGES, width)
        self.mark = _table(len(MARKS), width)
        self.reader = _blocks(shape.text_blocks, width, 2, 5, voice, drop)
        # Durations and melody are drawn by nets of their own, on a state they must not bend: with
        # a few thousand texts they learn those by heart, and the state with them.
        self.timing = _blocks(2, width, 2, 3, voice, drop)
        self.to_timing = nn.Linear(width, 1)
        self.melody = _blocks(2, width, 2, 5, voice, drop)
        self.to_melody = nn.Linear(width, 2)
        self.from_melody = nn.Linear(2, width)
        self.spread, self.place = nn.Linear(width, shape.frames), nn.Linear(8, shape.frames)
        self.speaker = _blocks(shape.frame_blocks, shape.frames, 3, 7, voice, drop)
        self.norm = nn.LayerNorm(shape.frames)
        self.out = nn.Linear(shape.frames, BANDS + 2)
        self.register_buffer("mel_mean", torch.zeros(BANDS))
        self.register_buffer("mel_std", torch.ones(BANDS))

    def voice(self, manner: torch.Tensor) -> torch.Tensor:
        """What the blocks are told of a voice."""
        found: torch.Tensor = self.describe((manner - self.manner_mean) / self.manner_std)
        return found

    def read(self, rows: torch.Tensor, voice: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """A state for each sound, and which places hold one."""
        mask = (rows[..., :1] > 0).float()
        phone, stress, edge, mark = rows.unbind(-1)
        state = self.phone(phone) + self.stress(stress) + self.edge(edge) + self.mark(mark)
        for block in self.reader:
            state = block(state, mask, voice)
        return state * mask, mask

    def prosody(self, state: torch.Tensor, mask: torch.Tensor, voice: torch.Tensor) -> Prosody:
        """How long, how high, how loud each sound is to be."""
        timing = melody = state.detach()
        for block in self.timing:
            timing = block(timing, mask, voice)
        for block in self.melody:
            melody = block(melody, mask, voice)
        pitch, energy = self.to_melody(melody).float().unbind(-1)
        return Prosody(self.to_timing(timing)[..., 0].float(), pitch, energy)

    def speak(
        self,
        state: torch.Tensor,
        durations: torch.Tensor,
        pitch: torch.Tensor,
        energy: torch.Tensor,
        voice: torch.Tensor,
        frames: int | None = None,
    ) -> Frames:
        """
        Frames of sounds with these durations (in whole frames), pitch and loudness.

        Who knows how many `frames` the longest has says so: else a GPU is waited for.
        """
        state = state + self.from_melody(torch.stack([pitch, energy], -1))
        which, places, mask = _spread_out(durations, frames)
        x = self.spread(state)
        x = x.gather(1, which[..., None].expand(-1, -1, x.shape[-1])) + self.place(places)
        for block in self.speaker:
            x = block(x, mask, voice)
        out = self.out(self.norm(x)).float()
        return Frames(out[..., :BANDS], out[..., BANDS], out[..., BANDS + 1], mask)

    def standardised(self, mels: torch.Tensor) -> torch.Tensor:
        return (mels - self.mel_mean) / self.mel_std

    def natural(self, mels: torch.Tensor) -> torch.Tensor:
        """Mel bands as they are in a sound again."""
        return mels * self.mel_std + self.mel_mean


def _spread_out(
    durations: torch.Tensor, frames: int | None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Which sound each frame belongs to, where in it the frame is, and which frames there are."""
    ends = durations.cumsum(1)
    # Counted up without a plain number of frames, so that piper.py can trace it.
    last = ends[:, -1].max() if frames is None else frames
    time = torch.arange(last, device=durations.device)[None].expand(ends.shape[0], -1)
    begins = functional.pad(torch.zeros_like(time), (0, 1))
    begins = begins.scatter_add(1, ends[:, :-1], torch.ones_like(ends[:, :-1]))
    which = begins[:, :-1].cumsum(1)
    mask = (time < ends[:, -1:]).float()[..., None]
    passed = (time - (ends - durations).gather(1, which)).float()
    length = durations.gather(1, which).float().clamp(min=1)
    return which, _places(passed, length), mask


def _places(passed: torch.Tensor, length: torch.Tensor) -> torch.Tensor:
    share = ((passed + 0.5) / length).clamp(0, 1)
    told = (
        *(share, 1 - share, torch.sin(math.pi * share), torch.cos(2 * math.pi * share)),
        *(length.log() / 3, passed.clamp(0, 8) / 8, (length - passed).clamp(0, 8) / 8),
        torch.ones_like(share),
    )
    return torch.stack(told, -1)


def _table(entries: int, width: int) -> nn.Embedding:
    made = nn.Embedding(entries, width)
    nn.init.normal_(made.weight, std=0.3)
    return made


def _blocks(
    count: int, width: int, wider: int, reach: int, voice: int, dropout: float
) -> nn.ModuleList:
    return nn.ModuleList(Block(width, wider, reach, voice, dropout) for _ in range(count))
