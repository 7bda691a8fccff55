"""The network from sounds to mel bands, and the block that it is built of."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from engines.pocket.acoustic import MANNER, Shape
from engines.pocket.batches import whole
from engines.pocket.blocks import Block
from engines.pocket.facts import BANDS, MARKS, PHONES, STRESSES
from engines.pocket.losses import acoustic_losses, spoken
from tests.engines.pocket.small import acoustic, item, mixed, stirred
from tests.engines.pocket.test_losses import totals_of


def test_what_is_said_of_a_clip_does_not_depend_on_what_it_is_batched_with():
    net, items = acoustic(), mixed()

    with torch.no_grad():
        frames, prosody = spoken(net, whole(items))
        for row, each in enumerate(items):
            alone, own = spoken(net, whole([each]))
            count, sounds = len(each.features["mels"]), len(each.features["rows"])
            for name in ("mels", "pitch", "voicing"):
                torch.testing.assert_close(
                    getattr(frames, name)[row, :count], getattr(alone, name)[0],
                    rtol=1e-4, atol=1e-4,
                )  # fmt: skip
            for name in ("durations", "pitch", "energy"):
                torch.testing.assert_close(
                    getattr(prosody, name)[row, :sounds], getattr(own, name)[0],
                    rtol=1e-4, atol=1e-4,
                )  # fmt: skip


def said(net, rows, durations):
    """Frames of sounds that last so long."""
    rows, durations = torch.tensor(rows), torch.tensor(durations)
    voice = net.voice(torch.zeros(len(rows), MANNER))
    state, _ = net.read(rows, voice)
    flat = torch.zeros(durations.shape)
    return net.speak(state, durations, flat, flat, voice)


def test_who_knows_how_many_frames_there_are_gets_the_same():
    net = acoustic()
    state, voice = torch.randn(2, 3, net.spread.in_features), net.voice(torch.zeros(2, MANNER))
    lasts, flat = torch.tensor([[4, 1, 6], [2, 2, 2]]), torch.zeros(2, 3)

    asked = net.speak(state, lasts, flat, flat, voice)
    told = net.speak(state, lasts, flat, flat, voice, 11)

    assert torch.equal(asked.mels, told.mels) and torch.equal(asked.mask, told.mask)


def test_durations_decide_how_many_frames_there_are():
    net = acoustic()
    rows = [[[1, 0, 0, 1], [5, 1, 1, 1], [20, 0, 2, 1]]] * 3

    frames = said(net, rows, [[3, 0, 4], [1, 1, 1], [10, 2, 5]])

    assert frames.mels.shape == (3, 17, BANDS)
    assert frames.pitch.shape == frames.voicing.shape == (3, 17)
    assert frames.mask[..., 0].sum(1).tolist() == [7, 3, 17]
    for row, count in zip(frames.mask[..., 0], (7, 3, 17), strict=True):
        assert row.tolist() == [1.0] * count + [0.0] * (17 - count)


def test_a_sound_without_frames_is_not_heard():
    net = acoustic()
    a, b, c = [1, 0, 0, 1], [5, 1, 1, 1], [20, 0, 2, 1]
    state = torch.randn(1, 3, 16)
    voice = net.voice(torch.zeros(1, MANNER))

    def frames(states, lasts):
        flat = torch.zeros(1, len(lasts))
        return net.speak(states, torch.tensor([lasts]), flat, flat, voice).mels

    torch.testing.assert_close(frames(state, [3, 0, 4]), frames(state[:, [0, 2]], [3, 4]))
    assert not torch.allclose(
        said(net, [[a, b, c]], [[3, 1, 4]]).mels, said(net, [[a, c, c]], [[3, 1, 4]]).mels
    )


def test_each_frame_belongs_to_the_sound_whose_turn_it_is():
    net = acoustic()
    net.speaker = torch.nn.ModuleList()  # nothing looks at neighbours now
    voice = net.voice(torch.zeros(1, MANNER))
    lasts, flat = torch.tensor([[2, 3, 1]]), torch.zeros(1, 3)
    state = torch.randn(1, 3, 16)
    before = net.speak(state, lasts, flat, flat, voice).mels

    for sound, mine in enumerate([{0, 1}, {2, 3, 4}, {5}]):
        other = state.clone()
        other[0, sound] = torch.randn(16)
        after = net.speak(other, lasts, flat, flat, voice).mels
        changed = (after != before).any(-1)[0].nonzero()[:, 0].tolist()
        assert set(changed) == mine


@pytest.mark.parametrize("column", range(4))
def test_every_number_of_a_row_is_heard(column):
    net = acoustic()
    rows = torch.tensor([[[4, 1, 0, 1], [5, 1, 1, 1], [20, 0, 2, 1]]])
    other = rows.clone()
    other[0, 1, column] += 1
    voice = net.voice(torch.zeros(1, MANNER))

    assert not torch.allclose(net.read(rows, voice)[0], net.read(other, voice)[0])


def test_the_tables_hold_every_number_there_is():
    last = [[[len(PHONES) - 1, len(STRESSES) - 1, 3, len(MARKS) - 1]]]

    assert said(acoustic(), last, [[2]]).mels.isfinite().all()


@pytest.mark.parametrize("name", ["timing", "melody", "energy", "tempo"])
def test_what_is_learned_of_prosody_does_not_bend_the_reader(name):
    net, items = acoustic(), mixed()
    batch = whole(items)
    found = acoustic_losses(net, batch, *spoken(net, batch), totals_of(items))

    found[name].backward()

    for part in ("reader", "phone", "stress", "edge", "mark", "speaker", "spread", "from_melody"):
        assert all(each.grad is None for each in getattr(net, part).parameters()), part
    own = net.timing if name in ("timing", "tempo") else net.melody
    assert all(each.grad is not None and each.grad.any() for each in own.parameters())


def test_mel_bands_teach_every_part_but_those_of_prosody():
    net, items = acoustic(), mixed()
    batch = whole(items)
    found = acoustic_losses(net, batch, *spoken(net, batch), totals_of(items))

    (found["mels"] + found["pitch"] + found["voicing"]).backward()

    prosody = ("timing.", "to_timing.", "melody.", "to_melody.")
    for name, each in net.named_parameters():
        learns = each.grad is not None and bool(each.grad.any())
        assert learns != name.startswith(prosody), name


def test_pitch_and_energy_told_of_a_sound_change_what_is_said():
    net = acoustic()
    batch = whole([item()])
    voice = net.voice(batch["manner"])
    state, _ = net.read(batch["rows"], voice)
    flat = torch.zeros_like(batch["sound_pitch"])

    frames = [
        net.speak(state, batch["durations"], pitch, energy, voice).mels
        for pitch, energy in [(flat, flat), (flat + 1, flat), (flat, flat + 1)]
    ]

    assert not torch.allclose(frames[0], frames[1]) and not torch.allclose(frames[0], frames[2])
    assert not torch.allclose(frames[1], frames[2])


def test_standardised_bands_become_natural_again():
    net = acoustic()
    bands = torch.randn(2, 5, BANDS)

    torch.testing.assert_close(net.natural(net.standardised(bands)), bands)
    assert float(net.standardised(torch.tensor(-5.0))[0]) == 0


# ---- Blocks ----


def naive(x, weight, bias):
    """A depthwise convolution as what it means: shifted, multiplied and added."""
    reach = len(weight)
    padded = functional.pad(x, (0, 0, reach // 2, reach // 2))
    return bias + sum(padded[:, at : at + x.shape[1]] * weight[at] for at in range(reach))


@pytest.mark.parametrize("reach", [3, 5, 7])
def test_looking_around_is_a_convolution_of_each_channel(reach):
    torch.manual_seed(reach)
    block = stirred(Block(6, 2, reach))
    x = torch.randn(3, 20, 6)

    found = block._looked_around(x)

    torch.testing.assert_close(found, naive(x, block.weight, block.bias), rtol=1e-5, atol=1e-5)


def test_a_block_adds_what_it_thinks_to_what_there_was():
    torch.manual_seed(0)
    block = stirred(Block(6, 2, 3, voice=4))
    x, voice = torch.randn(2, 9, 6), torch.randn(2, 4)

    found = block(x, None, voice)

    scale, shift = block.voiced(voice)[:, None].chunk(2, -1)
    seen = functional.layer_norm(naive(x, block.weight, block.bias), (6,)) * (1 + scale) + shift
    thought = block.narrow(functional.silu(block.widen(seen)))
    torch.testing.assert_close(found, x + thought, rtol=1e-4, atol=1e-5)
    assert not torch.allclose(found, block(x, None, voice + 1))


def test_a_block_does_not_see_what_is_masked():
    torch.manual_seed(0)
    block = stirred(Block(6, 2, 5))
    x, mask = torch.randn(1, 12, 6), (torch.arange(12) < 8).float()[None, :, None]

    found = block(x, mask)

    torch.testing.assert_close(found[:, :8], block(x[:, :8]))
    torch.testing.assert_close(found, block(x + 9 * (1 - mask), mask))


def test_things_are_dropped_in_training_only():
    torch.manual_seed(0)
    block = stirred(Block(6, 2, 3, dropout=0.5))
    x = torch.randn(2, 9, 6)

    assert torch.equal(block(x), block(x))
    block.train()
    assert not torch.equal(block(x), block(x))
    block.dropout = 0.0
    assert torch.equal(block(x), block(x))


def test_a_whole_network_says_the_same_twice_unless_it_is_trained():
    batch, net = whole(mixed()), acoustic()

    assert torch.equal(spoken(net, batch)[0].mels, spoken(net, batch)[0].mels)
    net.train()
    assert not torch.equal(spoken(net, batch)[0].mels, spoken(net, batch)[0].mels)
    assert Shape().dropout > 0
