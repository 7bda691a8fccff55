"""What pocket's networks are told of their errors."""

from __future__ import annotations

import math

import pytest
import torch

from engines.pocket import losses
from engines.pocket.acoustic import Frames, Prosody
from engines.pocket.batches import as_batch, targets, whole
from engines.pocket.losses import acoustic_losses, inner, spectral_losses, spoken, weighed
from tests.engines.pocket.small import acoustic, item, mixed, network

NAMES = {"mels", "timing", "tempo", "melody", "energy", "pitch", "voicing"}


def totals_of(items):
    return targets([each.features for each in items])


def perfect(net, batch):
    """What a network would say that errs in nothing."""
    sure = 2 * math.log(19) * (batch["voiced"] - 0.5)  # 95 in 100: it may be no surer
    mask = (torch.arange(batch["mels"].shape[1]) < batch["durations"].sum(1)[:, None]).float()
    lasts = batch["durations"].clamp(min=1).float().log()
    frames = Frames(net.standardised(batch["mels"]), batch["pitch"], sure, mask[..., None])
    return frames, Prosody(lasts, batch["sound_pitch"], batch["sound_energy"])


def summed(losses_of, cuts):
    """The losses of micro-batches, added up."""
    found = {}
    for cut in cuts:
        for name, value in losses_of(cut).items():
            found[name] = found.get(name, 0.0) + float(value)
    return found


CUTS = [[1] * 6, [2, 2, 2], [5, 1], [1, 3, 2]]


def cut_up(items, sizes):
    return [items[sum(sizes[:at]) : sum(sizes[: at + 1])] for at in range(len(sizes))]


@pytest.mark.parametrize("sizes", CUTS)
def test_losses_of_micro_batches_add_up_to_those_of_the_whole_step(sizes):
    net, items = acoustic(), mixed()
    totals = totals_of(items)

    def losses_of(some):
        batch = whole(some)
        with torch.no_grad():
            return acoustic_losses(net, batch, *spoken(net, batch), totals)

    step = {name: float(value) for name, value in losses_of(items).items()}

    assert set(step) == NAMES
    assert min(step.values()) > 0.01
    assert summed(losses_of, cut_up(items, sizes)) == pytest.approx(step, rel=1e-5)


@pytest.mark.parametrize(
    ("sizes", "drawn_share"),
    [
        *((sizes, 0.0) for sizes in CUTS),
        (CUTS[0], 1.0),
        *((sizes, 1.0) for sizes in CUTS[1:]),
    ],
)
def test_those_of_both_networks_add_up_too(sizes, drawn_share):
    net, items = network(), mixed()
    totals = totals_of(items)

    def losses_of(some):
        with torch.no_grad():
            return net(as_batch(some, drawn_share), totals)

    step = {name: float(value) for name, value in losses_of(items).items()}

    assert set(step) == NAMES | {"loss", "sound"}
    assert summed(losses_of, cut_up(items, sizes)) == pytest.approx(step, rel=1e-5)


def test_they_add_up_where_no_clip_is_shorter_than_a_piece():
    net, items = network(), [item(64 + 9 * seed, 7, seed) for seed in range(5)]
    totals = totals_of(items)

    def losses_of(some):
        with torch.no_grad():
            return net(as_batch(some, 0.5), totals)

    step = {name: float(value) for name, value in losses_of(items).items()}

    assert summed(losses_of, [[each] for each in items]) == pytest.approx(step, rel=1e-5)


def test_gradients_of_micro_batches_add_up_too():
    net, items = acoustic(), mixed()
    totals = totals_of(items)

    def gradients(some):
        batch = whole(some)
        loss = weighed(acoustic_losses(net, batch, *spoken(net, batch), totals))
        return torch.autograd.grad(loss, [*net.parameters()])

    parts = [gradients([each]) for each in items]

    for step, *each in zip(gradients(items), *parts, strict=True):
        torch.testing.assert_close(sum(each), step, rtol=1e-3, atol=1e-5)


def test_a_perfect_answer_costs_nothing():
    net, items = acoustic(), mixed()
    batch = whole(items)

    found = acoustic_losses(net, batch, *perfect(net, batch), totals_of(items))

    for name in NAMES:
        assert float(found[name]) == pytest.approx(0, abs=1e-5), name


@pytest.mark.parametrize("name", sorted(NAMES))
def test_each_loss_tells_of_its_own_error(name):
    net, items = acoustic(), mixed()
    batch = whole(items)
    frames, prosody = perfect(net, batch)
    of_frames = {"mels": "mels", "pitch": "pitch", "voicing": "voicing"}
    of_sounds = {"timing": "durations", "tempo": "durations", "melody": "pitch", "energy": "energy"}
    off = of_frames.get(name) or of_sounds[name]
    spoilt = frames if name in of_frames else prosody
    values = {each: getattr(spoilt, each) for each in spoilt.__slots__}
    values[off] = -values[off] if name == "voicing" else values[off] + 0.5
    wrong = type(spoilt)(**values)
    pair = (wrong, prosody) if name in of_frames else (frames, wrong)

    found = acoustic_losses(net, batch, *pair, totals_of(items))

    costs = {each for each in NAMES if float(found[each]) > 1e-4}
    assert costs == ({"timing", "tempo"} if off == "durations" else {name})
    if name != "voicing":
        assert float(found[name]) == pytest.approx(0.5 if name in of_frames else 0.25, rel=1e-3)


def test_what_is_said_where_nothing_is_costs_nothing():
    net, items = acoustic(), mixed()
    batch = whole(items)
    with torch.no_grad():
        frames, prosody = spoken(net, batch)
    before = acoustic_losses(net, batch, frames, prosody, totals_of(items))
    beyond, no_sound = 1 - frames.mask, (batch["rows"][..., 0] == 0).float()
    assert beyond.any() and no_sound.any()

    after = acoustic_losses(
        net, batch,
        Frames(
            frames.mels + 7 * beyond, frames.pitch + 7 * beyond[..., 0],
            frames.voicing + 7 * beyond[..., 0], frames.mask,
        ),
        Prosody(
            prosody.durations + 7 * no_sound, prosody.pitch + 7 * no_sound,
            prosody.energy + 7 * no_sound,
        ),
        totals_of(items),
    )  # fmt: skip

    for name in NAMES:
        assert float(after[name]) == pytest.approx(float(before[name]), rel=1e-6)


def test_a_step_in_which_nothing_is_voiced_costs_no_number_that_is_none():
    net, one = acoustic(), item()
    one.features["voiced"][:] = False
    batch = whole([one])

    with torch.no_grad():
        found = acoustic_losses(net, batch, *spoken(net, batch), totals_of([one]))

    assert float(found["pitch"]) == 0
    assert all(torch.isfinite(value) for value in found.values())


def test_speech_that_is_too_fast_by_a_tenth_costs_the_square_of_its_logarithm():
    net, items = acoustic(), mixed()
    batch = whole(items)
    frames, prosody = perfect(net, batch)
    fast = Prosody(prosody.durations - 0.1, prosody.pitch, prosody.energy)

    found = acoustic_losses(net, batch, frames, fast, totals_of(items))

    assert float(found["tempo"]) == pytest.approx(0.01, rel=1e-3)


def test_weights_name_every_loss():
    assert set(losses.WEIGHTS) == NAMES
    ones = {name: torch.ones(()) for name in NAMES}
    assert float(weighed(ones)) == pytest.approx(sum(losses.WEIGHTS.values()))


# ---- The vocoder's ----


def sounds(count=3, seed=0):
    chance = torch.Generator().manual_seed(seed)
    return 0.1 * torch.randn(count, 64 * 256, generator=chance)


def test_equal_sounds_differ_by_nothing_and_any_others_by_something():
    one, other = sounds(), sounds(seed=1)

    assert spectral_losses(one, one).tolist() == [0, 0, 0]
    assert (spectral_losses(one, other) > 0.1).all()


def test_each_pair_is_measured_on_its_own():
    one, other = sounds(), sounds(seed=1)

    together = spectral_losses(one, other)

    alone = [spectral_losses(one[row : row + 1], other[row : row + 1])[0] for row in range(3)]
    torch.testing.assert_close(together, torch.stack(alone))


def test_silence_costs_and_teaches_nothing_that_is_no_number():
    silence = torch.zeros(2, 64 * 256, requires_grad=True)

    spectral_losses(silence, torch.stack([torch.zeros(64 * 256), sounds()[0]])).sum().backward()

    assert torch.isfinite(silence.grad).all()


def test_the_ends_of_a_piece_are_left_out():
    assert torch.equal(inner(torch.arange(3000)[None]), torch.arange(512, 2488)[None])
