from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.pocket.pronouncing import PHONES
from engines.pocket.reading import read


def spoken(text):
    return " ".join(word.text for written in read(text) for word in written.spoken)


def marks(text):
    return [written.mark for written in read(text)]


def phones_of(text, wanted):
    """How the only (or last) word spelled so is said."""
    found = [w for written in read(text) for w in written.spoken if w.text.lower() == wanted]
    return " ".join(found[-1].phones)


TYPED = "aAbeIsT0195.,'’\"-–—:/%$£#&@+=½²°é\u00a0 \n…?!()"


@settings(deadline=None, max_examples=300)
@given(st.text() | st.text(TYPED))
def test_any_text_is_read_and_every_written_word_is_where_it_says(text):
    last = 0
    for written in read(text):
        assert last <= written.start < written.end
        assert text[written.start : written.end] == written.text
        assert not text[last : written.start].strip()
        assert written.mark in ("", ",", ".", "?", "!")
        for word in written.spoken:
            assert word.text
            assert word.choices[0] == word.phones
            assert len(set(word.choices)) == len(word.choices)
            assert set(word.phones) <= set(PHONES)
            assert word.phones
        last = written.end
    assert not text[last:].strip()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("In 1995, it was 3.5%.", "In nineteen ninety five it was three point five percent"),
        ("Pages 5 - 7 & more", "Pages five to seven and more"),
        ("MP3 B2B IPv6 3x", "M P three B two B I P V six three X"),
        ("1990s, '80s and 2000s", "nineteen nineties eighties and two thousands"),
        ("5:99 a@b.c", "five ninety nine a at B dot C"),
        ("0199", "zero one nine nine"),
        ("1234567890123456", "one two three four five six seven eight nine zero one two three "
         "four five six"),
        ("Call 555-1234", "Call five five five one two three four"),
        ("1/2 of ½", "one half of one half"),
        ("version 1.2.3", "version one point two point three"),
        ("10GB, 5 km, 1 km", "ten gigabytes five kilometers one kilometer"),
        ("at 5pm or 5:30 am", "at five P M or five thirty A M"),
        ("Mr. Smith-Jones on St. James St.", "Mister Smith Jones on saint James street"),
        ("John's well-known café", "John's well known cafe"),
        ("naïve Straße", "naive Strasse"),
        ("50% + 3 = # @", "fifty percent plus three equals hash at"),
        ("hmm 你好 привет * ~", "hmm"),
        ("Node.js", "Node dot J S"),
        ("$5m or £1.5bn", "five million dollars or one point five billion pounds"),
        ("rock 'n' roll", "rock and roll"),
        ("sooo good", "sooo good"),
    ],
)  # fmt: skip
def test_what_is_typed_is_read_as_people_say_it(text, said):
    assert spoken(text) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("the BBC and TTS", "the B B C and T T S"),
        ("NASA says WARNING", "NASA says WARNING"),
        ("CDs and GPUs", "CDs and G P Us"),
        ("The US told us, my ID", "The U S told us my I D"),
        ("THEY TOLD US NOW", "THEY TOLD US NOW"),
        ("the U.S. Army", "the U S Army"),
        ("YouTube TimbreStudio", "YouTube Timbre Studio"),
        ("html and pdfs", "html and P D F S"),
    ],
)
def test_capitals_are_a_word_or_letters_as_people_know_them(text, said):
    assert spoken(text) == said


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Well, yes.", [",", "."]),
        ('"Really?" she said…', ["?", "", ","]),
        ("Stop (now)! Go.", ["", "!", "."]),
        ("One; two: three - four — five", [",", ",", "", ",", "", ",", ""]),
        ("wait—what?!", [",", "?"]),
        ("Well...", [","]),
        ("Dr. Who met Mt. Doom.", ["", "", "", "", "."]),
        ("J. Smith, plan B. Then", ["", ",", "", ".", ""]),
        ("at 5 p.m. The end", ["", "", ".", "", ""]),
        ("the U.S. Army", ["", "", ""]),
        ("the U.S.", ["", "."]),
        ("Is it ok ?", ["", "", "", "?"]),
        ("no end", ["", ""]),
    ],
)
def test_the_mark_is_the_strongest_punctuation_behind_the_word(text, expected):
    assert marks(text) == expected


def test_a_change_over_several_words_is_spoken_by_the_first_of_them():
    written = read("It is 5 - 7, ok")

    assert [len(one.spoken) for one in written] == [1, 1, 3, 0, 0, 1]
    assert [one.text for one in written] == ["It", "is", "5", "-", "7,", "ok"]
    assert [one.mark for one in written] == ["", "", "", "", ",", ""]


@pytest.mark.parametrize(
    ("text", "word", "phones"),
    [
        ("the end", "the", "DH IY0"),
        ("the start", "the", "DH AH0"),
        ("the, end", "the", "DH AH0"),
        ("the U.S.", "the", "DH AH0"),
        ("a man", "a", "AH0"),
        ("plan A.", "a", "EY1"),
        ("Vitamin A is good", "a", "EY1"),
        ("A man", "a", "AH0"),
        ("THIS IS A TEST", "a", "AH0"),
        ("to eat and drink", "to", "T AH0"),
        ("to eat and drink", "and", "AE1 N D"),
        ("the use of it", "use", "Y UW1 S"),
        ("they use it", "use", "Y UW1 Z"),
        ("to record it", "record", "R AH0 K AO1 R D"),
        ("the record", "record", "R EH1 K ER0 D"),
        ("a live show", "live", "L AY1 V"),
        ("I live here", "live", "L IH1 V"),
        ("please close it", "close", "K L OW1 Z"),
        ("he is close", "close", "K L OW1 S"),
        ("I read it", "read", "R EH1 D"),
        ("you will read it", "read", "R IY1 D"),
        ("an estimate", "estimate", "EH1 S T AH0 M AH0 T"),
        ("we estimate", "estimate", "EH1 S T AH0 M EY2 T"),
    ],
)
def test_the_neighbours_choose_the_pronunciation(text, word, phones):
    assert phones_of(text, word) == phones


def test_every_other_way_of_a_word_can_still_be_chosen():
    (the, _end) = read("the end")

    assert {" ".join(way) for way in the.spoken[0].choices} == {"DH IY0", "DH AH0", "DH AH1"}


def test_a_long_text_of_dots_or_digits_is_read_within_seconds():
    began = time.monotonic()

    for text in ("." * 20_000 + "a", "1." * 5_000, "5 - 7 " * 500):
        assert read(text)

    assert time.monotonic() - began < 20


def test_a_word_with_letters_drawn_out_is_the_word():
    assert phones_of("sooo", "sooo") == phones_of("soo", "soo")
