"""What we write, other programs read; what would be wrong is refused before anything is written."""

from __future__ import annotations

import csv
import json

import pytest

from engines.errors import TextError
from finetune.texts.writing import FORMATS, Row, audio_path, export, write
from voices.files import check_folder

ROWS = [
    Row("c1.wav", 'She said "no", twice.', "Ann", "train"),
    Row("c2.wav", "one|two\nthree", "Ann", "train"),
    Row("c3.wav", "=1+1", "Ann", "eval"),
]


def nothing(folder, rows):
    pass


def test_ljspeech_is_three_columns_on_every_line_for_tools_that_split_at_pipes(tmp_path):
    write(ROWS, "ljspeech", tmp_path)

    lines = (tmp_path / "metadata.csv").read_text(encoding="utf-8").splitlines()

    assert [line.split("|") for line in lines] == [
        ["c1", 'She said "no", twice.', 'She said "no", twice.'],
        ["c2", "one two three", "one two three"],
        ["c3", "=1+1", "=1+1"],
    ]


def test_xtts_reads_its_tables_as_coqui_does(tmp_path):
    write(ROWS, "xtts", tmp_path, "en")

    with (tmp_path / "metadata_train.csv").open(newline="", encoding="utf-8") as file:
        train = list(csv.DictReader(file, delimiter="|"))

    assert [row["text"] for row in train] == [row.text for row in ROWS[:2]]
    assert train[0]["audio_file"] == "wavs/c1.wav"
    assert train[0]["speaker_name"] == "Ann"
    assert (tmp_path / "lang.txt").read_text() == "en\n"


def test_the_xtts_formatter_of_coqui_gives_the_same_texts(tmp_path):
    pandas = pytest.importorskip("pandas")
    write(ROWS, "xtts", tmp_path)

    train = pandas.read_csv(tmp_path / "metadata_train.csv", sep="|")

    assert list(train.text) == [row.text for row in ROWS[:2]]


@pytest.mark.parametrize("format", ["f5", "piper"])
def test_f5_and_piper_read_their_tables_with_pythons_csv(format, tmp_path):
    write(ROWS, format, tmp_path)

    with (tmp_path / "metadata.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file, delimiter="|"))[1 if format == "f5" else 0 :]

    assert [row[-1] for row in rows] == [row.text for row in ROWS]
    assert rows[0][0].endswith("c1.wav")


def test_piper_gets_a_column_of_speakers_when_there_are_several(tmp_path):
    write([Row("a.wav", "x", "Ann"), Row("b.wav", "y", "Bob")], "piper", tmp_path)

    assert (tmp_path / "metadata.csv").read_text() == "a.wav|Ann|x\nb.wav|Bob|y\n"


def test_audiofolder_has_one_folder_a_split_with_its_metadata(tmp_path):
    write(ROWS, "audiofolder", tmp_path)

    train = (tmp_path / "train" / "metadata.jsonl").read_text(encoding="utf-8").splitlines()
    check = (tmp_path / "validation" / "metadata.jsonl").read_text(encoding="utf-8").splitlines()

    assert [json.loads(line)["text"] for line in train] == [row.text for row in ROWS[:2]]
    assert json.loads(check[0]) == {"file_name": "c3.wav", "text": "=1+1", "speaker": "Ann"}
    assert audio_path(ROWS[2], "audiofolder") == "validation/c3.wav"


@pytest.mark.parametrize("format", FORMATS)
def test_an_export_appears_whole_with_its_audio(format, tmp_path):
    def add_audio(folder, rows):
        for row in rows:
            path = folder / audio_path(row, format)
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(b"sound")

    export(ROWS, format, tmp_path / "out", add_audio)

    check_folder(tmp_path / "out")
    assert (tmp_path / "out" / audio_path(ROWS[2], format)).read_bytes() == b"sound"


def test_an_export_that_fails_leaves_nothing(tmp_path):
    def fail(folder, rows):
        raise OSError("the disk went away")

    with pytest.raises(OSError, match="went away"):
        export(ROWS, "f5", tmp_path / "out", fail)

    assert list(tmp_path.iterdir()) == []


def test_an_export_never_replaces_a_folder(tmp_path):
    (tmp_path / "out").mkdir()

    with pytest.raises(TextError, match="is there already"):
        export(ROWS, "f5", tmp_path / "out", nothing)


@pytest.mark.parametrize(
    "name", ["", "../x.wav", "a b.wav", "a/b.wav", "-rf.wav", "a|b.wav", ".wav", "a..wav", "ü.wav"]
)
def test_a_name_that_is_no_id_is_refused(name, tmp_path):
    with pytest.raises(TextError, match="is no file name"):
        write([Row(name, "x")], "f5", tmp_path)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "no clips"),
        ([Row("a.wav", "x"), Row("A.flac", "y")], "are one name"),
        ([Row("a.wav", "x", split="test")], "is for 'test'"),
        ([Row("a.wav", "\ud800")], "no Unicode"),
    ],
)
def test_rows_that_would_make_a_wrong_file_are_refused(rows, message, tmp_path):
    with pytest.raises(TextError, match=message):
        write(rows, "ljspeech", tmp_path)


def test_an_unknown_format_names_those_there_are(tmp_path):
    with pytest.raises(TextError, match="ljspeech, xtts, f5, piper, audiofolder"):
        write(ROWS, "word", tmp_path)


def test_parquet_is_a_sealed_folder_whose_files_are_all_written_with_the_audio(tmp_path):
    def add_audio(folder, rows):
        (folder / "train.parquet").write_bytes(b"sound and texts")

    export(ROWS, "parquet", tmp_path / "out", add_audio)

    check_folder(tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "train.parquet",
        "manifest.json",
    }
    with pytest.raises(TextError, match="no format 'parquet'"):
        write(ROWS, "parquet", tmp_path)
