"""What a synthesiser said, beside what a text says."""

from __future__ import annotations

import random

import numpy as np
import pytest

from engines.pocket.facts import CONSONANTS, MARKS, PAUSE, PHONES, STRESSES, VOWELS
from engines.pocket.phones import EDGES, PAUSE_NUMBER, sounds_of
from engines.pocket.pretrain.labels import rows_of
from tests.engines.pocket.small import sentences

SHORT = ["A dog, and Anna's banana?", "Yes! We understand photography.", "I am here."]
LONG = [each.text for each in sentences()[:20]]
TEXTS = [*SHORT, *LONG]


def phones_of(text):
    return [PHONES[number] for number in sounds_of(text).rows[:, 0]]


@pytest.mark.parametrize("text", SHORT)
def test_a_text_said_as_it_is_read_has_the_rows_that_it_is_read_with(text):
    assert np.array_equal(rows_of(text, phones_of(text)), sounds_of(text).rows)


# 15 / 22 * 22 is 14.999...: the 16th of 22 sounds gets the stress and the word of the 15th.
def test_so_has_a_text_of_any_length():
    for text in LONG:
        assert np.array_equal(rows_of(text, phones_of(text)), sounds_of(text).rows), text


@pytest.mark.parametrize("text", SHORT)
def test_pauses_are_where_the_synthesiser_made_them(text):
    plain = [each for each in phones_of(text) if each != PAUSE]

    found = rows_of(text, [PAUSE, plain[0], PAUSE, *plain[1:]])

    assert (found[:, 0] == PAUSE_NUMBER).nonzero()[0].tolist() == [0, 2]
    wanted = sounds_of(text).rows
    assert np.array_equal(found[found[:, 0] != PAUSE_NUMBER], wanted[wanted[:, 0] != PAUSE_NUMBER])


def test_another_vowel_has_the_stress_of_the_one_that_is_written():
    # flite says "dog" with aa, and unstressed "and" with ae.
    found = rows_of("A dog and Anna", ["ax", "d", "aa", "g", "ae", "n", "d", "ae", "n", "ax"])

    told = [(PHONES[row[0]], STRESSES[row[1]], row[2]) for row in found.tolist()]
    assert told[:4] == [("ax", "none", 3), ("d", "", 1), ("aa", "primary", 0), ("g", "", 2)]


def test_a_sound_left_out_or_put_in_leaves_every_word_its_edges():
    said = phones_of("red dogs and cats")
    left_out = [each for at, each in enumerate(said) if at != said.index("d", 3)]

    found = rows_of("red dogs and cats", left_out)

    edges = found[:, 2]
    assert (edges & 1 > 0).sum() == (edges & 2 > 0).sum() == 4


@pytest.mark.parametrize("seed", range(100))
def test_whatever_was_said_is_kept_and_every_number_is_in_its_table(seed):
    chance = random.Random(seed)
    text = chance.choice(TEXTS)
    said = phones_of(text)
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(said))
        said[at : at + chance.randrange(2)] = [chance.choice((*VOWELS, *CONSONANTS, PAUSE))]

    rows = rows_of(text, said)

    if rows is None:  # too much of a short text is another
        assert len(said) < 20
        return
    assert [PHONES[number] for number in rows[:, 0]] == said
    assert ((rows >= 0) & (rows < (len(PHONES), len(STRESSES), EDGES, len(MARKS)))).all()
    assert ((rows[:, 1] > 0) == [each in VOWELS for each in said]).all()
    assert (rows[:, 3] > 0).all()
    pauses = rows[rows[:, 0] == PAUSE_NUMBER]
    assert not pauses[:, 1:3].any()
    spoken = rows[rows[:, 0] != PAUSE_NUMBER, 2]
    # A word ends just before the next begins.
    assert spoken[0] & 1 and spoken[-1] & 2
    assert (((spoken[:-1] & 2) > 0) == ((spoken[1:] & 1) > 0)).all()


def test_the_words_of_another_text_do_not_fit():
    assert rows_of(TEXTS[3], phones_of(TEXTS[4])) is None
    assert rows_of("Yes.", phones_of("No.")) is None
    assert rows_of("Yes.", [PAUSE]) is None
    assert rows_of("Yes.", []) is None


def test_half_a_text_does_not_fit():
    said = phones_of(TEXTS[1])

    assert rows_of(TEXTS[1], said[: len(said) // 2]) is None
