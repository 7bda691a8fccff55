"""Sentences are joined without a click, with known silences, one at a time."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

from engines.base import Sound
from engines.errors import AudioError
from tests.voices.speaking.corpus import bundle, good
from voices.speaking.joining import AFTER_S, BEFORE_S, Said, Timed, at_times, bounded, joined
from voices.speaking.voiced import span

RATE = 16000


def whole(blocks):
    return np.concatenate([block.samples for block in blocks])


def tone(seconds, rate=RATE, silence=(0.0, 0.0), level=0.3):
    t = np.arange(round(seconds * rate)) / rate
    samples = (level * np.cos(2 * np.pi * 150 * t)).astype(np.float32)
    return Sound(np.pad(samples, [round(each * rate) for each in silence]), rate)


def abruptly(sound):
    """A sentence without the silence around it, as engines give it that stop in time."""
    first, last = span(sound)
    return Sound(sound.samples[first + 300 : last - 300], sound.rate)


@pytest.mark.parametrize("offset", [0.0, 0.05])
def test_no_step_at_a_join_is_above_those_of_speech(offset):
    sounds = [abruptly(case.sound) for case in good()[:60]]
    sounds = [Sound(each.samples + np.float32(offset), each.rate) for each in sounds]
    inside = np.concatenate([np.abs(np.diff(each.samples)) for each in sounds])

    blocks = list(joined(Said(each, 0.2) for each in sounds))

    stream = whole(blocks)
    steps = np.abs(np.diff(stream))
    ends = np.cumsum([len(block.samples) for block in blocks])[:-1]
    near = np.unique(np.clip(ends[:, None] + np.arange(-80, 80), 0, len(steps) - 1))
    assert steps[near].max() <= np.percentile(inside, 99.9)
    assert np.abs(stream[ends]).max() < 1e-3


@pytest.mark.parametrize("silence", [(0.0, 0.0), (0.01, 0.5), (1.0, 2.0)])
@pytest.mark.parametrize("pause", [0.1, 0.45, 2.3])
def test_a_pause_lasts_as_long_as_was_said_whatever_silence_the_engine_left(silence, pause):
    sounds = [tone(0.5, silence=silence), tone(0.7, silence=silence)]

    stream = whole(joined(Said(each, pause) for each in sounds))

    heard = np.flatnonzero(np.abs(stream) > 0.02)
    gap = np.diff(heard).max() / RATE
    assert gap == pytest.approx(pause, abs=0.03)
    assert len(stream) / RATE == pytest.approx(1.2 + pause + BEFORE_S + AFTER_S, abs=0.03)


def test_soft_ends_of_words_are_kept():
    for case in bundle():
        kept, samples = bounded(case.sound), case.sound.samples

        lost = np.sum(samples.astype(float) ** 2) - np.sum(kept.astype(float) ** 2)
        assert lost / np.sum(samples.astype(float) ** 2) < 0.001, case.text


def test_hiss_around_a_sentence_is_no_voice():
    hiss = np.random.default_rng(0).standard_normal(3 * RATE).astype(np.float32) * 0.0013
    quiet = tone(1.0, silence=(1.0, 1.0), level=0.25)

    first, last = span(Sound(quiet.samples + hiss, RATE))

    assert (first / RATE, last / RATE) == (
        pytest.approx(1.0, abs=0.02),
        pytest.approx(2.0, abs=0.02),
    )


def test_the_first_sound_comes_before_the_second_sentence_is_asked_for():
    asked = []

    def sentences():
        for number in range(3):
            asked.append(number)
            yield Said(tone(0.3), 0.5)

    stream = joined(sentences())

    next(stream)
    assert asked == [0]


def test_ten_thousand_sentences_are_joined_with_one_in_memory_at_a_time():
    alive, most = [0], 0

    def forget():
        alive[0] -= 1

    def sentences():
        nonlocal most
        for _ in range(10_000):
            said = tone(0.05)
            alive[0] += 1
            weakref.finalize(said.samples, forget)
            most = max(most, alive[0])
            yield Said(said, 0.1)
            del said

    count = sum(len(block.samples) for block in joined(sentences()))

    assert count > 10_000 * 0.1 * RATE
    assert (most, alive[0]) == (1, 0)


def test_another_sample_rate_is_refused_with_its_place():
    with pytest.raises(AudioError, match=r"Part 2 has 24000 .* have 16000") as caught:
        list(joined([Said(tone(0.2)), Said(tone(0.2, 24000))]))

    assert "file of its own" in caught.value.fix


def test_a_long_silence_comes_in_blocks_of_a_second_at_most():
    blocks = list(joined([Said(tone(0.2), 30.0), Said(tone(0.2))]))

    assert max(len(block.samples) for block in blocks) <= RATE
    assert len(whole(blocks)) / RATE == pytest.approx(30.4, abs=0.2)


def test_silence_and_broken_numbers_do_no_harm():
    broken = tone(0.3)
    broken.samples[100] = np.nan

    stream = whole(joined([Said(Sound(np.zeros(5000, np.float32), RATE), 0.2), Said(broken, 0.1)]))

    assert np.isfinite(stream).all()


def test_sounds_are_laid_where_they_belong_in_time_and_wait_for_each_other():
    parts = [Timed(tone(1.0), 0.5), Timed(tone(1.0), 1.0), Timed(tone(0.5), 4.0)]

    stream = whole(at_times(parts))

    heard = np.flatnonzero(np.abs(stream) > 0.1)
    begins = [heard[0], *heard[1:][np.diff(heard) > 500]]
    assert [at / RATE for at in begins] == pytest.approx([0.5, 1.59, 4.0], abs=0.02)
