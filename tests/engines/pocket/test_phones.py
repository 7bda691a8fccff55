"""Texts as rows of numbers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.errors import TextError
from engines.pocket import pronouncing
from engines.pocket.facts import MARKS, PHONES, STRESSES, VOWELS
from engines.pocket.phones import (
    EDGES,
    PAUSE_NUMBER,
    named,
    number_of,
    of_word,
    sounds_of,
)
from tests.engines.pocket.small import sentences


def told(text, **how):
    """Rows written out: sound, stress, edge, mark."""
    edges = ("", "first", "last", "both")
    return [
        (PHONES[phone], STRESSES[stress], edges[edge], MARKS[mark])
        for phone, stress, edge, mark in sounds_of(text, **how).rows.tolist()
    ]


def test_a_sentence_is_spelled_out_here():
    assert told("A dog, Anna?") == [
        ("pau", "", "", ","),
        ("ax", "none", "both", ","),
        ("d", "", "first", ","),
        ("ao", "primary", "", ","),
        ("g", "", "last", ","),
        ("pau", "", "", ","),
        ("ae", "primary", "first", "?"),
        ("n", "", "", "?"),
        ("ax", "none", "last", "?"),
        ("pau", "", "", "?"),
    ]


def test_a_pause_is_of_the_phrase_before_it_and_the_first_of_the_phrase_behind():
    marks = [mark for phone, _, _, mark in told("Yes! No, why? Go") if phone == "pau"]

    assert marks == ["!", "!", ",", "?", "."]


@pytest.mark.parametrize(("text", "mark"), [("go", "."), ("go.", "."), ("go?", "?"), ("go!", "!")])
def test_what_ends_a_phrase_is_told_to_each_of_its_sounds(text, mark):
    assert {row[3] for row in told(text)} == {mark}


def test_secondary_stress_is_told_from_primary():
    stresses = [stress for phone, stress, _, _ in told("understand") if phone in VOWELS]

    assert stresses == ["secondary", "none", "primary"]


def test_an_unstressed_ah_is_a_sound_of_its_own():
    assert named("AH0") == ("ax", "none")
    assert named("AH1") == ("ah", "primary")
    assert named("AH2") == ("ah", "secondary")
    assert named("ER0") == ("er", "none")
    assert named("NG") == ("ng", "")


def test_a_word_of_one_sound_begins_and_ends_with_it():
    assert [edge for _, _, edge in of_word(("AY1",))] == [3]
    assert [edge for _, _, edge in of_word(("G", "OW1"))] == [1, 2]
    assert [edge for _, _, edge in of_word(("G", "OW1", "T"))] == [1, 0, 2]


def test_pauses_are_put_between_words_to_be_found():
    plain, looked_for = (
        told("red cats, go now"),
        told("red cats, go now", pauses_between_words=True),
    )

    phones = " ".join(row[0] for row in looked_for)
    assert phones == "pau r eh d pau k ae t s pau g ow pau n aw pau"
    without = [row for row in looked_for if row[0] != "pau"]
    assert without == [row for row in plain if row[0] != "pau"]
    assert sum(row[0] == "pau" for row in plain) == 3


def test_no_two_pauses_follow_each_other():
    for text in [each.text for each in sentences()] + ["a - b -- c, . ? !", "«go», (now)..."]:
        for between in (False, True):
            phones = sounds_of(text, between).rows[:, 0]
            is_pause = phones == PAUSE_NUMBER
            assert is_pause[0] and is_pause[-1]
            assert not (is_pause[1:] & is_pause[:-1]).any()


@pytest.mark.parametrize("between", [False, True])
def test_each_written_word_is_told_where_its_sounds_are(between):
    text = sounds_of("Well, 3.5 dogs - and I - ran.", between)

    assert [each.text for each in text.written] == ["Well,", "3.5", "dogs", "and", "I", "ran."]
    assert len(text.words) == len(text.written)
    for (start, end), written in zip(text.words, text.written, strict=True):
        phones = [phone for word in written.spoken for phone in word.phones]
        names = [PHONES[number] for number in text.rows[start:end, 0]]
        assert names == [named(phone)[0] for phone in phones]
    words = {row for start, end in text.words for row in range(start, end)}
    others = set(range(len(text.rows))) - words
    assert all(text.rows[row, 0] == PAUSE_NUMBER for row in others)


@pytest.mark.parametrize("text", ["", " ", "\n", "...", "-", "?!", "«»", "\u200b", "。"])
def test_nothing_that_can_be_spoken_says_so_and_what_to_do(text):
    with pytest.raises(TextError, match="nothing in") as caught:
        sounds_of(text)

    assert "English" in caught.value.fix


def test_a_long_text_of_nothing_is_quoted_in_part():
    with pytest.raises(TextError) as caught:
        sounds_of("-" * 5000)

    assert len(str(caught.value)) < 300


def test_every_phone_of_the_dictionary_has_a_number_of_its_own():
    numbers = {next(of_word([phone]))[0] for phone in pronouncing.PHONES}

    assert numbers == set(range(2, len(PHONES)))
    assert [number_of(phone) for phone in PHONES] == [*range(len(PHONES))]


TYPED = "aAbeIsT0195.,'’\"-–—:/%$£#&@+=½²°é\u00a0 \n…?!()"


@settings(deadline=None, max_examples=150)
@given(st.text() | st.text(TYPED, min_size=4), st.booleans())
def test_any_text_gives_numbers_that_are_in_their_tables(text, between):
    try:
        rows = sounds_of(text, between).rows
    except TextError:
        return

    sizes = (len(PHONES), len(STRESSES), EDGES, len(MARKS))
    assert rows.shape[1] == len(sizes)
    assert (rows >= 0).all() and (rows < sizes).all()
    assert (rows[:, 0] > 0).all() and (rows[:, 3] > 0).all()
    vowels = [PHONES[number] in VOWELS for number in rows[:, 0]]
    assert ((rows[:, 1] > 0) == vowels).all()
    pauses = rows[rows[:, 0] == PAUSE_NUMBER]
    assert not pauses[:, 1:3].any()
