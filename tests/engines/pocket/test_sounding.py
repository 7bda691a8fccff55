"""The vocoder's schooling: two courses, one after the other, the same wherever it was stopped."""

from __future__ import annotations

import shutil

import torch

from engines.pocket.pretrain.size import Size
from engines.pocket.pretrain.sounding import teach
from tests.engines.pocket import small

SIZE = Size(close_steps=2, keen_steps=2, save_every=1)


def test_it_ends_the_same_when_it_was_killed_between_its_two_courses(tmp_path):
    clips = [
        {name: each.numpy() for name, each in small.clip(seed=seed).items()} for seed in (0, 1)
    ]
    for place in ("whole", "killed"):
        (tmp_path / place).mkdir()
    whole = teach(clips, SIZE, tmp_path / "whole")
    shutil.copy(tmp_path / "whole" / "vocoder-close.learning", tmp_path / "killed")

    torch.manual_seed(99)
    gone_on = teach(clips, SIZE, tmp_path / "killed")

    for one, other in zip(whole.parameters(), gone_on.parameters(), strict=True):
        assert torch.equal(one, other)
