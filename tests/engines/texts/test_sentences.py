from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.texts.sentences import ends_clause, sentence_ends, split_sentences


def split(text: str, language: str = "en") -> list[str]:
    return list(split_sentences(text, language))


# A bar stands where a sentence ends.
SENTENCES = {
    "en": [
        "He came. | She left! | Why? | Nobody knew…  | Well.",
        "Mr. and Mrs. Smith met Dr. Jones at St. Mary's. | They talked.",
        "See No. 5 and vol. 2, p. 17. | It is there.",
        "No. | I will not.",
        "J. R. R. Tolkien wrote it. | George W. Bush did not.",
        "It was you and I. | We went home.",
        "It costs 3.50 dollars. | That is much.",
        "Fruit, e.g. apples, i.e. the red ones, etc. and so on. | Fine.",
        "We left at 5 p.m. on Monday. | It rained at 6 p.m. | We came back.",
        "“Why?” he asked. | “Because!” she cried. | “I see.” | “Good.”",
        "(He was there.) | Then he left.",
        "I was... well, tired. | Wait... | What?",
        "1. First of all, this. | 2. Then that.",
        "World War II. | Then peace.",
        "Yahoo! is a company. | iPhone sells.",
        "He has a Ph.D. in it. | Really?! | Yes!!!",
        "I use an iPhone. | iPhone is good.",
    ],
    "de": [
        "Am 3. Mai kam Dr. Müller. | Er blieb bis zum 12. Juni.",
        "Das kostet z. B. 3,50 Euro. | Nr. 5 ist d. h. gratis.",
        "Ludwig XIV. war König. | Das war 1715. | Danach kam er nicht mehr.",
        "„Wirklich?“ | „Ja.“ | Gut, usw. und so fort.",
    ],
    "es": ["¿Qué hora es? | ¡Vamos! | El Sr. López y la Sra. Díaz llegaron. | Adiós."],
    "fr": ["M. Dupont est là. | « Vraiment ? » | Oui, cf. p. 12. | Fin."],
    "it": ["Il sig. Rossi è qui. | Sì, ecc. ecc. e poi. | Com'è? | Bene."],
    "pt": ["O Sr. Silva chegou. | Foi o que é. | Depois saiu."],
    "pl": ["Prof. Nowak ma np. psa. | Dnia 3. maja spał. | Co?"],
    "tr": ["Dr. Ali geldi. | 3. Mehmet gitti. | Neden?"],
    "ru": ["Это г. Москва, т. е. столица. | Это был я. | Он ушёл. | Зачем?"],
    "nl": ["Dhr. Jansen kwam bijv. gisteren. | Waarom? | Nou…"],
    "cs": ["Dne 3. května přišel např. Karel. | Proč? | Protože."],
    "hu": ["A 2. fejezet jó. | Pl. ez. | XIV. Lajos király volt. | Miért?"],
    "ar": ["ذهب الولد إلى البيت. | هل أنت بخير؟ | نعم!"],
    "hi": ["यह अच्छा है। | क्या यह ठीक है? | हाँ॥ | डॉ. शर्मा आए।"],
    "ko": ["안녕하세요. | 네. | 잘 지내요? | 그래요!"],
    "el": ["Τι κάνεις; | Καλά."],
}


@pytest.mark.parametrize("language", SENTENCES)
def test_sentences_end_where_a_reader_would_say(language):
    for marked in SENTENCES[language]:
        expected = [" ".join(part.split()) for part in marked.split("|")]
        found = split(marked.replace("|", " "), language)

        assert found == expected


@pytest.mark.parametrize(
    ("words", "language", "ends"),
    [
        (["今日", "は", "晴れ", "です。", "散歩", "しよう。"], "ja", [3, 5]),
        (["「はい。」", "と", "言った。", "終わり"], "ja", [2, 3]),
        (["你", "好", "。", "他", "来", "了", "！", "”", "走", "吧"], "zh", [2, 7, 9]),
        (["是", "吗？", "圆周率", "是3.", "14。", "好"], "zh", [1, 4, 5]),
        (["สวัสดี", "ครับ", "ผม", "ชื่อ"], "th", [3]),
    ],
)
def test_scripts_without_spaces_have_sentences_too(words, language, ends):
    assert sentence_ends(words, language) == ends


def test_whispers_pieces_of_a_decimal_are_one_number():
    words = [" It", " is", " 3.", "5", " metres", " long.", " And", " 2", ".75", " wide."]

    assert sentence_ends(words, "en") == [5, 9]


def test_a_mark_that_comes_as_a_word_of_its_own_ends_the_sentence_once():
    assert sentence_ends([" He", " came", ".", "”", " Then"], "en") == [3, 4]


def test_text_without_capitals_still_has_sentences():
    assert split("hello there. how are you? fine") == ["hello there.", "how are you?", "fine"]


def test_breathing_places_end_a_clause():
    assert [ends_clause(word) for word in (" one,", " 二、", " so", ' said:"', "،")] == [
        True,
        True,
        False,
        True,
        True,
    ]


WORDS = st.text(alphabet="aB1.!?。।؟…,;\"'() 中ก", max_size=6)


@given(st.lists(WORDS, max_size=30), st.sampled_from([*SENTENCES, "ja", "zh", "th", "", "xx"]))
def test_every_row_of_words_is_divided_to_its_last_word(words, language):
    ends = sentence_ends(words, language)

    assert ends == sorted(set(ends))
    assert (ends[-1] if ends else -1) == len(words) - 1
