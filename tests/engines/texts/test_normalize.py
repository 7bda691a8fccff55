from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.texts.normalize import preview
from engines.texts.numerals import say_whole


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Mr. Smith has 2 dogs.", "Mister Smith has two dogs."),
        ("It cost $5.20 or £1.", "It cost five dollars and twenty cents or one pound."),
        ("$5 million is 50% of it.", "five million dollars is fifty percent of it."),
        ("In 1984 and 2024, 1,234 came.", None),
        ("3.05 metres", "three point zero five metres"),
        ("The 1st and 22nd at 5:30, 5:05 or 17:00.", None),
        ("No. 5 is on pages 3-5.", "Number five is on pages three to five."),
        ("It is -3 degrees & cold, e.g. here, etc.", None),
        ("It costs €3.", "It costs three euros."),
        ("At 3:45pm or 4:00am?", "At three forty-five p m or four a m?"),
        ("Due 2026-11-02.", "Due November second, twenty twenty-six."),
        (
            "Not 2026-13-02, 2026-11-2 or 2026-11-02-3.",
            "Not 2026-13-02, 2026-11-2 or 2026-11-02-3.",
        ),
        ("Nothing to do.", "Nothing to do."),
    ],
)
def test_english_is_written_as_it_is_said(before, after):
    long = {
        "In 1984 and 2024, 1,234 came.": "In nineteen eighty-four and twenty twenty-four, "
        "one thousand two hundred and thirty-four came.",
        "The 1st and 22nd at 5:30, 5:05 or 17:00.": "The first and twenty-second at five thirty, "
        "five oh five or seventeen hundred.",
        "It is -3 degrees & cold, e.g. here, etc.": "It is minus three degrees and cold, "
        "for example here, et cetera.",
    }

    assert preview(before, "en").after == (after or long[before])


@pytest.mark.parametrize(
    ("language", "before", "after"),
    [
        ("es", "El Sr. López pagó 3,5 €.", "El señor López pagó tres coma cinco euros."),
        ("fr", "M. Durand a 20 % à 2 km", "monsieur Durand a vingt pour cent à deux km"),
        ("de", "1.500,5 kg, z. B. 20 €", None),
        ("it", "Il 50% di 3", "Il cinquanta per cento di tre"),
        ("pt", "Tem 2 e 3,5", "Tem dois e três vírgula cinco"),
        ("pl", "Mam 5, np. 7", "Mam pięć, na przykład siedem"),
        ("tr", "%50 ve 3,05", "yüzde elli ve üç virgül sıfır beş"),
        ("ru", "21 рубль, т.е. 3", "двадцать один рубль, то есть три"),
        ("nl", "Er zijn 7 & 8", "Er zijn zeven en acht"),
        ("cs", "Je 7 nebo 3,5", "Je sedm nebo tři celá pět"),
        ("ar", "عندي 3", "عندي ثلاثة"),
        ("hu", "Van 12 alma", "Van tizenkettő alma"),
        ("ko", "사과 3개", "사과 삼개"),
        ("ja", "3.5個、50%", "三点五個、五十パーセント"),
        ("zh-cn", "有3个，共10500元，50%。", "有三个，共一万零五百元，百分之五十。"),
    ],
)
def test_each_language_says_numbers_its_own_way(language, before, after):
    german = "eintausendfünfhundert Komma fünf kg, zum Beispiel zwanzig Euro"

    assert preview(before, language).after == (after or german)


@pytest.mark.parametrize(
    ("language", "text", "left"),
    [
        ("de", "Am 3. Mai kam sie.", ("3",)),
        ("en", "Call 555-0199 on 11/21/2024.", ("555-0199", "11/21/2024")),
        ("en", "MP3s of the 1990s in 4K.", ("MP3s", "1990s", "4K")),
        ("hi", "मेरे पास 3 सेब हैं", ("3",)),
        ("en", "It has 12345678901234567890 parts.", ("12345678901234567890",)),
    ],
)
def test_what_nobody_can_say_for_sure_is_left_and_listed(language, text, left):
    change = preview(text, language)

    assert change.after == text
    assert change.left == left


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0, "零"),
        (10, "十"),
        (11, "十一"),
        (101, "一百零一"),
        (110, "一百一十"),
        (1001, "一千零一"),
        (10001, "一万零一"),
        (100000, "十万"),
        (100000001, "一亿零一"),
        (123456789, "一亿二千三百四十五万六千七百八十九"),
    ],
)
def test_chinese_counts_in_ten_thousands(number, said):
    assert say_whole(str(number), "zh") == said


@given(st.integers(0, 10**15 - 1))
def test_chinese_numbers_can_be_read_back(number):
    digits, units = "零一二三四五六七八九", {"十": 10, "百": 100, "千": 1000}
    total = below = digit = 0
    for sign in (say_whole(str(number), "zh") or "").replace("万亿", "兆"):
        if sign in digits:
            digit = digits.index(sign)
        elif sign in units:
            below += (digit or 1) * units[sign]
            digit = 0
        else:
            total += (below + digit) * {"万": 10**4, "亿": 10**8, "兆": 10**12}[sign]
            below = digit = 0

    assert total + below + digit == number


LANGUAGES = ["en", "es", "fr", "de", "it", "pt", "pl", "tr", "ru", "nl", "cs", "ar"]
LANGUAGES += ["zh-cn", "hu", "ko", "ja", "hi", "xx", ""]


@given(st.text(alphabet="019.,:-–%$€&# aMr.No\u00a0五٣²½", max_size=30), st.sampled_from(LANGUAGES))
def test_a_preview_says_exactly_what_it_changes(text, language):
    change = preview(text, language)

    rebuilt, last = "", 0
    for span in change.spans:
        assert text[span.start : span.end] == span.before
        assert "None" not in span.after
        rebuilt += text[last : span.start] + span.after
        last = span.end
    assert change.before == text
    assert change.after == rebuilt + text[last:]


@given(st.integers(0, 10**9), st.sampled_from([*LANGUAGES[:-3]]))
def test_every_number_that_stands_alone_is_said(number, language):
    assert not re.search(r"\d", preview(f"x {number} y", language).after)
