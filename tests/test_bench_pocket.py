"""What is measured of the engine in the box: each score says what it promises, and no more."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.bench import pocket_scores as scores
from tests.bench.pocket_people import Prompt, divided
from tests.bench.pocket_scores import RATE, Understood

# ---- Words ----


def test_words_are_letters_and_apostrophes_in_lower_case():
    assert scores.words_of("Don't go: 2 BIG, well-known dogs!") == [
        *("don't", "go", "big", "well", "known", "dogs")
    ]


@pytest.mark.parametrize(
    ("heard", "errors"),
    [
        ("the cat sat down", 0),
        ("The CAT sat, down.", 0),
        ("the hat sat down", 1),
        ("the cat down", 1),
        ("the cat sat right down", 1),
        ("", 4),
    ],
)
def test_a_word_that_is_wrong_missing_or_added_is_an_error(heard, errors):
    assert scores.understood("The cat sat down.", heard) == Understood(errors, 4)


def test_a_long_sentence_counts_for_as_much_as_it_has_words():
    assert scores.word_error([Understood(1, 1), Understood(0, 9)]) == 0.1


def test_a_gap_is_how_much_more_was_misunderstood_of_the_second():
    pairs = [(Understood(1, 10), Understood(2, 10)), (Understood(0, 10), Understood(3, 10))]

    assert scores.word_error_gap(pairs) == pytest.approx(0.2)


def test_the_standard_error_is_that_of_a_mean():
    sample = [float(each) for each in np.random.default_rng(1).standard_normal(200)]

    found = scores.standard_error(sample, lambda drawn: sum(drawn) / len(drawn))

    assert found == pytest.approx(np.std(sample) / math.sqrt(200), rel=0.1)
    assert scores.standard_error(sample, max) == scores.standard_error(sample, max)


def test_what_differs_alike_in_every_sentence_has_no_standard_error():
    pairs = [(Understood(number, 10), Understood(number + 1, 10)) for number in range(8)]

    assert scores.standard_error(pairs, scores.word_error_gap) == pytest.approx(0)


# ---- Likeness ----


def test_the_middle_of_a_voice_has_a_length_of_one():
    middle = scores.centroid(np.array([[1.0, 0.0], [0.0, 1.0]]))

    assert middle == pytest.approx([math.sqrt(0.5), math.sqrt(0.5)])


def test_likeness_is_the_mean_cosine_however_long_the_prints_are():
    prints = np.array([[3.0, 0.0], [0.0, 0.5]])

    assert scores.likeness(prints, np.array([1.0, 0.0])) == pytest.approx(0.5)


def test_the_voice_that_is_most_alike_is_named():
    voices = {"far": np.array([0.0, 1.0]), "near": np.array([0.8, 0.6])}

    name, found = scores.most_alike(np.array([[1.0, 0.0]]), voices)

    assert (name, found) == ("near", pytest.approx(0.8))


# ---- Spectra ----

SECONDS = 2
TIMES = np.arange(SECONDS * RATE) / RATE


def tones(hertz):
    """All harmonics of a pitch, as loud as each other."""
    numbers = np.arange(1, int(7900 / hertz) + 1)
    return sum(np.cos(2 * np.pi * hertz * number * TIMES + number**2) for number in numbers)


def lines(samples, hertz):
    frames = len(samples) // scores.HOP
    voiced = np.ones(frames, bool)
    voiced[:4] = voiced[-4:] = False
    return float(scores.lines_db(samples, np.full(frames, hertz), voiced).mean())


def noise(loudness):
    return loudness * np.random.default_rng(3).standard_normal(len(TIMES))


@pytest.mark.parametrize("hertz", [110, 200])
def test_harmonics_stand_out_and_noise_does_not(hertz):
    assert lines(noise(1.0), hertz) < 3
    assert lines(tones(hertz) + noise(0.5), hertz) > 8


def test_more_breath_is_less_buzz():
    found = [lines(tones(120) + noise(loudness), 120) for loudness in (0.3, 1, 3, 10)]

    assert found == sorted(found, reverse=True)


def test_a_pitch_that_is_a_little_off_makes_little_difference():
    samples = tones(120) + noise(0.5)

    assert lines(samples, 120 * 1.01) == pytest.approx(lines(samples, 120), rel=0.1)


def test_harmonics_below_four_kilohertz_are_not_counted():
    low = sum(np.cos(2 * np.pi * 120 * number * TIMES) for number in range(1, 30))

    assert lines(low + noise(0.5), 120) < 3


def test_frames_that_are_not_voiced_are_left_out():
    samples = tones(120)
    voiced = np.zeros(len(samples) // scores.HOP, bool)
    voiced[10:20] = True

    assert len(scores.lines_db(samples, np.full(len(voiced), 120.0), voiced)) == 10


def test_sharpness_is_the_share_of_what_lies_above_four_kilohertz():
    low, high = (np.sin(2 * np.pi * hertz * TIMES) for hertz in (1000, 6000))

    assert scores.sharpness_db(low + high) == pytest.approx(10 * math.log10(0.5), abs=0.01)
    assert scores.sharpness_db(low + 0.1 * high) == pytest.approx(-20, abs=0.1)


# ---- What is learned from and what is judged by ----


def prompts(*texts, seconds=2.0):
    return [Prompt(f"{number}", text, seconds) for number, text in enumerate(texts)]


def test_nothing_that_was_learned_from_is_judged_by():
    texts = [f"This is prompt number {word} of all" for word in "abcdefghij"]
    every = prompts(*texts, *texts)

    taught, judged = divided(every, 8.0, seed=1)

    learned = {each.text for each in taught}
    assert sum(each.seconds for each in taught) == 8
    assert sorted([*learned, *(each.text for each in judged)]) == sorted(texts)


def test_texts_that_differ_in_their_signs_only_are_one_text():
    every = prompts("Please hold the line", "please, hold the line!")

    taught, judged = divided(every, 2.0, seed=1)

    assert (len(taught), judged) == (1, [])


def test_short_prompts_are_learned_from_and_not_judged_by():
    taught, judged = divided(prompts("One two three"), 0.0, seed=1)

    assert (taught, judged) == ([], [])
    assert len(divided(prompts("One two three"), 2.0, seed=1)[0]) == 1


def test_the_same_seed_divides_in_the_same_way():
    every = prompts(*(f"This is the prompt {word}" for word in "abcdefgh"))

    assert divided(every, 6.0, seed=4) == divided(every, 6.0, seed=4)
    assert divided(every, 6.0, seed=4) != divided(every, 6.0, seed=5)
