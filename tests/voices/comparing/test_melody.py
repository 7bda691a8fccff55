"""Pitch measured against sounds whose pitch is known, and against the demo's other estimate."""

from __future__ import annotations

import math

import numpy as np
import pytest
import soundfile

from engines.base import Sound
from engines.pocket import sound as pocket
from voices import shipped
from voices.comparing import melody as melodies
from voices.comparing.melody import melody, pitches


def sung(hertz, rate, *, formants=True):
    """A voice whose pitch is `hertz`, sample by sample: overtones, some of them louder."""
    phase = 2 * np.pi * np.cumsum(hertz) / rate
    total = np.zeros(len(hertz))
    for n in range(1, 13):
        near = np.exp(-(((n * hertz - 700) / 300) ** 2)) if formants else 0
        total += np.sin(n * phase) * (1 / n + 2 * near) * (n * hertz < rate / 2)
    return (0.1 * total).astype(np.float32)


def glide(low, high, seconds, rate):
    return low * (high / low) ** np.linspace(0, 1, int(seconds * rate))


@pytest.mark.parametrize("rate", [16000, 22050, 24000, 44100])
@pytest.mark.parametrize(("low", "high"), [(75, 150), (110, 220), (180, 420)])
def test_a_glide_is_followed_within_a_tenth_of_a_semitone(rate, low, high):
    hertz = glide(low, high, 3, rate)
    found = pitches(Sound(sung(hertz, rate), rate))

    # A frame tells the pitch of its first half as beside its second.
    middle = np.arange(len(found)) * round(rate * 0.01) + math.ceil(rate / melodies.LOWEST_HZ)
    off = 12 * np.abs(np.log2(found[found > 0] / hertz[middle][found > 0]))
    assert np.mean(found > 0) > 0.95
    assert np.percentile(off, 95) < 0.15 and off.max() < 1.0


def test_median_and_range_of_a_glide_are_what_they_must_be():
    found = melody(Sound(sung(glide(100, 200, 4, 24000), 24000), 24000))

    # Nine tenths of an octave, and its geometric middle.
    assert found.semitones == pytest.approx(0.9 * 12, abs=0.25)
    assert found.hertz == pytest.approx(100 * 2**0.5, rel=0.01)


def test_a_steady_note_has_no_range():
    found = melody(Sound(sung(np.full(48000, 130.0), 24000), 24000))

    assert found.semitones < 0.1 and found.hertz == pytest.approx(130, rel=0.002)


def test_noise_between_and_under_a_voice_is_not_taken_for_one():
    chance = np.random.default_rng(0)
    voice = sung(glide(100, 200, 3, 24000), 24000)
    noise = chance.normal(0, 0.1, 24000).astype(np.float32)
    hiss = chance.normal(0, 0.01, len(voice) + 2 * len(noise)).astype(np.float32)

    found = melody(Sound(np.concatenate((noise, voice, noise)) + hiss, 24000))

    assert found.semitones == pytest.approx(10.8, abs=0.4)
    assert np.mean(pitches(Sound(noise, 24000)) > 0) < 0.02


def test_a_hum_behind_a_voice_is_no_voice():
    voice = sung(glide(150, 300, 2, 24000), 24000)
    hum = 0.002 * np.sin(2 * np.pi * 100 * np.arange(72000) / 24000).astype(np.float32)
    hum[24000:] += np.pad(voice, (0, 72000 - 24000 - len(voice)))

    found = pitches(Sound(hum, 24000))

    assert not (found[:85] > 0).any() and (found[110:280] > 0).mean() > 0.95


def test_what_buzzes_for_a_moment_is_no_voice():
    buzz = np.zeros(24000, np.float32)
    buzz[9000:9700] = sung(np.full(700, 200.0), 24000)

    assert not pitches(Sound(buzz, 24000)).any()


def test_a_few_broken_samples_spoil_no_more_than_their_frames():
    voice = sung(glide(100, 200, 3, 24000), 24000)
    voice[30000:30005] = (np.nan, np.inf, -np.inf, np.nan, np.nan)

    assert np.mean(pitches(Sound(voice, 24000)) > 0) > 0.9


@pytest.mark.parametrize(
    "samples",
    [
        np.zeros(0),
        np.zeros(100),
        np.zeros(24000),
        np.full(24000, np.nan),
        np.full(24000, 0.5),
        np.random.default_rng(1).normal(0, 0.2, 24000),
    ],
)
def test_where_nothing_is_voiced_nothing_is_told(samples):
    assert melody(Sound(samples.astype(np.float32), 24000)) is None


def test_the_demo_is_heard_as_the_small_engine_hears_it():
    with soundfile.SoundFile(shipped.demo().recording) as file:
        samples, rate = file.read(40 * file.samplerate, dtype="float32"), file.samplerate
    other = pocket.pitch(pocket.levelled(samples))
    hertz = np.exp(other.logarithms)

    found = pitches(Sound(samples, rate))

    middle = np.arange(len(found)) * round(rate * 0.01) + math.ceil(rate / melodies.LOWEST_HZ)
    at = np.clip(np.round(middle / pocket.HOP).astype(int), 0, len(hertz) - 1)
    both = (found > 0) & other.voiced[at]
    off = 12 * np.abs(np.log2(found[both] / hertz[at][both]))
    assert both.sum() > 0.95 * (found > 0).sum() > 1000
    assert np.mean(off < 1) > 0.99 and np.mean(off > 6) < 0.001
    assert melody(Sound(samples, rate)).hertz == pytest.approx(103, abs=4)
