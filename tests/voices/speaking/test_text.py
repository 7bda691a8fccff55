"""A text becomes sentences: nothing of it lost, nothing said twice, none too long to say."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.errors import SettingsError
from voices.speaking.text import LEAST_ROOM, sentences

LANGUAGES = ["en", "es", "fr", "de", "it", "pt", "pl", "tr", "ru", "nl", "cs", "ar", "zh-cn",
             "ja", "hu", "ko", "hi"]  # fmt: skip

# A bar stands where one sentence ends and the next begins.
TEXTS = {
    "en": [
        "J. R. R. Tolkien wrote it. | Mr. Smith paid $3.50 on Jan. 5. | It was you and I. | Well…",
        "“Why?” he asked. | “Because!” she cried... | (He was gone.) | Really?!",
        "It is 3.14 metres, e.g. here. | See https://www.example.com/a?b=1.2. | Mail me.",
        "Wait... what? | Yes!!! | 😀 Good 🎉! | The end 👍🏽",
        "The U.S. Army came at 5 p.m. on Monday. | It left.",
    ],
    "es": ["¿Qué hora es? | ¡Vamos! | El Sr. López llegó. | Adiós."],
    "fr": ["M. Dupont est là. | « Vraiment ? » | Oui, 3,5 mètres. | Fin !"],
    "de": ["Am 3. Mai kam Dr. Müller. | „Wirklich?“ | Ja, z. B. 3,50 Euro. | Gut."],
    "it": ["Il sig. Rossi è qui. | Com'è? | Bene."],
    "pt": ["O Sr. Silva chegou. | Depois saiu. | Por quê?"],
    "pl": ["Prof. Nowak ma np. psa. | Dnia 3. maja spał. | Co?"],
    "tr": ["Dr. Ali geldi. | 3. Mehmet gitti. | Neden?"],
    "ru": ["Это г. Москва. | Он ушёл… | Зачем?"],
    "nl": ["Dhr. Jansen kwam bijv. gisteren. | Waarom?"],
    "cs": ["Dne 3. května přišel. | Proč? | Protože."],
    "ar": ["ذهب الولد إلى البيت. | هل أنت بخير؟ | نعم!"],
    "zh-cn": ["我是学生。|你好！|他说：“好。”|圆周率是3.14。|走吧!|真的吗？"],
    "ja": ["今日は晴れです。|「はい。」と言った。|散歩しよう！|本当？"],
    "hu": ["A 2. fejezet jó. | Pl. ez. | Miért?"],
    "ko": ["안녕하세요. | 네. | 잘 지내요?"],
    "hi": ["यह अच्छा है। | डॉ. शर्मा आए। | क्या यह ठीक है?"],
}


def texts(text, language="en", longest=200):
    return [each.text for each in sentences(text, language, longest)]


def spoken(text, language="en", longest=200):
    return [each.spoken for each in sentences(text, language, longest)]


def bare(text):
    return "".join(text.split())


@pytest.mark.parametrize("language", LANGUAGES)
def test_sentences_of_every_language_end_where_a_reader_would_say(language):
    for marked in TEXTS[language]:
        expected = [part.strip() for part in marked.split("|")]

        assert texts(marked.replace("|", ""), language) == expected


SIGNS = st.text(
    alphabet="aB1é9 .!?。।؟…,;:\"'“”()-–*_#\n\t\r中あกह한@/$%&\x00\x07\u200b\u200d😀🏽\ud83d",
    max_size=200,
)
PIECES = st.lists(
    st.sampled_from(["Dr. Brown", "J. R. R. Tolkien", "3.5", "$1,234.50", "https://a.com/b.c", "a@b.org",
                     "\n\n", "- item", "# Head", "* * *", "“Why?”", "end.", "和你。", "好", "x" * 90, "😀"]),
    max_size=30,
).map(" ".join)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(SIGNS | PIECES, st.sampled_from([*LANGUAGES, "", "xx"]), st.integers(LEAST_ROOM, 120))
def test_nothing_is_lost_nothing_is_said_twice_and_nothing_is_too_long(text, language, longest):
    found = sentences(text, language, longest)

    if any(map(str.isalnum, "".join(each.text for each in found))):
        assert "".join(bare(each.text) for each in found) == bare(text)
    assert all(0 < len(each.spoken) <= longest for each in found)
    assert all(any(map(str.isalnum, each.spoken)) for each in found)
    assert all(each.pause_after_s > 0 for each in found)
    numbers = [each.paragraph for each in found]
    assert numbers == sorted(numbers)


@given(st.text(alphabet="*-.😀\n #\x00", max_size=50))
def test_a_text_with_nothing_to_say_has_no_sentences(text):
    assert sentences(text, "en", 100) == []


def test_long_sentences_are_cut_at_clauses_and_in_even_parts():
    text = (
        "This sentence goes on, and on, and on; it never stops, because the writer had so many"
        " things to say and no full stop in the drawer of the desk by the window"
    )

    found = sentences(text, "en", 100)

    lengths = [len(each.text) for each in found]
    assert found[0].text.endswith("stops,")
    assert min(lengths) > 0.5 * max(lengths)
    assert found[0].pause_after_s < sentences("This stops.", "en", 100)[0].pause_after_s


def test_a_cut_leaves_abbreviations_and_numbers_whole():
    text = "Then on the ninth of the month Dr. Brown went to Mr. Hill with 12 000 small green boxes"

    for longest in range(25, 90):
        ends = [each.rsplit(None, 1)[-1] for each in texts(text, longest=longest)]
        assert not {"Dr.", "Mr.", "12"} & set(ends), longest


@pytest.mark.parametrize(
    ("language", "text"),
    [("zh-cn", "我" * 30 + "，" + "你" * 40 + "。"), ("ja", "あ" * 30 + "、" + "い" * 40 + "。")],
)
def test_scripts_without_spaces_are_cut_at_their_commas(language, text):
    assert [len(each) for each in texts(text, language, 50)] == [31, 41]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("Dr. Brown paid $3.50.", "Doctor Brown paid three dollars and fifty cents."),
        ("It was 1984.", "It was nineteen eighty-four."),
        ("Chapter One", "Chapter One."),
        ("# Chapter *One*", "Chapter One."),
        ("- apples & pears", "apples and pears."),
        ("See https://www.example.com/a?b=c.", "See example dot com."),
        ("Mail a.b@example.org!", "Mail a dot b at example dot org!"),
        ("Read [this page](https://x.org/1).", "Read this page."),
        ("Good 😀! Yes 👍🏽", "Good!"),
        ("a\x00b\u200bc\u202e d", "abc d."),
        ("He said “no”", "He said “no”."),
        ("Wait — what", "Wait — what."),
        ("snake_case and 2 * 3", "snake_case and two * three."),
    ],
)
def test_what_is_said_is_seen_beside_what_is_written(written, said):
    found = sentences(written, "en", 200)[0]

    assert found.spoken == said
    assert bare(written).startswith(bare(found.text))


@pytest.mark.parametrize(
    ("language", "written", "said"),
    [
        ("de", "Dr. Ott zahlt 3,50 €", "Doktor Ott zahlt drei Komma fünf null Euro."),
        ("zh-cn", "他有12个", "他有十二个。"),
        ("ja", "東京へ" * 14 + "\n行く", "東京へ" * 14 + "行く。"),
        ("hi", "यह ठीक है", "यह ठीक है।"),
        ("es", "Vea ejemplo.com", "Vea ejemplo punto com."),
    ],
)
def test_every_language_says_it_its_own_way(language, written, said):
    assert spoken(written, language)[0] == said


def test_pauses_follow_the_marks_and_the_layout():
    text = "# Head\n\nOne, he said. Two? Three…\n\nA new paragraph.\n\n* * *\n\nAfter the scene."

    pauses = {each.text: each.pause_after_s for each in sentences(text, "en", 200)}

    line = ["One, he said.", "Two?", "Three…", "# Head", "A new paragraph. * * *"]
    assert [pauses[each] for each in line] == sorted(pauses[each] for each in line)
    assert pauses["A new paragraph. * * *"] > 1


def test_wrapped_lines_are_one_paragraph_and_deliberate_ones_are_several():
    wrapped = (
        "It was the best of times, it was the worst of times, and\n"
        "Dickens knew it was the age of wisdom, it was the age of\n"
        "foolishness. It was the epoch of belief."
    )

    assert {each.paragraph for each in sentences(wrapped, "en", 300)} == {0}
    assert texts("She went\nto town. And\nback.") == ["She went to town.", "And back."]
    for by_chance in (
        "12. Then he read it all of that night.",
        "– or so it was – to the end. Bye.",
    ):
        line = "He opened the book that she had left for him on the page"
        assert len(texts(f"{line}\n{by_chance}")) == 2
    assert texts("Chapter One\nIt was night.") == ["Chapter One", "It was night."]
    assert texts("To buy:\n- apples\n- pears\n1. First\n2. Then") == [
        "To buy:", "- apples", "- pears", "1. First", "2. Then"]  # fmt: skip


def test_an_engine_without_room_is_refused():
    with pytest.raises(SettingsError, match="takes 5 signs"):
        sentences("Hello.", "en", 5)


PROSE = (
    "It was the best of times, it was the worst of times. “Really?” she asked, and went away. Mr."
    " Smith had no idea of what was to come. The quick brown fox jumps over the lazy dog and runs"
    " through the long green valley until night.{} "
)


@pytest.mark.parametrize("end", ["\n\n", "\n", " In 1984 there were 12."])
def test_a_megabyte_takes_about_a_second_of_work(end):
    text = "".join(PROSE.format(end if at % 4 == 0 else "") for at in range(4400))[:1_000_000]
    sentences(text[:2000], "en", 250)

    took = []
    for _ in range(2):
        began = time.process_time()
        found = sentences(text, "en", 250)
        took.append(time.process_time() - began)

    assert len(found) > 10_000
    assert min(took) < 2.5  # 0.9 s on a quiet core; others share it here


HOSTILE = {
    "no spaces": "a", "one sign": "我", "dots": ". ", "dots and words": ". . . . a ",
    "quotes": '" ', "emoji": "😀", "lines": "a\n", "commas": "a, ", "brackets": "[(", "stars": "*a ",
    "at": "a@", "accents": "a\u0301\u0301\u0301", "dashes": "- ", "slashes": "http://",
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_time_grows_as_the_text_does_whatever_is_in_it(kind):
    def once(text):
        began = time.process_time()
        sentences(text, "en", 250)
        return time.process_time() - began

    def seconds(size):
        text = (HOSTILE[kind] * size)[:size]
        # The least of a few: among thousands of tests, a look for garbage takes half a second.
        return min(once(text) for _ in range(3))

    assert seconds(160_000) < 10 * seconds(40_000) + 0.2


def test_letters_keep_their_accents_where_a_word_is_cut():
    for longest in range(50, 60):
        found = texts("e\u0301" * 200, longest=longest)

        assert not any(unicodedata.combining(each[0]) for each in found)
