"""Each figure of a sample is what the sound was made with, and its words follow from it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import soundfile

from engines.base import Sound
from tests.voices.comparing.test_melody import glide, sung
from voices import shipped
from voices.comparing.figures import Measured, figures, measure

REAL = Measured(pace=5.0, pitch=120.0, range=8.0, lufs=-20.0, silence=0.2)
NAMES = ("Likeness", "Misheard", "Pace", "Pitch", "Melody", "Loudness", "Silence")


def said(sample, real=REAL, **known):
    return {each.name: each.meaning for each in figures(sample, real, **known)}


@pytest.fixture(scope="module")
def demo():
    demo = shipped.demo()
    samples, rate = soundfile.read(demo.recording, dtype="float32")
    return Sound(samples, rate), demo.script.read_text()


# ---- What is measured ----


def test_a_sound_is_measured_as_it_was_made():
    rate = 24000
    voice = sung(glide(100, 200, 3, rate), rate)
    quiet = np.zeros(rate, np.float32)

    # Ten syllables as the letters count them, in three seconds between a second of silence each.
    found = measure(Sound(np.concatenate((quiet, voice, quiet)), rate), "abcde" * 5)

    assert found.pace == pytest.approx(10 / 3, rel=0.02)
    assert found.pitch == pytest.approx(141.4, rel=0.02)
    assert found.range == pytest.approx(10.8, abs=0.3)
    assert found.silence == pytest.approx(0.4, abs=0.01)


def test_twice_as_loud_is_six_decibels_more():
    voice = sung(glide(100, 200, 2, 24000), 24000)

    one, two = (measure(Sound(gain * voice, 24000)).lufs for gain in (0.5, 1))

    assert two - one == pytest.approx(6.02, abs=0.05)


def test_the_demo_is_read_calmly_by_a_man(demo):
    sound, text = demo

    found = measure(sound, text)

    assert 3.5 < found.pace < 4.5 and 95 < found.pitch < 112 and 5 < found.range < 9
    assert 0.15 < found.silence < 0.27 and found.lufs == pytest.approx(-22.2, abs=0.5)


@pytest.mark.parametrize("samples", [np.zeros(0), np.zeros(9000), np.full(9000, np.nan)])
def test_of_nothing_only_loudness_and_silence_are_told(samples):
    found = measure(Sound(samples.astype(np.float32), 24000), "Hello there.")

    assert found == Measured(None, None, None, -70.0, 1.0)
    assert [each.name for each in figures(found, REAL)] == ["Loudness", "Silence"]


def test_a_few_broken_samples_change_nothing_else():
    voice = sung(glide(100, 200, 2, 24000), 24000)
    whole = measure(Sound(voice.copy(), 24000))
    voice[20000:20003] = np.nan, np.inf, -np.inf

    found = measure(Sound(voice, 24000))

    assert found.lufs == pytest.approx(whole.lufs, abs=0.1)
    assert found.pitch == pytest.approx(whole.pitch, rel=0.02)


def test_without_a_text_there_is_no_pace():
    assert measure(Sound(sung(glide(100, 200, 1, 24000), 24000), 24000)).pace is None


# ---- What is said of it ----


def test_all_that_is_known_is_told_in_one_order():
    told = figures(REAL, REAL, similarity=0.93, character_errors=0.01)

    assert tuple(each.name for each in told) == NAMES
    assert [each.value for each in told] == pytest.approx([0.93, 1.0, 5.0, 120, 8, -20, 20])
    assert [each.unit for each in told[2:]] == ["syllables/s", "Hz", "semitones", "LUFS", "%"]


def test_what_is_like_the_real_recording_is_said_to_be():
    assert said(REAL) == {
        "Pace": "as fast as the real recording",
        "Pitch": "as high as the real recording",
        "Melody": "as lively as the real recording",
        "Loudness": "as loud as the real recording",
        "Silence": "pauses as the real recording does",
    }


@pytest.mark.parametrize(
    ("other", "name", "words"),
    [
        ({"pace": 5.4}, "Pace", "as fast as the real recording"),
        ({"pace": 6.0}, "Pace", "20% faster than the real recording"),
        ({"pace": 4.0}, "Pace", "20% slower than the real recording"),
        ({"pitch": 120 * 2 ** (1 / 12)}, "Pitch", "as high as the real recording"),
        ({"pitch": 240.0}, "Pitch", "12.0 semitones higher than the real recording"),
        ({"pitch": 100.0}, "Pitch", "3.2 semitones lower than the real recording"),
        ({"range": 6.0}, "Melody", "a little flatter than the real recording"),
        ({"range": 4.0}, "Melody", "flatter than the real recording"),
        ({"range": 12.0}, "Melody", "livelier than the real recording"),
        ({"lufs": -24.5}, "Loudness", "4.5 dB quieter than the real recording"),
        ({"lufs": -17.0}, "Loudness", "3.0 dB louder than the real recording"),
        ({"silence": 0.3}, "Silence", "more silence than the real recording"),
        ({"silence": 0.1}, "Silence", "less silence than the real recording"),
    ],
)
def test_what_differs_is_said_with_its_direction(other, name, words):
    assert said(replace(REAL, **other))[name] == words


@pytest.mark.parametrize(
    ("other", "name", "words"),
    [
        ({}, "Pace", "as fast as most people read"),
        ({"pace": 8.0}, "Pace", "faster than most people read"),
        ({"pace": 3.0}, "Pace", "slower than most people read"),
        ({"range": 2.0}, "Melody", "hardly moves: sounds flat"),
        ({"range": 13.0}, "Melody", "moves over an octave: very lively"),
        ({"lufs": -16.4}, "Loudness", "as loud as the usual -16 LUFS"),
        ({}, "Loudness", "4.0 dB quieter than the usual -16 LUFS"),
        ({"silence": 0.5}, "Silence", "is mostly pauses"),
    ],
)
def test_without_a_real_recording_it_is_beside_what_is_usual(other, name, words):
    assert said(replace(REAL, **other), None)[name] == words


@pytest.mark.parametrize(
    ("similarity", "words"),
    [
        (0.958, "sounds like the same person"),  # of a person to themselves
        (0.93, "sounds like the same person"),
        (0.875, "sounds very much like the person, not quite the same"),
        (0.82, "sounds a little like the person"),
        (0.795, "sounds like another person"),  # of another voice
        (-0.2, "sounds like another person"),
    ],
)
def test_likeness_is_said_as_the_measured_voices_are_apart(similarity, words):
    assert said(REAL, similarity=similarity)["Likeness"] == words


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.0, "every word is understood"),
        (0.05, "a word may be unclear"),
        (0.15, "several words are unclear"),
        (1.0, "hard to understand, or other words than the text"),
    ],
)
def test_misheard_letters_are_said_as_words(share, words):
    assert said(REAL, character_errors=share)["Misheard"] == words
