"""Clips of pocket put together, and the pieces of them."""

from __future__ import annotations

import pytest
import torch

from engines.base import Item
from engines.pocket.batches import PIECE, SILENT, as_batch, cut_out, pieces, starts, targets, whole
from engines.pocket.facts import HOP
from tests.engines.pocket.small import clip, item, mixed

PER_SOUND = ("rows", "durations", "sound_pitch", "sound_energy")
PER_FRAME = ("mels", "pitch", "voiced")


def chances(items):
    return [torch.Generator().manual_seed(each.seed) for each in items]


def test_what_is_put_together_holds_each_clip_as_it_is_alone():
    items = mixed()

    together = whole(items)

    for row, each in enumerate(items):
        alone = whole([each])
        sounds, frames = len(each.features["durations"]), len(each.features["mels"])
        for name in PER_SOUND:
            torch.testing.assert_close(together[name][row, :sounds], alone[name][0])
        for name in PER_FRAME:
            torch.testing.assert_close(together[name][row, :frames], alone[name][0])
        torch.testing.assert_close(together["manner"][row], each.companion["manner"])


def test_behind_a_shorter_clip_there_is_silence_without_sounds():
    items = mixed()

    batch = whole(items)

    for row, each in enumerate(items):
        sounds, frames = len(each.features["durations"]), len(each.features["mels"])
        assert not batch["rows"][row, sounds:].any()
        assert not batch["durations"][row, sounds:].any()
        assert (batch["mels"][row, frames:] == SILENT).all()
        assert not batch["voiced"][row, frames:].any()


def test_a_sounds_pitch_and_energy_are_the_means_over_its_frames():
    items = mixed()

    batch = whole(items)

    for row, each in enumerate(items):
        centre = each.companion["manner"][-3]
        at = 0
        for place, lasts in enumerate(each.features["durations"].tolist()):
            pitch = each.features["pitch"][at : at + lasts].mean()
            energy = each.features["mels"][at : at + lasts].float().mean()
            at += lasts
            found = batch["sound_pitch"][row, place], batch["sound_energy"][row, place]
            assert float(found[0]) == pytest.approx(float((pitch - centre) / 0.25), abs=2e-4)
            assert float(found[1]) == pytest.approx(float((energy + 5) / 2), abs=2e-4)
        assert at == len(each.features["mels"])


def test_pitch_is_told_beside_the_companions_own():
    one = clip(seed=1)
    higher = {**one, "manner": one["manner"].clone()}
    higher["manner"][-3] += 0.25

    told = whole([Item(one, one, 0)])["pitch"]
    beside = whole([Item(one, higher, 0)])["pitch"]

    torch.testing.assert_close(beside, told - 1)


def test_targets_count_what_there_is_to_be_learned_and_add_up():
    items = mixed()
    clips = [each.features for each in items]

    found = targets(clips)

    assert found == {
        "clips": 6,
        "sounds": sum(len(each["rows"]) for each in clips),
        "frames": sum(len(each["mels"]) for each in clips),
        "voiced": sum(sum(each["voiced"].tolist()) for each in clips),
    }
    alone = [targets([each]) for each in clips]
    assert {name: sum(each[name] for each in alone) for name in found} == found
    assert all(type(value) is float for value in found.values())


# ---- Pieces ----


def test_what_is_drawn_for_a_clip_does_not_depend_on_what_it_is_batched_with():
    items = mixed()

    together = as_batch(items, 0.5)

    assert len({tuple(row.tolist()) for row in together["pieces"].noise}) == len(items)
    for row, each in enumerate(items):
        alone = as_batch([each], 0.5)
        assert together["begins"][row] == alone["begins"][0]
        assert together["drawn"][row] == alone["drawn"][0]
        for name in ("mels", "pitch", "voiced", "noise", "samples"):
            one, other = getattr(together["pieces"], name)[row], getattr(alone["pieces"], name)[0]
            assert torch.equal(one, other), name


def test_other_seeds_draw_other_pieces_from_all_over_a_clip():
    one = clip(frames=100)

    begins = [as_batch([Item(one, one, seed)], 0.5)["begins"][0] for seed in range(300)]

    assert set(begins) == set(range(100 - PIECE + 1))


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_share_of_pieces_that_the_network_draws_is_as_asked_for(share):
    one = clip()

    drawn = [bool(as_batch([Item(one, one, seed)], share)["drawn"][0]) for seed in range(400)]

    assert sum(drawn) / 400 == pytest.approx(share, abs=0.08)


def test_a_pieces_frames_and_samples_are_of_the_same_second():
    one = item(frames=150, seed=3)
    own = one.features

    found = pieces([own], [20], chances([one]))

    assert torch.equal(found.mels[0], own["mels"][20:84].float())
    assert torch.equal(found.pitch[0], own["pitch"][20:84])
    assert torch.equal(found.voiced[0], own["voiced"][20:84].float())
    wanted = own["samples"][20 * HOP : 84 * HOP].float() / 32767
    torch.testing.assert_close(found.samples[0], wanted)
    assert found.noise.shape == found.samples.shape == (1, PIECE * HOP)


@pytest.mark.parametrize("frames", [1, 40, PIECE - 1, PIECE])
def test_a_clip_shorter_than_a_piece_is_followed_by_silence(frames):
    one = item(frames=frames, sounds=1)

    batch = as_batch([one], 0.0)
    found = batch["pieces"]

    assert batch["begins"] == [0]
    assert found.mels.shape == (1, PIECE, 80) and found.samples.shape == (1, PIECE * HOP)
    assert torch.equal(found.mels[0, :frames], one.features["mels"].float())
    assert (found.mels[0, frames:] == SILENT).all()
    assert not found.voiced[0, frames:].any()
    assert not found.samples[0, frames * HOP :].any()


def test_a_piece_never_reaches_over_the_end_of_a_longer_clip():
    clips = [clip(frames=frames, sounds=2) for frames in (64, 65, 66, 200)]

    for seed in range(100):
        chance = [torch.Generator().manual_seed(seed * 10 + at) for at in range(4)]
        for each, begin in zip(clips, starts(clips, chance), strict=True):
            assert 0 <= begin <= len(each["mels"]) - PIECE


def test_a_piece_is_cut_out_of_each_row_and_filled_up():
    values = torch.arange(2 * 100 * 3).reshape(2, 100, 3).float()

    found = cut_out(values, [10, 70], -1)

    assert torch.equal(found[0], values[0, 10:74])
    assert torch.equal(found[1, :30], values[1, 70:])
    assert (found[1, 30:] == -1).all()
