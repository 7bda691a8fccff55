"""A take is judged the moment it is recorded, in words that say what to do."""

from __future__ import annotations

import numpy as np
import pytest

from finetune.texts.takes import check_take

RATE = 24_000


def take(level=0.3, noise=0.0005, before=0.4, after=0.4, seconds=2.0, rate=RATE, seed=0):
    """Syllables of a buzzing voice with short closures between them, in quiet noise."""
    random = np.random.default_rng(seed)
    time = np.arange(int(seconds * rate)) / rate
    voice = sum(np.sin(2 * np.pi * 120 * k * time) / k for k in range(1, 12)) / 2
    voice *= np.clip(np.sin(2 * np.pi * 2 * time) ** 2 * 1.6 - 0.3, 0, 1)
    sound = np.concatenate(
        (np.zeros(int(before * rate)), level * voice, np.zeros(int(after * rate)))
    )
    return (sound + noise * random.standard_normal(len(sound))).astype(np.float32)


@pytest.mark.parametrize("rate", [8_000, 16_000, 22_050, 44_100, 48_000])
@pytest.mark.parametrize("level", [0.1, 0.3, 0.9])
def test_a_good_take_is_good_and_trimmed_to_its_speech(level, rate):
    found = check_take(take(level, rate=rate), rate)

    assert found.good, found.problems
    assert 0.2 <= found.start <= 0.5
    assert 2.2 <= found.end <= 2.65


@pytest.mark.parametrize(
    ("samples", "words"),
    [
        (take(level=0.008, noise=0.00001), "too quiet"),
        (np.clip(take(level=3.0), -1, 1), "too loud"),
        (np.clip(take(level=3.0), -1, 0.5), "too loud"),
        (take(noise=0.03), "too much noise"),
        (take(before=0.0)[3000:], "beginning is cut off"),
        (take(after=0.0)[:-3000], "end is cut off"),
        (np.zeros(RATE, dtype=np.float32), "Nothing was recorded"),
        (take()[:2000], "too short"),
        (np.zeros(0, dtype=np.float32), "too short"),
        (np.full(RATE, np.nan, dtype=np.float32), "broken samples"),
    ],
)
def test_what_is_wrong_is_said_in_words(samples, words):
    found = check_take(samples, RATE)

    assert any(words in problem for problem in found.problems)
    assert all(problem.endswith(".") for problem in found.problems)


def test_each_fault_is_said_alone():
    assert len(check_take(np.clip(take(level=3.0), -1, 1), RATE).problems) == 1
    assert len(check_take(take(level=0.008, noise=0.00001), RATE).problems) == 1
    assert len(check_take(take(noise=0.03), RATE).problems) == 1


def test_a_constant_offset_does_not_hide_the_silence():
    assert check_take(take(level=0.2) + np.float32(0.2), RATE).good


def test_a_loud_wave_that_is_not_cut_off_is_not_called_clipped():
    samples = take(level=0.3, noise=0.0)

    assert check_take(samples / np.abs(samples).max(), RATE).clipped == 0
