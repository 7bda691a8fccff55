"""Trainings whose memory and pace follow a known law, and what a probe would see of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from finetune.fitting.choice import Candidate, Option, Way
from finetune.fitting.peaks import CHANGE, FIRST, MORE, Fit, Growth, Held, Phase, Point

MB = 10**6
GB = 2**30
LENGTHS = (400, 180, 60)


@dataclass(frozen=True)
class Law:
    """One turn: a constant, and for each clip a curve of its length; gradients of its own."""

    held: Held
    own: int
    """Of the gradients, those of this turn: no others lie there while it learns."""
    constant: float
    per_clip: float
    per_unit: float
    per_square: float
    change: float

    @property
    def floor(self):
        return self.held.weights + self.held.optimizer + self.own

    def peak(self, stage, clips, length):
        if stage == CHANGE:
            return self.floor + self.change
        each = self.per_clip + self.per_unit * length + self.per_square * length**2
        more = self.floor + self.constant + clips * each
        return more if stage == MORE else max(self.floor, more - self.own)

    def peaks(self, clips, length, *, accumulates=True):
        stages = (FIRST, MORE, CHANGE) if accumulates else (FIRST, CHANGE)
        return {stage: self.peak(stage, clips, length) for stage in stages}


def random_laws(luck, turns=("model",)):
    """A training, with one law for each turn."""
    weights = int(luck.uniform(50, 2000)) * MB
    held = Held(weights, weights, 2 * weights)
    shares = luck.dirichlet(np.full(len(turns), 5.0))
    return {turn: _law(luck, held, share) for turn, share in zip(turns, shares, strict=True)}


def _law(luck, held, share):
    clip = luck.uniform(20, 1500) * MB
    flat, linear, square = luck.dirichlet((1, 2, 1)) * clip
    return Law(
        *(held, round(share * held.gradients), luck.uniform(1, 40) * MB),
        *(flat, linear / max(LENGTHS), square / max(LENGTHS) ** 2),
        change=luck.uniform(0, 0.5) * held.weights,
    )


def probed(laws, counts, lengths=LENGTHS, luck=None, noise=0.0):
    """The points that a probe of each count sees."""
    return [
        Point(turn, stage, clips, length, _blurred(law.peak(stage, clips, length), luck, noise))
        for turn, law in laws.items()
        for clips in counts
        for stage in (FIRST, MORE, CHANGE)
        for length in (lengths if stage != CHANGE else lengths[-1:])
    ]


def timed(points, *, before=0.1, per_clip=0.02, change=0.05):
    """The same points, with the seconds that each took."""
    return [
        replace(each, seconds=change if each.stage == CHANGE else before + per_clip * each.clips)
        for each in points
    ]


def held_of(laws):
    return next(iter(laws.values())).held


def _blurred(value, luck, noise):
    return round(value * (1 + luck.uniform(-noise, noise)) if noise else value)


# ---- Fits and options made by hand ----


def steady(clip, *, base=0, gradients=0, before=0.0, per_clip=1.0, change=0.0):
    """A fit in which each clip takes `clip` bytes and `per_clip` seconds."""
    held = Held(base, gradients, 0)
    phases = [
        Phase("model", FIRST, held.all, Growth(base, clip)),
        Phase("model", MORE, held.all, Growth(base + gradients, clip)),
        Phase("model", CHANGE, held.all, Growth(held.all)),
    ]
    return Fit(held, phases, Growth(before, per_clip), change)


def candidate(fit, **way):
    return Candidate(Way("bf16", **way), fit)


def an_option(**changes):
    """One that fits: 4 clips at once, twice a step, 7.5 GB."""
    peaks = {"model first": 6 * GB, "model more": 7 * GB, "model change": 5 * GB}
    known = Option(Way("bf16"), 4, 2, peaks, int(7.5 * GB), 0, 12.3, 1 / 12.3)
    way = {name: changes.pop(name) for name in ("recompute", "optimizer", "lora_rank")
           if name in changes}  # fmt: skip
    return replace(known, way=replace(known.way, **way), **changes)
