"""Teaches the network that makes mel bands of sounds."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from engines.base import Features, Item
from engines.pocket import losses as measured
from engines.pocket.acoustic import Acoustic
from engines.pocket.batches import targets, whole
from engines.pocket.pretrain.course import Course, Losses, Plan, Rounds, Side, device, halved
from engines.pocket.pretrain.material import Taught
from engines.pocket.pretrain.size import Size

_MOST_FRAMES = 4096


def teach(taught: Sequence[Taught], size: Size, folder: Path) -> Acoustic:
    """Teach it to speak like each voice, told how another of its clips sounds."""
    torch.manual_seed(size.seed)
    net = Acoustic()
    net.to(device())
    _set_scales(net, [each.features for each in taught])
    plan = Plan.of(size, "acoustic", size.acoustic_steps, 1.2e-3)
    rounds = Rounds([len(each.features["mels"]) for each in taught], _MOST_FRAMES, size.seed)
    of_voice: dict[str, list[int]] = defaultdict(list)
    for number, each in enumerate(taught):
        of_voice[each.voice].append(number)

    def losses(step: int) -> Losses:
        chance = random.Random(f"{size.seed} {step}")
        clips = rounds.batch(step)
        beside = [chance.choice(of_voice[taught[clip].voice]) for clip in clips]
        items = [
            Item(as_torch(taught[clip].features), as_torch(taught[other].features), 0)
            for clip, other in zip(clips, beside, strict=True)
        ]
        return of_items(net, items)

    Course(plan, [Side(net, losses, plan.rate)], folder).run()
    net.eval()
    return net


def of_items(net: Acoustic, items: Sequence[Item]) -> dict[str, torch.Tensor]:
    """The losses of some clips."""
    batch = {name: each.to(device()) for name, each in whole(items).items()}
    totals = targets([item.features for item in items])
    with halved():
        frames, prosody = measured.spoken(net, batch)
    found = measured.acoustic_losses(net, batch, frames, prosody, totals)
    return {"loss": measured.weighed(found), **found}


def as_torch(features: Features) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(each) for name, each in features.items()}


def _set_scales(net: Acoustic, clips: Sequence[Features]) -> None:
    """What is usual of mel bands and of voices."""
    some = np.concatenate([each["mels"].astype(np.float32) for each in clips[::9]])
    manners = np.stack([each["manner"] for each in clips])
    net.mel_mean.copy_(torch.from_numpy(some.mean(0)))
    net.mel_std.copy_(torch.from_numpy(some.std(0)))
    net.manner_mean.copy_(torch.from_numpy(manners.mean(0)))
    net.manner_std.copy_(torch.from_numpy(manners.std(0)))
