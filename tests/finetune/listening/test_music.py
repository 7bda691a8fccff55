"""Music under speech is found; a clean or noisy voice is not called music."""

from __future__ import annotations

import numpy as np
import pytest

from finetune.checks import GOOD, LOOK
from finetune.listening.music import MAYBE, SURELY, check_music, music_strength
from tests.speech import RATE, bundled, joined, pink_noise

CLIPS = [joined([said], [0.5])[0] for said in bundled()[:20]]


def under(clip, bed, decibels):
    level = np.sqrt(np.mean(clip**2)) * 10 ** (-decibels / 20)
    return (clip + level * bed / np.sqrt(np.mean(bed**2))).astype(np.float32)


def arpeggio(count):
    time = np.arange(count) / RATE
    tones = [
        np.sin(2 * np.pi * 220 * 2 ** (step / 12) * time * k)
        for step in (0, 4, 7)
        for k in (1, 2, 3)
    ]
    turn = (time / 0.4).astype(int) % 3
    return np.choose(turn, [sum(tones[at : at + 3]) for at in (0, 3, 6)])


def pad(count):
    time = np.arange(count) / RATE
    sway = 0.2 * np.sin(2 * np.pi * 5 * time)
    return sum(np.sin(2 * np.pi * hertz * time + sway) for hertz in (196, 233, 294, 392, 466, 587))


@pytest.mark.parametrize("music", [arpeggio, pad])
def test_music_15_db_below_the_speech_is_found(music):
    found = [music_strength(under(clip, music(len(clip)), 15), RATE) > SURELY for clip in CLIPS]

    assert np.mean(found) >= 0.9


@pytest.mark.parametrize("noise_db", [None, 30, 20, 10])
def test_a_clean_and_a_noisy_voice_are_seldom_called_music(noise_db):
    chance = np.random.default_rng(0)
    noisy = [
        clip if noise_db is None else under(clip, pink_noise(len(clip), chance), noise_db)
        for clip in CLIPS
    ]

    assert sum(music_strength(clip, RATE) > SURELY for clip in noisy) <= 1


def test_noise_alone_holds_no_tone():
    chance = np.random.default_rng(0)

    assert music_strength(pink_noise(4 * RATE, chance), RATE) < MAYBE


def test_soft_chords_raise_the_strength():
    said = bundled()[:10]
    clean = [music_strength(joined([each], [0.5])[0], RATE) for each in said]
    music = [music_strength(joined([each], [0.5], music=True)[0], RATE) for each in said]

    assert np.median(music) > MAYBE > np.median(clean)


@pytest.mark.parametrize("count", [0, 1, 1000, 3000])
def test_what_is_too_short_or_broken_has_no_music(count):
    assert music_strength(np.full(count, np.nan, np.float32), RATE) == 0
    assert music_strength(np.zeros(count, np.float32), RATE) == 0


@pytest.mark.parametrize("rate", [8_000, 22_050, 44_100, 48_000])
def test_a_chord_is_found_at_every_rate(rate):
    time = np.arange(3 * rate) / rate
    chord = sum(np.sin(2 * np.pi * hertz * time) for hertz in (262, 330, 392)).astype(np.float32)

    assert check_music(music_strength(0.1 * chord, rate)).weight == LOOK


def test_the_sentence_says_how_sure_it_is():
    weights = [check_music(strength).weight for strength in (0.0, 0.3, 2.0)]

    assert weights == sorted(set(weights))
    assert check_music(0).weight == GOOD
    assert "may be" in check_music(0.3).sentence
    assert "probably" in check_music(2.0).sentence
