"""Sounds of mel bands and pitch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from engines.pocket.facts import BANDS, HOP, RATE, WINDOW
from engines.pocket.vocoder import pulses
from tests.engines.pocket.small import vocoder


def pulses_of(hertz, voiced=None):
    """Pulses of one voice, and how loud one of them is at each frame's pitch."""
    hertz = torch.as_tensor(np.asarray(hertz), dtype=torch.float32)
    voiced = torch.ones(len(hertz)) if voiced is None else torch.as_tensor(voiced).float()
    return pulses(hertz.log()[None], voiced[None])[0].numpy()


def places(made):
    """Where each pulse is, between the samples that share it."""
    (at,) = np.nonzero(made)
    firsts = at[np.diff(at, prepend=-2) > 1]
    return np.array([first + made[first + 1] / made[first : first + 2].sum() for first in firsts])


def swings_of(hertz):
    """How often a voice swings: the integral of its pitch, which is drawn from frame to frame."""
    marks = np.append(hertz, hertz[-1])
    at = np.arange(len(hertz) * HOP) / HOP
    return np.exp(np.interp(at, np.arange(len(marks)), np.log(marks))).sum() / RATE


CHANCE = np.random.default_rng(7)
# Those of which a frame holds a whole number have a pulse at each edge between two.
EVEN = [62.5, 125.0, 187.5, 250.0, 312.5, 375.0, 437.5, 500.0]
ODD = [round(float(each), 2) for each in CHANCE.uniform(65, 500, 40)]


@pytest.mark.parametrize("hertz", [*EVEN, *ODD])
def test_at_one_pitch_pulses_have_one_distance_for_twenty_seconds(hertz):
    made = pulses_of(np.full(1250, hertz))

    distances = np.diff(places(made))
    np.testing.assert_allclose(distances, RATE / hertz, rtol=0.02)
    assert len(distances) + 1 == pytest.approx(20 * hertz, abs=1)


@pytest.mark.parametrize("seed", range(6))
def test_there_are_as_many_pulses_as_the_pitch_adds_up_to(seed):
    chance = np.random.default_rng(seed)
    hertz = 150 * np.exp(np.cumsum(chance.normal(0, 0.02, 1250)).clip(-0.8, 1.1))

    found = places(pulses_of(hertz))

    assert len(found) == pytest.approx(swings_of(hertz), abs=1)
    periods = RATE / np.interp(found[:-1], np.arange(1250) * HOP, hertz)
    np.testing.assert_allclose(np.diff(found) / periods, 1, atol=0.1)


def test_pulses_are_as_dense_at_the_end_of_three_minutes_as_at_its_start():
    made = pulses_of(np.full(180 * 62, 211.7))

    distances = np.diff(places(made))

    np.testing.assert_allclose(distances, RATE / 211.7, rtol=0.02)
    assert len(distances) + 1 == pytest.approx(211.7 * len(made) / RATE, abs=2)


@pytest.mark.parametrize("hertz", [70, 110, 220, 440])
def test_pulses_are_as_loud_at_any_pitch(hertz):
    made = pulses_of(np.full(625, hertz))

    # Each of sqrt(period), shared by two samples: of power 1 where it lies on one.
    shares = np.add.reduceat(made, np.floor(places(made)).astype(int))
    np.testing.assert_allclose(shares[1:-1], np.sqrt(RATE / hertz), rtol=0.01)


def test_where_nothing_is_voiced_there_is_no_pulse():
    voiced = np.zeros(100)
    voiced[20:50] = voiced[70:71] = 1

    made = pulses_of(np.full(100, 180.0), voiced).reshape(100, HOP)

    assert not made[:19].any() and not made[51:69].any() and not made[71:].any()
    # A pulse at the very start of a frame has its share in the sample before.
    assert not made[voiced == 0, :-1].any()
    assert all(made[frame].any() for frame in range(20, 50))


def test_voices_in_a_batch_have_pulses_of_their_own():
    pitch = torch.stack([torch.full((50,), 4.7), torch.linspace(4.6, 5.6, 50)])
    voiced = (torch.rand(2, 50, generator=torch.Generator().manual_seed(0)) < 0.7).float()

    together = pulses(pitch, voiced)

    for row in range(2):
        assert torch.equal(together[row], pulses(pitch[row : row + 1], voiced[row : row + 1])[0])


# ---- The network ----


def inputs(frames=40, batch=2, seed=0):
    chance = torch.Generator().manual_seed(seed)
    return {
        "mels": -5 + torch.randn(batch, frames, BANDS, generator=chance),
        "pitch": 5 + 0.1 * torch.randn(batch, frames, generator=chance),
        "voiced": (torch.rand(batch, frames, generator=chance) < 0.6).float(),
        "noise": torch.randn(batch, frames * HOP, generator=chance),
    }


@pytest.mark.parametrize("frames", [1, 2, 3, 64, 301])
def test_a_sound_is_as_long_as_its_frames(frames):
    with torch.no_grad():
        found = vocoder()(**inputs(frames))

    assert found.shape == (2, frames * HOP)
    assert found.isfinite().all() and found.any()


def test_the_same_noise_makes_the_same_sound_and_another_another():
    net, given = vocoder(), inputs()

    with torch.no_grad():
        found = net(**given)
        assert torch.equal(found, net(**given))
        assert not torch.allclose(found, net(**{**given, "noise": inputs(seed=1)["noise"]}))


def test_each_sound_of_a_batch_is_what_it_is_alone():
    net, given = vocoder(), inputs(batch=3)

    with torch.no_grad():
        together = net(**given)
        for row in range(3):
            alone = net(**{name: each[row : row + 1] for name, each in given.items()})
            torch.testing.assert_close(together[row], alone[0], rtol=1e-3, atol=1e-5)


def unlearned():
    """A vocoder that follows its bands and has learned nothing else."""
    net = vocoder()
    for each in net.out.parameters():
        torch.nn.init.zeros_(each)
    return net


def test_frames_are_joined_as_torch_joins_them():
    net = vocoder()
    frames = torch.randn(2, 40, WINDOW // 2 + 1, dtype=torch.complex64)
    frames[..., [0, -1]] = frames[..., [0, -1]].real.to(torch.complex64)

    found = net.joined(torch.fft.irfft(frames, WINDOW) * net.window)

    closed = torch.nn.functional.pad(frames.transpose(1, 2), (0, 1))
    wanted = torch.istft(closed, WINDOW, HOP, WINDOW, net.window, length=40 * HOP)
    torch.testing.assert_close(found, wanted, atol=1e-6, rtol=1e-5)


def test_louder_bands_make_a_louder_sound_by_as_much():
    net, given = unlearned(), inputs()

    with torch.no_grad():
        quiet = net(**given)
        loud = net(**{**given, "mels": given["mels"] + 1})

    assert float(loud.norm() / quiet.norm()) == pytest.approx(np.e, rel=1e-2)


def test_silent_bands_make_silence():
    given = inputs()

    with torch.no_grad():
        found = unlearned()(**{**given, "mels": torch.full_like(given["mels"], -9.2)})

    assert found.abs().max() < 0.002


def test_without_voice_the_pitch_does_not_matter():
    net, given = vocoder(), inputs()
    given["voiced"].zero_()

    with torch.no_grad():
        found = net(**given)

        torch.testing.assert_close(net(**{**given, "pitch": given["pitch"] + 0.7}), found)


def test_a_voice_is_heard_at_its_pitch():
    net, given = unlearned(), inputs(frames=100, batch=1)
    given = {**given, "pitch": torch.full((1, 100), np.log(200.0)), "voiced": torch.ones(1, 100)}

    with torch.no_grad():
        spectrum = torch.fft.rfft(net(**given)[0, :RATE]).abs()

    bins = spectrum[100:1100].reshape(-1, 200)  # of 1 Hz; a harmonic in the middle of each row
    assert (bins.argmax(1) == 100).all()


def test_absurd_bands_do_not_make_it_louder_than_numbers_go():
    net, given = vocoder(), inputs()

    with torch.no_grad():
        found = net(**{**given, "mels": given["mels"] + 1000})

    assert found.isfinite().all()
