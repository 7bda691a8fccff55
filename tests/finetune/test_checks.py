from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finetune.checks import (
    GOOD,
    LEAVE_OUT,
    LOOK,
    MENTION,
    Facts,
    Finding,
    Fits,
    Usual,
    check,
    judge,
    usual,
)
from finetune.quiet import clipped_share, levels
from finetune.words import Word

USUAL = Usual(per_second=14.0, dense_per_second=4.5)
TEXT = "The quick brown fox jumps over the lazy dog."  # 35 letters
CLEAN = Facts(TEXT, "en", 2.5)
XTTS = Fits(
    "XTTS",
    min_seconds=0.5,
    max_seconds=11.6,
    max_characters=250,
    max_tokens=200,
    characters=frozenset("abcdefghijklmnopqrstuvwxyzTI .,'"),
    count_tokens=lambda text: len(text.split()),
)


def found(clip: Facts, name: str, *engines: Fits) -> Finding:
    return next(each for each in check(clip, USUAL, engines) if each.check == name)


def mark(clip: Facts, *engines: Fits) -> str:
    return judge(check(clip, USUAL, engines)).mark


def speech(noise_db: float, loudness: float = 0.1, seconds: float = 4.0) -> np.ndarray:
    """Syllables four times a second over noise this far below them."""
    chance = np.random.default_rng(0)
    time = np.arange(int(seconds * 16000)) / 16000
    # Silent between the syllables for a fifth of the time.
    voiced = np.maximum(0, np.sin(2 * np.pi * 4 * time) + 0.8) * chance.normal(0, 1, len(time))
    noise = chance.normal(0, 1, len(time)) * 10 ** (-noise_db / 20)
    return loudness * (voiced / np.sqrt(np.mean(voiced**2)) + noise)


def test_a_clip_with_nothing_wrong_is_good_and_gives_no_reason():
    heard = levels(speech(40), 16000)
    words = [Word(f" {word}", 0, 1, 0.95) for word in CLEAN.text.split()]
    clip = replace(CLEAN, heard=heard, words=words)

    assert judge(check(clip, USUAL, [XTTS])) == judge([])
    assert judge([]).mark == "good"


def test_every_finding_gives_a_number_and_a_sentence():
    clip = replace(CLEAN, heard=levels(speech(12), 16000), words=[Word("The", 0, 1, 0.4)])

    for finding in check(clip, Usual(), [XTTS]):
        assert np.isfinite(finding.number)
        assert finding.sentence.endswith(".")


@pytest.mark.parametrize("text", ["", "  ", "...", "♪ — ♪"])
def test_a_clip_without_words_is_left_out(text):
    assert mark(replace(CLEAN, text=text)) == "leave out"


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(2.5, "good"), (1.7, "good"), (3.4, "good"), (1.2, "look"), (6.0, "look"), (0.7, "leave out")],
)
def test_speed_is_compared_with_the_speakers_own(seconds, expected):
    assert mark(replace(CLEAN, seconds=seconds)) == expected


def test_chinese_is_compared_with_chinese():
    clip = Facts("今天天气很好，我们去散步吧。", "zh", 2.7)

    assert found(clip, "speed").weight == GOOD
    assert "usually says 4.5" in found(clip, "speed").sentence


def test_what_is_usual_is_a_median_that_one_bad_clip_cannot_move():
    clips = [replace(CLEAN, seconds=2.5)] * 9 + [replace(CLEAN, seconds=0.1)]

    assert usual(clips).per_second == pytest.approx(14)
    assert usual(clips).dense_per_second is None


def test_too_few_clips_judge_nobody():
    assert usual([CLEAN] * 3) == Usual()
    assert all(each.weight == GOOD for each in check(replace(CLEAN, seconds=0.2), Usual()))


@pytest.mark.parametrize(
    ("text", "times", "expected"),
    [
        ("No, no, no, I will not go there today.", 3, GOOD),
        ("the the the the cat sat on a mat and slept", 4, LOOK),
        ("thank you. thank you. thank you. thank you.", 4, LEAVE_OUT),
        ("I am so very happy I am so very happy I am so very happy today, you know", 3, LOOK),
        ("谢谢谢谢谢谢谢谢谢谢", 10, LEAVE_OUT),
        ("Nothing here comes twice.", 1, GOOD),
    ],
)
def test_words_said_over_and_over_are_found(text, times, expected):
    finding = found(replace(CLEAN, text=text), "repeats")

    assert (finding.number, finding.weight) == (times, expected)


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("Привет, как дела?", "en", LEAVE_OUT),
        ("Hello there, my friend", "ru", LEAVE_OUT),
        ("Я купил iPhone вчера вечером", "ru", GOOD),
        ("我用 OpenAI 的服务", "zh-cn", GOOD),
        ("日本語とカタカナとー", "ja", GOOD),
        ("안녕하세요", "ko", GOOD),
        ("Ça va très bien, Łódź", "fr", GOOD),
        ("Hello wоrld, how are you", "en", MENTION),  # a Cyrillic o
        ("नमस्ते दुनिया", "hi", GOOD),
        ("مرحبا بالعالم", "ar", GOOD),
        ("１２３ hello", "en", GOOD),
    ],
)
def test_letters_the_language_is_not_written_with_are_found(text, language, expected):
    assert found(replace(CLEAN, text=text, language=language), "script").weight == expected


@pytest.mark.parametrize(
    ("noise_db", "expected"), [(40, GOOD), (30, GOOD), (20, GOOD), (10, LOOK), (0, LEAVE_OUT)]
)
def test_noise_is_measured_against_the_speech(noise_db, expected):
    finding = found(replace(CLEAN, heard=levels(speech(noise_db), 16000)), "noise")

    assert finding.weight == expected


def test_silence_and_whispers_are_told_from_speech():
    weights = [
        found(replace(CLEAN, heard=levels(speech(40, loudness), 16000)), "level").weight
        for loudness in (0.1, 0.001, 0.0001)
    ]

    assert weights == [GOOD, LOOK, LEAVE_OUT]


def test_clipped_sound_is_found():
    loud = np.clip(speech(40, 0.6), -1, 1)
    heard = levels(loud, 16000)

    finding = found(replace(CLEAN, heard=heard, clipped=clipped_share(loud)), "clipping")

    assert finding.weight >= LOOK
    assert "recorded too loud" in finding.sentence


def test_doubtful_words_are_named():
    words = [Word(" quick", 0, 1, 0.9), Word(" brawn", 1, 2, 0.1)]

    finding = found(replace(CLEAN, words=words), "certainty")

    assert finding.weight == LOOK
    assert "“brawn” (10%)" in finding.sentence


@pytest.mark.parametrize(
    ("text", "heard", "weight"),
    [
        ("Well-known, isn't it?", " well known isn't it", GOOD),
        ("The kettle sang.", " The cattle sang.", GOOD),
        ("It is 3.5 miles.", " It is three point five miles.", MENTION),
        ("The kettle sang all day.", " The kettle fell off.", LOOK),
        ("The kettle sang.", " My brother-in-law drove home.", LEAVE_OUT),
    ],
)
def test_a_text_that_says_something_else_than_was_heard_is_noticed(text, heard, weight):
    words = [Word(f" {word}", at, at + 1.0) for at, word in enumerate(heard.split())]

    assert found(replace(CLEAN, text=text, words=words), "agreement").weight == weight


@pytest.mark.parametrize(
    ("change", "name", "says"),
    [
        ({"seconds": 12.0, "text": TEXT * 4}, "length", "longer than XTTS takes (11.6 s)"),
        ({"seconds": 0.3}, "length", "shorter than XTTS takes (0.5 s)"),
        ({"text": "a" * 251}, "characters", "It has 251 characters; XTTS takes 250"),
        ({"text": "a " * 201}, "tokens", "It has 201 tokens; XTTS takes 200"),
        ({"text": TEXT + " 語"}, "unknown", "XTTS does not know these characters: 語"),
    ],
)
def test_what_an_engine_would_leave_out_in_silence_is_said(change, name, says):
    finding = found(replace(CLEAN, **change), name, XTTS)

    assert says in finding.sentence
    assert finding.weight >= LOOK


def test_mentions_add_up_to_a_look_and_looks_to_leaving_out():
    assert judge([Finding("a", 1, "A.", MENTION)]).mark == "good"
    assert judge([Finding("a", 1, "A.", MENTION), Finding("b", 1, "B.", MENTION)]).mark == "look"
    assert judge([Finding(c, 1, f"{c}.", LOOK) for c in "ABC"]).mark == "leave out"


def test_the_gravest_finding_is_the_first_reason():
    verdict = judge([Finding("a", 1, "Noisy.", LOOK), Finding("b", 1, "Empty.", LEAVE_OUT)])

    assert verdict.reason == "Empty. Noisy."


@given(
    st.text(max_size=60),
    st.sampled_from(["en", "zh-cn", "ja", "ru", "hi", "ar", "", "xx"]),
    st.floats(0, 60),
    st.lists(st.floats(-100, 0), max_size=50),
)
def test_no_text_and_no_sound_is_too_strange_to_judge(text, language, seconds, heard):
    clip = Facts(text, language, seconds, np.array(heard, np.float32))

    verdict = judge(check(clip, USUAL, [XTTS]))

    assert verdict.mark in ("good", "look", "leave out")
    assert verdict.mark == "good" or verdict.reason
