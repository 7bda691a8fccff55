"""Clips of XTTS put together."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from engines.base import Item
from engines.xtts.batches import COND_FRAMES, ROUND_TO, Marks, collate, draw_piece
from engines.xtts.settings import XttsSettings

MARKS = Marks(start_text=199, stop_text=0, start_audio=1024, stop_audio=1025, latents=32)
SILENCE = torch.full((80,), -2.0)
SAME = XttsSettings(conditioning="same")
UPSTREAM = XttsSettings(conditioning="same", masking="upstream")
OTHER = XttsSettings(conditioning="other")


def features(text, samples, seed=0):
    """What a clip of so many tokens and samples becomes, made up."""
    random = torch.Generator().manual_seed(seed)
    return {
        "text": torch.randint(2, 199, (text,), generator=random, dtype=torch.int32),
        "codes": torch.randint(0, 1024, (-(-samples // 1024),), generator=random).short(),
        "mel": torch.randn(80, samples // 256 + 1, generator=random).half(),
        "samples": torch.tensor(samples, dtype=torch.int32),
    }


def item(text=12, samples=50_000, seed=0, companion=None):
    own = features(text, samples, seed)
    return Item(own, companion or features(5, 90_000, seed + 1000), seed)


def mixed(number=8):
    random = np.random.default_rng(5)
    items = [
        item(int(random.integers(3, 60)), int(random.integers(12_000, 255_000)), seed)
        for seed in range(number - 1)
    ]
    # Heard from frame 14 on: upstream counts codes in frames, and mostly hits nothing.
    return [*items, item(20, 60_000, seed=44)]


def answers(batch, name, row):
    """Say what is to be answered in a row: position in the row -> token."""
    places, length = batch[f"{name}_at"], batch["length"]
    mine = (places // length) == row
    targets = batch[f"{name}_targets"][mine]
    return dict(zip((places[mine] % length).tolist(), targets.tolist(), strict=True))


def test_what_is_read_and_answered_for_one_clip_is_spelled_out_here():
    one = item(text=2, samples=3 * 1024)
    (t1, t2), (c1, c2, c3) = one.features["text"].tolist(), one.features["codes"].tolist()

    batch = collate([one], OTHER, MARKS, SILENCE)

    assert batch["text_ids"].tolist() == [199, t1, t2]
    assert batch["mel_ids"].tolist() == [1024, c1, c2, c3, 1025, 1025, 1025]
    assert batch["places"].tolist() == [*range(32), 32, 33, 34, *range(35, 42)]
    assert answers(batch, "text", 0) == {32: t1, 33: t2, 34: 0}
    assert answers(batch, "mel", 0) == {
        35: c1, 36: c2, 37: c3, 38: 1025, 39: 1025, 40: 1025, 41: 1025,
    }  # fmt: skip


@pytest.mark.parametrize("settings", [OTHER, SAME, UPSTREAM])
def test_the_targets_are_counted_exactly(settings):
    batch = collate(mixed(), settings, MARKS, SILENCE)

    for name, count in batch["targets"].items():
        assert type(count) is int
        assert count == len(batch[f"{name}_at"]) == len(batch[f"{name}_targets"])


def test_rows_are_filled_from_the_left_and_as_long_as_the_longest_needs():
    items = mixed()

    batch = collate(items, OTHER, MARKS, SILENCE)

    needed = [32 + 2 + len(i.features["text"]) + len(i.features["codes"]) + 3 for i in items]
    taken = torch.zeros(len(items) * batch["length"], dtype=torch.long)
    taken.index_add_(0, batch["places"], torch.ones_like(batch["places"]))
    expected = torch.arange(batch["length"]) < torch.tensor(needed)[:, None]
    assert torch.equal(taken.view(len(items), -1), expected.long())
    assert max(needed) <= batch["length"] < max(needed) + ROUND_TO


def test_each_row_reads_its_own_clip():
    items = mixed()

    batch = collate(items, OTHER, MARKS, SILENCE)

    rows = torch.full((len(items) * batch["length"],), -1)
    rows[batch["places"]] = torch.cat(
        [torch.full((32 * len(items),), -2), batch["text_ids"], batch["mel_ids"]]
    )
    for row, each in zip(rows.view(len(items), -1), items, strict=True):
        text, codes = each.features["text"].tolist(), each.features["codes"].tolist()
        read = [-2] * 32 + [199, *text] + [1024, *codes] + [1025] * 3
        assert row.tolist() == read + [-1] * (batch["length"] - len(read))


def test_positions_are_counted_from_the_start_of_each_text_and_of_each_clips_codes():
    items = [item(3, 20_000), item(5, 30_000)]

    batch = collate(items, OTHER, MARKS, SILENCE)

    codes = [len(each.features["codes"]) for each in items]
    assert batch["text_positions"].tolist() == [*range(4), *range(6)]
    assert batch["mel_positions"].tolist() == [*range(codes[0] + 4), *range(codes[1] + 4)]


def test_a_piece_is_three_to_six_seconds_from_anywhere_in_the_clip():
    clip = features(5, 255_000)
    pieces = [draw_piece(Item(clip, clip, seed), SAME) for seed in range(2000)]

    lengths = [piece.end - piece.start for piece in pieces]
    assert min(lengths) == 66150 // 256 and max(lengths) == 132300 // 256
    assert min(piece.start for piece in pieces) < 10
    assert max(piece.end for piece in pieces) in range(255_000 // 256 - 9, 255_000 // 256 + 1)


def test_of_a_short_clip_half_is_heard_and_of_a_short_companion_all():
    short = features(5, 40_000)

    own = draw_piece(Item(short, features(5, 200_000), 3), SAME)
    other = draw_piece(Item(features(5, 200_000), short, 3), OTHER)

    assert own.end - own.start == 40_000 // 256 // 2
    assert (other.start, other.end) == (0, 40_000 // 256)


def test_a_clip_hears_the_same_piece_whatever_it_is_batched_with():
    items = mixed()

    together = filled_up(collate(items, OTHER, MARKS, SILENCE))
    alone = [filled_up(collate([each], OTHER, MARKS, SILENCE))[0] for each in items]

    assert torch.equal(together, torch.stack(alone))
    assert draw_piece(items[0], SAME) != draw_piece(Item(**fields(items[0], seed=99)), SAME)


def filled_up(batch):
    """What conditions, with its silence written out."""
    rows = zip(batch["cond"], batch["cond_counts"], strict=True)
    return torch.stack([row.repeat_interleave(counts, dim=1) for row, counts in rows])


def fields(of, **changes):
    return {"features": of.features, "companion": of.companion, "seed": of.seed, **changes}


@pytest.mark.parametrize(("settings", "heard"), [(SAME, "features"), (OTHER, "companion")])
def test_what_conditions_is_the_piece_and_then_silence(settings, heard):
    items = mixed(3)

    batch = collate(items, settings, MARKS, SILENCE)
    cond = filled_up(batch)

    longest = max(piece.end - piece.start for piece in (draw_piece(i, settings) for i in items))
    assert longest < batch["cond"].shape[-1] <= longest + 8
    assert cond.shape == (3, 80, COND_FRAMES) and cond.dtype == torch.float32
    for row, each in zip(cond, items, strict=True):
        piece = draw_piece(each, settings)
        frames = piece.end - piece.start
        expected = getattr(each, heard)["mel"][:, piece.start : piece.end].float()
        assert torch.equal(row[:, :frames], expected)
        assert (row[:, frames:] == -2.0).all()


def test_no_answer_is_left_out_when_another_clip_conditions():
    for masking in ("upstream", "corrected"):
        settings = XttsSettings(conditioning="other", masking=masking)
        items = mixed()

        batch = collate(items, settings, MARKS, SILENCE)

        assert batch["targets"]["mel"] == sum(len(i.features["codes"]) + 4 for i in items)


def test_corrected_masking_leaves_out_in_every_clip_what_was_heard():
    items = mixed()

    batch = collate(items, SAME, MARKS, SILENCE)

    for row, each in enumerate(items):
        piece = draw_piece(each, SAME)
        first = 32 + 1 + len(each.features["text"])
        wanted = {}
        for number, code in enumerate([*each.features["codes"].tolist(), 1025, 1025, 1025, 1025]):
            if not piece.start * 256 // 1024 <= number < piece.end * 256 // 1024:
                wanted[first + number] = code
        assert answers(batch, "mel", row) == wanted
        assert len(wanted) < len(each.features["codes"])


def test_upstream_masking_leaves_out_frames_of_the_last_clip_only():
    items = mixed()
    everything = collate(items, OTHER, MARKS, SILENCE)

    batch = collate(items, UPSTREAM, MARKS, SILENCE)

    for row in range(len(items) - 1):
        assert answers(batch, "mel", row) == answers(everything, "mel", row)
    piece = draw_piece(items[-1], UPSTREAM)
    first = 32 + 1 + len(items[-1].features["text"])
    left = {
        place: token
        for place, token in answers(everything, "mel", len(items) - 1).items()
        if not piece.start <= place - first < piece.end
    }
    assert answers(batch, "mel", len(items) - 1) == left
    assert len(left) == piece.start < len(items[-1].features["codes"])
