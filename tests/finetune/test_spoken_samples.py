"""What a voice speaks while it learns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finetune.spoken_samples import SENTENCES, TOTAL, sentences_for

# How many signs XTTS speaks in one piece.
LIMITS = {
    "en": 250, "de": 253, "fr": 273, "es": 239, "it": 213, "pt": 203, "pl": 224, "zh-cn": 82,
    "ar": 166, "cs": 186, "ru": 182, "nl": 251, "tr": 226, "ja": 71, "hu": 224, "ko": 95, "hi": 150,
}  # fmt: skip
QUESTION_MARKS = ("?", "？", "؟")


def test_each_language_of_xtts_has_its_four():
    assert SENTENCES.keys() == LIMITS.keys()


@pytest.mark.parametrize("language", LIMITS)
def test_sentences_are_whole_and_none_is_too_long_for_xtts(language):
    short, question, number, long = SENTENCES[language]

    assert len({short, question, number, long}) == 4
    assert len(short) < len(number) < len(long) <= LIMITS[language]
    assert question.rstrip().endswith(QUESTION_MARKS)
    for sentence in SENTENCES[language]:
        assert sentence == " ".join(sentence.split())
        assert sentence[-1] in (*QUESTION_MARKS, *"!.。！।")
        assert not any(sign.isdigit() for sign in sentence)


@pytest.mark.parametrize("language", sorted(LIMITS.keys() - {"zh-cn", "ja", "ko"}))
def test_short_and_long_ones_are_what_they_are_called(language):
    short, _, _, long = SENTENCES[language]

    assert 3 <= len(short.split()) <= 4
    assert 15 <= len(long.split()) <= 20


def test_a_persons_own_sentences_come_first_and_fixed_ones_fill_up():
    found = sentences_for("de", ["Erster Satz.", "  Zweiter\n Satz. ", "Dritter.", ""])

    assert found == ("Erster Satz.", "Zweiter Satz.", "Dritter.", *SENTENCES["de"][:3])


def test_an_own_sentence_that_is_a_fixed_one_is_spoken_once():
    assert sorted(sentences_for("it", SENTENCES["it"][1:2])) == sorted(SENTENCES["it"])


@given(st.sampled_from([*LIMITS, "tlh", ""]), st.lists(st.text(max_size=5), max_size=9))
def test_no_own_sentence_is_lost_and_none_is_spoken_twice(language, own):
    found = sentences_for(language, own)

    assert {" ".join(each.split()) for each in own} - {""} <= set(found)
    assert len(set(found)) == len(found) <= max(TOTAL, len(own))


@pytest.mark.parametrize(
    ("written", "meant"),
    [("EN", "en"), ("en-GB", "en"), ("pt_BR", "pt"), ("zh", "zh-cn"), ("zh-TW", "zh-cn")],
)
def test_a_language_may_be_written_in_several_ways(written, meant):
    assert sentences_for(written, []) == SENTENCES[meant]


def test_an_unknown_language_is_spoken_with_own_sentences_alone():
    assert sentences_for("tlh", ["nuqneH"]) == ("nuqneH",)
    assert sentences_for("tlh", []) == ()
