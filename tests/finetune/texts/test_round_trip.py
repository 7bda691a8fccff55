"""A text comes back exactly as it was written, through every format."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from finetune.texts.matching import match
from finetune.texts.reading import read
from finetune.texts.writing import FORMATS, Row, audio_path, write

ODD = [
    "a|b", "|", "||", '"', '""', '"""', 'He said "no".', '"quoted"', '"a""b"', '"|"', '"\n|', "\n",
    "\r", "\r\n", "a\nb|c\nd", "a\rb", "\t", " lead", "trail ", "  ", "", "=1+1", "+1", "-1", "@x",
    "=cmd|' /C calc'!A0", "\0", "a\0b", "\0|\n\"", "\u2028", "a\u2029b", "\x85", "\x0b\x0c\x1c\x1d",
    "\u202eright to left\u202c", "\u200f", "\ufeffmark", "\ufeff", "👩‍👩‍👧‍👦", "e\u0301", "é", "{", "}",
    '{"text": "x"}', "[]", "WEBVTT", "00:00:01,000 --> 00:00:02,000", "audio_file|text",
    "1|x.wav|y", "\\", "\\n", "\\|", "'", "#", "<b>", "%s", "NULL", "nan", "\U0010ffff", "\ue000",
    "x" * 100_000, '"|\n' * 33_000,
]  # fmt: skip
texts = st.one_of(
    st.text(max_size=40),
    st.sampled_from(ODD),
    st.text('|"\n\r\t\0 ,;=+-@\\{}[]:\u2028\x85\u202eaé', max_size=12),
    st.lists(st.sampled_from(ODD[:-2]), max_size=4).map("".join),
)
SPEAKERS = ["", "Ann", "Bob|by", 'He "X"\n']


def rows_of(batch, speakers=("",)):
    return [
        Row(
            f"{at:06d}.wav",
            text,
            speakers[at % len(speakers)],
            "eval" if at % 7 == 3 else "train",
        )
        for at, text in enumerate(batch)
    ]


def come_back(rows, format):
    """Write, read, and pair with the audio files, by their names in the export."""
    with tempfile.TemporaryDirectory() as name:
        write(rows, format, Path(name))
        found = read(Path(name))
    matched = match(found.lines, [audio_path(row, format) for row in rows])

    assert len(found.lines) == len(rows)
    assert not matched.problems
    assert not matched.unused
    return found.format, {audio: line for line, audio in matched.pairs}


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    batch=st.lists(texts, min_size=100, max_size=100), speakers=st.sampled_from([[""], SPEAKERS])
)
def test_10000_random_texts_come_back_exactly_from_every_format(batch, speakers):
    rows = rows_of(batch, speakers)

    for format in FORMATS:
        recognised, back = come_back(rows, format)

        assert recognised == format
        assert [back[audio_path(row, format)].text for row in rows] == batch


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=texts, speaker=st.sampled_from(SPEAKERS))
def test_one_text_alone_comes_back_exactly_from_every_format(text, speaker):
    for format in FORMATS:
        row = Row("000001.wav", text, speaker)

        _, back = come_back([row], format)

        assert back[audio_path(row, format)].text == text


@pytest.mark.parametrize("format", FORMATS)
def test_each_odd_text_comes_back_alone_and_among_others(format):
    rows = rows_of(ODD)

    _, back = come_back(rows, format)

    assert [back[audio_path(row, format)].text for row in rows] == ODD
    for text in ODD:
        _, alone = come_back([Row("a.wav", text)], format)
        assert [line.text for line in alone.values()] == [text]


@pytest.mark.parametrize("format", ["xtts", "piper", "audiofolder"])
def test_speakers_come_back_where_a_format_has_them(format):
    rows = rows_of(["one", "two", "three", "four"], ["Ann", "Bob|by", 'He "X"\n'])

    _, back = come_back(rows, format)

    assert [back[audio_path(row, format)].speaker for row in rows] == [row.speaker for row in rows]


@pytest.mark.parametrize("format", ["xtts", "audiofolder"])
def test_train_and_eval_come_back_where_a_format_keeps_them_apart(format):
    rows = rows_of("abcdefghijkl")

    _, back = come_back(rows, format)

    assert [back[audio_path(row, format)].split for row in rows] == [row.split for row in rows]


@pytest.mark.parametrize("format", ["xtts", "f5"])
def test_tables_with_quotation_hold_the_exact_texts_by_themselves(format, tmp_path):
    kept = [text for text in ODD if "\0" not in text]
    write(rows_of(kept), format, tmp_path)
    (tmp_path / "texts.jsonl").unlink()

    found = read(tmp_path)

    assert sorted(line.text for line in found.lines) == sorted(kept)


def test_a_text_changed_in_the_table_wins_over_the_exact_one(tmp_path):
    write([Row("a.wav", "one|two"), Row("b.wav", "three|four")], "ljspeech", tmp_path)
    table = tmp_path / "metadata.csv"
    table.write_text(table.read_text().replace("one two", "one three"))

    found = read(table)

    assert [line.text for line in found.lines] == ["one three", "three|four"]


def test_rows_lost_from_a_table_are_noticed(tmp_path):
    write(rows_of("abc"), "f5", tmp_path)
    table = tmp_path / "metadata.csv"
    table.write_bytes(b"".join(table.read_bytes().splitlines(keepends=True)[:-1]))

    found = read(table)

    assert found.problems[0].sentence == "2 rows are read of the 3 that were written."


def test_a_broken_companion_is_named_and_the_table_still_read(tmp_path):
    write(rows_of("abc"), "ljspeech", tmp_path)
    (tmp_path / "texts.jsonl").write_text("{")

    found = read(tmp_path)

    assert [line.text for line in found.lines] == ["a", "b", "c"]
    assert "texts.jsonl cannot be read" in found.problems[0].sentence
