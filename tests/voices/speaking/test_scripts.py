"""Whole scripts are read at once, or refused with the lines that are wrong."""

from __future__ import annotations

import pytest

from engines.errors import TextError
from voices.speaking.scripts import Part, parse, plan, read

SRT = """1
00:00:01,000 --> 00:00:03,500
<i>Hello</i> there,
you.

2
00:01:00.5 --> 01:00:00,25
[♪]

3
01:00:01,000 --> 01:00:02,000
The end -
- at last.
"""


def test_a_text_is_one_part_as_it_is():
    script = parse(b"\n\nHello.\n\nBye.", "txt")

    assert script.parts == (Part(3, "\n\nHello.\n\nBye."),)
    assert [file.name for file in plan(script, "story", ".mp3")] == ["story.mp3"]


def test_subtitles_keep_their_times_and_lose_their_markup():
    script = parse(SRT.replace("\n", "\r\n").encode(), "srt")

    assert script.parts == (
        Part(2, "Hello there, you.", start_s=1.0, end_s=3.5),
        Part(11, "The end - - at last.", start_s=3601.0, end_s=3602.0),
    )
    assert len(plan(script, "film", ".wav")) == 1


TABLES = {
    "text,name,voice\nHello.,one,Anna\n\nBye.,,\n": [("Hello.", "one", "Anna"), ("Bye.", "", "")],
    "Hello there.,one\nBye.\n": [("Hello there.", "one", ""), ("Bye.", "", "")],
    'voice;text\nAnna;"a; ""b"""\n': [('a; "b"', "", "Anna")],
    "text\tname\nHello, you.\tone\n": [("Hello, you.", "one", "")],
    '"Two\nlines"\nand one\n': [("Two\nlines", "", ""), ("and one", "", "")],
    "\ufefftext\nHé.\n": [("Hé.", "", "")],
}


@pytest.mark.parametrize("table", TABLES)
def test_a_table_has_a_text_a_line_and_may_have_names_and_voices(table):
    script = parse(table.encode(), "csv")

    assert [(part.text, part.name, part.voice) for part in script.parts] == TABLES[table]


def test_a_table_becomes_one_file_a_line_and_no_name_is_given_twice():
    script = parse(b"text,name\na,\nb,s-003\nc,\nd,x\n", "csv")

    files = plan(script, "s", ".ogg")

    assert [file.name for file in files] == ["s-001.ogg", "s-003.ogg", "s-003-.ogg", "x.ogg"]
    assert [file.parts[0].text for file in files] == ["a", "b", "c", "d"]


WRONG = [
    ("csv", "text,name\nHello.,a/b\n", "Line 2: 'a/b' cannot be the name"),
    ("csv", "text,name\nHello.,..\n", "Line 2: '..' cannot be"),
    ("csv", "text,name\nHello.,con.x\n", "Line 2"),
    ("csv", "text,name\nHi.,a\nHo.,A\n", "Line 3: There is a 'A' above it already"),
    ("csv", "text,name\nHello, you.,a\n", "Line 2: It has 3 columns where there are 2"),
    ("csv", "text,mood\nHello.,happy\n", "Line 1: There is no column 'mood'"),
    ("csv", "text\n\n---\n", "Line 3: It has no text"),
    ("csv", 'text\nok\n"never closed\nmore\n', "Line 3: A quotation mark in it has no end"),
    ("csv", "a\nb,1,2,3\nc,1,2,3\nd,1,2,3\ne,1,2,3\nf,1,2,3\ng,1,2,3\nh,1,2,3\n", "And 2 more"),
    ("srt", "1\n00:00:03,000 --> 00:00:01,000\nHi.\n", "Line 2: It ends before it begins"),
    ("srt", "1\n00:00:3 -> x --> 4\nHi.\n", "Line 2: .* is no pair of times"),
    ("srt", "Hello.\n", "Line 1: It has no times"),
    ("srt", "00:00:05,000 --> 00:00:06,000\nB.\n\n00:00:01,000 --> 00:00:02,000\nA.\n", "Line 4: It begins before"),
    ("txt", " \n...\n", "nothing to say"),
    ("csv", "", "nothing to say"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "content", "why"), WRONG)
def test_what_is_wrong_is_said_with_its_line(kind, content, why):
    with pytest.raises(TextError, match=why):
        parse(content.encode(), kind, "script")


def test_bytes_that_are_no_text_are_named_by_their_line():
    with pytest.raises(TextError, match="line 2: it is not written in UTF-8"):
        parse(b"fine\ncaf\xe9\n", "txt")


def test_the_kind_is_that_of_the_name(tmp_path):
    (tmp_path / "A.TXT").write_text("Hello.", "utf-16")
    (tmp_path / "a.doc").write_text("Hello.", "utf-8")

    assert read(tmp_path / "A.TXT").parts[0].text == "Hello."
    with pytest.raises(TextError, match=r"a\.doc is no script"):
        read(tmp_path / "a.doc")
