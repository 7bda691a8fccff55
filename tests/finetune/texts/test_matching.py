"""A line finds its recording however the two write the name, and never another one's."""

from __future__ import annotations

import unicodedata

import pytest

from finetune.texts.matching import match
from finetune.texts.records import Line


def lines(*audios):
    return [Line(at, audio, f"text {at}") for at, audio in enumerate(audios, start=1)]


NFC, NFD = "Müller.wav", unicodedata.normalize("NFD", "Müller.wav")


@pytest.mark.parametrize(
    ("written", "there"),
    [
        ("a.wav", "a.wav"),
        ("a", "a.wav"),
        ("a.wav", "a.mp3"),
        ("a.WAV", "A.wav"),
        ("wavs/a.wav", "a.wav"),
        ("a", "wavs/a.wav"),
        ("C:\\me\\data\\wavs\\a.wav", "a.wav"),
        ("/home/me/set/wavs/a.wav", "set/wavs/a.wav"),
        ("./wavs/a.wav", "wavs/a.wav"),
        (" a.wav ", "a.wav"),
        (NFC, NFD),
        (NFD, NFC),
        ("STRASSE.wav", "straße.wav"),
        ("LJ001.0001", "LJ001.0001.wav"),
        ("take 1.final", "take 1.final.flac"),
    ],
)
def test_a_line_finds_its_recording(written, there):
    found = match(lines(written), [there, "other.wav"])

    assert [name for _, name in found.pairs] == [there]
    assert found.unused == ("other.wav",)
    assert not found.problems


def test_the_better_of_several_recordings_is_taken():
    there = ["x/a.wav", "y/a.wav", "b.wav", "b.flac", "C.wav", "c.wav"]

    found = match(lines("y/a.wav", "b.flac", "c.wav"), there)

    assert [name for _, name in found.pairs] == ["y/a.wav", "b.flac", "c.wav"]


def test_a_name_that_could_be_two_recordings_is_given_neither():
    found = match(lines("a.wav"), ["x/a.wav", "y/a.wav"])

    assert not found.pairs
    assert found.problems[0].sentence == "“a.wav” could be “x/a.wav” and “y/a.wav”."


def test_a_recording_of_another_folder_is_not_taken_for_one_that_is_missing():
    found = match(lines("ann/a.wav", "bob/a.wav"), ["ann/a.wav"])

    assert [line.number for line, _ in found.pairs] == [1]
    assert [problem.number for problem in found.problems] == [2]


def test_a_missing_recording_and_a_second_text_are_named_with_their_lines():
    found = match(lines("a", "missing", "a.wav"), ["a.wav"])

    assert [problem.number for problem in found.problems] == [2, 3]
    assert "There is no recording “missing”" in found.problems[0].sentence
    assert "has its text from line 1 already" in found.problems[1].sentence


def test_a_script_and_subtitles_go_to_the_only_recording():
    script = [Line(1, "", "One."), Line(2, "", "Two.")]
    cues = [Line(2, "talk.en", "One.", "", 0.0, 1.0), Line(6, "talk.en", "Two.", "", 1.0, 2.0)]

    assert [name for _, name in match(script, ["talk.mp3"]).pairs] == ["talk.mp3"] * 2
    assert [name for _, name in match(cues, ["talk.mp3"]).pairs] == ["talk.mp3"] * 2
    assert len(match(script, ["talk.mp3", "other.mp3"]).problems) == 2


def test_a_folder_is_searched_for_its_recordings(tmp_path):
    (tmp_path / "wavs").mkdir()
    (tmp_path / "wavs" / "a.wav").touch()
    (tmp_path / "wavs" / "notes.txt").touch()

    found = match(lines("a"), tmp_path)

    assert [name for _, name in found.pairs] == ["wavs/a.wav"]


def test_10000_recordings_are_paired_without_losing_one():
    found = match(lines(*(f"wavs/{at:05d}" for at in range(10_000))),
                  [f"{at:05d}.wav" for at in range(10_000)])  # fmt: skip

    assert len(found.pairs) == 10_000
    assert all(line.audio[5:] == name[:5] for line, name in found.pairs)
