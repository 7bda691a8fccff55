"""Teaches the net that tells which sound is spoken, frame by frame; align.py runs it in numpy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from engines.base import Features
from engines.pocket.align import SPREAD
from engines.pocket.blocks import Block
from engines.pocket.facts import BANDS, PHONES
from engines.pocket.pretrain.course import Course, Losses, Plan, Rounds, Side, device, halved
from engines.pocket.pretrain.size import Size

_MOST_FRAMES = 4096


class Aligner(nn.Module):  # type: ignore[misc]  # mypy does not follow torch
    """0.5 M parameters that hear a third of a second; standardised mel bands to sounds."""

    def __init__(self, width: int = 160, blocks: int = 5) -> None:
        super().__init__()
        self.take_in = nn.Linear(BANDS, width)
        self.blocks = nn.ModuleList(Block(width, 2, 5) for _ in range(blocks))
        self.out = nn.Linear(width, len(PHONES))

    def forward(self, mels: torch.Tensor) -> torch.Tensor:
        x = self.take_in(mels)
        for block in self.blocks:
            x = block(x)
        found: torch.Tensor = self.out(x).float()
        return found


def teach(taught: Sequence[Features], size: Size, folder: Path) -> Aligner:
    """Teach it with the times that the synthesisers told."""
    torch.manual_seed(size.seed)
    net = Aligner()
    net.to(device())
    plan = Plan.of(size, "aligner", size.aligner_steps, 2e-3, warmup=50, decay=0.02)
    rounds = Rounds([len(each["mels"]) for each in taught], _MOST_FRAMES, size.seed)

    def losses(step: int) -> Losses:
        clips = [taught[item] for item in rounds.batch(step)]
        mels = [standardised(_disguised(torch.from_numpy(each["mels"]).float())) for each in clips]
        sounds = pad_sequence([_per_frame(each) for each in clips], True, 0)
        with halved():
            found = net(pad_sequence(mels, True).to(device()))
        wanted = sounds.to(device()).flatten()
        return {"loss": functional.cross_entropy(found.flatten(0, 1), wanted, ignore_index=0)}

    Course(plan, [Side(net, losses, plan.rate)], folder).run()
    net.eval()
    return net


def standardised(mels: torch.Tensor) -> torch.Tensor:
    """As align.listen gives a clip to the net."""
    return (mels - mels.mean(0)) / SPREAD


def _per_frame(clip: Features) -> torch.Tensor:
    rows, durations = torch.from_numpy(clip["rows"]), torch.from_numpy(clip["durations"])
    return torch.repeat_interleave(rows[:, 0].long(), durations.long())


def _disguised(mels: torch.Tensor) -> torch.Tensor:
    """Another microphone, another room: gain, tilt, curve and noise by chance."""
    slope = torch.linspace(-1, 1, BANDS)
    gain, tilt, curve = torch.randn(3)
    mels = mels + 0.5 * gain + 0.6 * tilt * slope + 0.4 * curve * slope**2
    floor = torch.empty(1).uniform_(-9, -4) + 0.5 * torch.randn_like(mels)
    return torch.logaddexp(mels, floor) + 0.2 * torch.randn_like(mels)
