"""Whatever encoding a text was saved in, it is read, and said which it was."""

from __future__ import annotations

import pytest

from finetune.texts.encodings import decode
from finetune.texts.reading import read

SAMPLES = {
    "cp1252": [
        "Él dijo que mañana volvería al café.",
        "Die Straße war groß und schön, sagte Müller.",
        "C’est l’été – « déjà » vu à Noël…",
        "Não há razão para a situação.",
        "naïve café",
        "Der Bäcker öffnet früh.",
        "På øen bor der en gammel mand, som elsker æbler.",
        "Perché è così tardi?",
        "“Curly” quotes — and dashes.",
    ],
    "cp1250": [
        "Zażółć gęślą jaźń, powiedział król.",
        "Příliš žluťoučký kůň úpěl ďábelské ódy.",
        "Az őrült tűzoltó fűrészelt.",
        "Wczoraj poszliśmy do sklepu, żeby kupić chleb.",
    ],
    "cp1251": [
        "Привет, как дела? Сегодня хорошая погода.",
        "Он сказал, что придёт завтра.",
        "Да.",
        "Мы живём в большом городе у моря.",
        "Сьогодні дуже гарна погода, чи не так?",
    ],
    "koi8-u": ["Привет, как дела? Сегодня хорошая погода.", "Мы живём в большом городе."],
    "cp866": ["Привет, как дела? Сегодня хорошая погода."],
    "cp1253": ["Καλημέρα, τι κάνεις σήμερα;", "Το σπίτι είναι κοντά στη θάλασσα."],
    "cp1254": ["Bugün hava çok güzel, değil mi? İstanbul'da ışıklar."],
    "cp1255": ["שלום, מה שלומך היום?", "הילד הלך לבית הספר בבוקר."],
    "cp1256": ["مرحبا كيف حالك اليوم؟", "ذهب الولد إلى المدرسة في الصباح."],
    "cp1257": ["Šiandien labai gražus oras, ar ne? Ąžuolas ir šuo."],
    "cp874": ["สวัสดีครับ วันนี้อากาศดีมาก"],
    "shift_jis": [
        "今日はいい天気ですね。",
        "私は昨日、東京へ行きました。",
        "はい。",
        "カタカナのテスト",
        "電車が遅れているので、少し待ってください。",
    ],
    "euc_jp": ["今日はいい天気ですね。", "電車が遅れているので、少し待ってください。"],
    "gb18030": [
        "今天天气很好，我们去公园吧。",
        "你好。",
        "他说明天会来。",
        "火车晚点了，请等一会儿。",
    ],
    "big5": [
        "今天天氣很好，我們去公園吧。",
        "你好。",
        "他說明天會來。",
        "火車誤點了，請等一會兒。",
    ],
    "euc_kr": [
        "오늘은 날씨가 좋네요.",
        "안녕하세요, 반갑습니다.",
        "기차가 늦어서 조금 기다려야 합니다.",
    ],
}
CASES = [(encoding, text) for encoding, texts in SAMPLES.items() for text in texts]
PYTHON_NAMES = {"euc_kr": "cp949", "big5": "cp950", "shift_jis": "cp932"}


@pytest.mark.parametrize("lines", [1, 8])
@pytest.mark.parametrize(("encoding", "text"), CASES)
def test_old_encodings_are_told_by_the_language_they_make(encoding, text, lines):
    written = "\r\n".join(f"clip{at:03d}|{text}" for at in range(lines))

    decoded = decode(written.encode(PYTHON_NAMES.get(encoding, encoding)))

    assert decoded.text == written
    assert decoded.sure


@pytest.mark.parametrize("text", sorted({text for _, text in CASES} | {"plain", "👍"}))
@pytest.mark.parametrize(
    ("codec", "said"),
    [
        ("utf-8", "utf-8"),
        ("utf-8-sig", "utf-8-sig"),
        ("utf-16", "utf-16"),
        ("utf-32", "utf-32"),
    ],
)
def test_unicode_is_always_read_exactly(codec, said, text):
    written = f"clip|{text}\n"

    decoded = decode(written.encode(codec))

    assert decoded.text == written
    assert decoded.encoding == said


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(("_", "text"), CASES)
def test_utf_16_without_its_mark_is_told_by_its_line_ends(_, text, codec):
    written = f"clip001|{text}\nclip002|{text}\n"

    decoded = decode(written.encode(codec))

    assert (decoded.text, decoded.encoding) == (written, codec)


def test_a_marked_file_in_big_endian_is_read():
    assert decode(b"\xfe\xff" + "a|é".encode("utf-16-be")).text == "a|é"


def test_a_few_broken_bytes_in_utf_8_cost_their_own_line_only(tmp_path):
    path = tmp_path / "metadata.csv"
    good = "".join(f"c{at}|Grüße aus Köln\n" for at in range(9)).encode()
    path.write_bytes(good + b"c9|Gr\xfc\xdfe\n" + b"c10|fine\n")

    found = read(path)

    assert found.encoding == "utf-8"
    assert [line.audio for line in found.lines] == [f"c{at}" for at in (*range(9), 10)]
    assert [problem.number for problem in found.problems] == [10]
    assert "bytes that are no text" in found.problems[0].sentence


def test_a_guess_says_that_it_is_one(tmp_path):
    path = tmp_path / "metadata.csv"
    path.write_bytes(b"c1|gr\xb6\xf7 f\xacr\xb1\n")

    found = read(path)

    assert "which is a guess" in found.problems[0].sentence


def test_a_person_can_choose_the_encoding(tmp_path):
    path = tmp_path / "metadata.csv"
    path.write_bytes("c1|Да".encode("koi8-r"))

    found = read(path, "koi8-r")

    assert (found.lines[0].text, found.encoding) == ("Да", "koi8-r")
