"""How samples are judged: by the real voice, and by a real, tiny Whisper."""

from __future__ import annotations

import logging

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from engines.base import Sound
from finetune.jobs.events import Said
from finetune.settings import HearSettings
from finetune.training import judging
from finetune.training.judging import Judge, comparable, distance, errors
from tests.speech import RATE, bundled
from tests.whisper.hearing import MODEL

HEARING = HearSettings(window_seconds=8)
SPOKEN = bundled()[:15]


def sound_of(said):
    return Sound(said.samples, RATE)


def of_voice(voice):
    return [said for said in SPOKEN if said.voice == voice]


@pytest.fixture(scope="module")
def judge():
    real = (sound_of(said) for said in of_voice("slt")[:2])
    return Judge(real, print, MODEL, HEARING, threads=1)


def test_the_same_voice_is_more_alike_than_any_other(judge):
    own = judge.similarity(sound_of(of_voice("slt")[2]))
    others = [judge.similarity(sound_of(said)) for said in SPOKEN[:5] if said.voice != "slt"]

    assert own > 0.85
    assert max(others) < own - 0.1


@pytest.mark.parametrize("samples", [np.zeros(9000), np.zeros(0), np.full(9000, np.nan)])
def test_silence_is_like_nobody_and_says_nothing(judge, samples):
    silence = Sound(samples.astype(np.float32), 24000)

    assert judge.similarity(silence) == 0
    assert judge.character_errors(silence, "Good morning", "en") > 0.5


def test_what_is_said_as_it_was_to_be_said_has_few_errors_and_else_many(judge):
    said = SPOKEN[0]

    assert judge.character_errors(sound_of(said), said.text, "en") <= 0.1
    assert judge.character_errors(sound_of(said), "Something else entirely", "en") > 0.5


def test_another_rate_changes_little(judge):
    import soxr

    said = SPOKEN[0]
    other = Sound(soxr.resample(said.samples, RATE, 24000), 24000)

    assert judge.similarity(other) == pytest.approx(judge.similarity(sound_of(said)), abs=0.02)
    assert judge.character_errors(other, said.text, "en") <= 0.1


def test_without_a_transcriber_errors_are_not_known():
    told = []

    assert Judge([], told.append).character_errors(sound_of(SPOKEN[0]), "text", "en") is None
    assert told == []


def test_nothing_is_read_or_loaded_before_the_first_sample(monkeypatch):
    monkeypatch.setattr(judging, "VoicePrints", lambda: pytest.fail("loaded"))
    monkeypatch.setattr(judging, "Ear", lambda *given: pytest.fail("loaded"))

    Judge((pytest.fail("read") for _ in range(3)), print, MODEL)


@pytest.mark.parametrize("real", [[], [Sound(np.zeros(9000, np.float32), RATE)]])
def test_without_a_real_voice_it_says_so_once_and_gives_none(real):
    told = []
    judge = Judge(real, told.append)

    assert [judge.similarity(sound_of(SPOKEN[0])) for _ in range(3)] == [None] * 3
    assert len(told) == 1
    assert isinstance(told[0], Said) and "No voice" in told[0].text


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_transcriber_that_cannot_hear_says_so_once_and_likeness_is_still_told(tmp_path, language):
    told = []
    folder = tmp_path if language == "en" else MODEL  # no model at all, or one of English alone
    judge = Judge([sound_of(SPOKEN[2])], told.append, folder, HEARING, threads=1)

    found = [judge.character_errors(sound_of(SPOKEN[0]), "text", language) for _ in range(3)]

    assert found == [None] * 3
    assert len(told) == 1
    assert judge.similarity(sound_of(SPOKEN[2])) > 0.9


def test_a_fault_nobody_thought_of_ends_nothing_and_is_in_the_log(monkeypatch, caplog):
    def broken():
        raise ZeroDivisionError("odd")

    told = []
    monkeypatch.setattr(judging, "VoicePrints", broken)

    with caplog.at_level(logging.WARNING):
        assert Judge([sound_of(SPOKEN[0])], told.append).similarity(sound_of(SPOKEN[0])) is None

    assert "odd" in told[0].text
    assert "Traceback" in caplog.text


def test_torch_keeps_its_threads(judge):
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        Judge([sound_of(SPOKEN[0])], print).similarity(sound_of(SPOKEN[0]))

        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_only_some_of_the_real_clips_are_read(monkeypatch):
    monkeypatch.setattr(judging, "MOST_REAL_CLIPS", 2)
    read = []

    def real():
        for said in SPOKEN:
            read.append(said)
            yield sound_of(said)

    Judge(real(), print).similarity(sound_of(SPOKEN[0]))

    assert len(read) == 2


@pytest.mark.parametrize(
    ("written", "heard", "language"),
    [
        ("It’s a well-known story!", "its a well known  story", "en"),
        ("We counted twenty birds.", "We counted 20 birds", "en"),
        ("ÇA ALORS…", "ça alors", "fr"),
        ("大家早上好！", "大家 早上 好", "zh-cn"),
        ("Ｈｅｌｌｏ", "hello", "en"),
    ],
)
def test_what_only_looks_different_is_no_error(written, heard, language):
    assert errors(written, heard, language) == 0


def test_vowel_marks_and_accents_are_heard():
    assert comparable("किताब", "hi") == "किताब"
    assert errors("pêche", "peche", "fr") == pytest.approx(1 / 5)


@pytest.mark.parametrize(
    ("expected", "heard", "share"),
    [("abcd", "abxd", 0.25), ("abcd", "", 1), ("ab", "x" * 90, 1), ("", "", 0), ("!", "a", 1)],
)
def test_errors_are_a_share_of_what_was_to_be_said_and_1_at_most(expected, heard, share):
    assert errors(expected, heard, "en") == share


@given(st.text("abc", max_size=8), st.text("abc", max_size=8), st.text("abc", max_size=8))
def test_distances_are_distances(one, two, three):
    assert distance(one, two) == distance(two, one)
    assert (distance(one, two) == 0) == (one == two)
    assert distance(one, three) <= distance(one, two) + distance(two, three)
    assert abs(len(one) - len(two)) <= distance(one, two) <= max(len(one), len(two))
