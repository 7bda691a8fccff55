"""
Write clips' texts in the formats that trainers read, so that our reader gets them back exactly.

format        files                                            a text with a pipe or line break
ljspeech      metadata.csv: id|text|text                       shown with spaces, exact beside
xtts          metadata_train.csv, metadata_eval.csv, lang.txt  quoted, as csv.DictReader reads it
f5            metadata.csv: audio_file|text                    quoted, as csv.reader reads it
piper         metadata.csv: id|text or id|speaker|text         quoted, as csv.reader reads it
audiofolder   train/ and validation/metadata.jsonl             escaped, as JSON has it

Beside the tables lies texts.jsonl (see exact.py): which format it is, how many rows each file
has, and the exact texts of those a table cannot show (LJSpeech's, and NUL everywhere).
A cell that begins with = + - @ stays as it is: it is a text, and trainers read it as one. Only a
spreadsheet would take it for a formula, so open such a file there as text columns.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from engines.errors import TextError
from finetune.texts.cells import cell, unquoted
from finetune.texts.encodings import is_damaged
from finetune.texts.exact import COMPANION, Companion, companion_lines, plain, without_nul
from finetune.texts.records import excerpt, without_ending
from voices.files import new_folder, write_bytes

FORMATS = ("ljspeech", "xtts", "f5", "piper", "audiofolder")
# No texts of its own: they stand beside the sound in the files that whoever adds audio writes.
PARQUET = "parquet"
_AUDIO_FOLDER = "wavs"
_SPLIT_FOLDERS = {"train": "train", "eval": "validation"}
_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*")
# Coqui's own name where a dataset has one speaker; an empty one becomes NaN in pandas.
_XTTS_SPEAKER = "coqui"


@dataclass(frozen=True, slots=True)
class Row:
    """One clip as it is exported: its file is named by an id, its speaker as the user likes."""

    audio_name: str
    """With its ending: "000012.wav"."""
    text: str
    speaker: str = ""
    split: str = "train"
    """"train" or "eval"; only xtts and audiofolder keep the two apart."""


@dataclass(frozen=True, slots=True)
class _Table:
    """One delimited file of an export."""

    name: str
    rows: Sequence[Row]
    header: str
    line: Callable[[Row], str]
    audio: Callable[[Row], str]
    shown: Callable[[str], str]


def export(
    rows: Sequence[Row],
    format: str,
    target: Path,
    add_audio: Callable[[Path, Sequence[Row]], None],
    language: str = "",
) -> None:
    """Make a folder of texts and audio that appears, sealed, when all of it is written."""
    _check(rows, format, (*FORMATS, PARQUET))
    if target.exists():
        raise TextError(
            f"{target.name} is there already.", "Choose another folder, or move it away first."
        )
    with new_folder(target) as folder:
        add_audio(folder, rows)
        if format != PARQUET:
            write(rows, format, folder, language)


def write(rows: Sequence[Row], format: str, folder: Path, language: str = "") -> None:
    """Write the text files of an export into a folder."""
    _check(rows, format, FORMATS)
    if format == "audiofolder":
        _write_audiofolder(rows, folder)
        return
    tables = _tables(rows, format)
    for table in tables:
        _write_lines(folder / table.name, [table.header, *map(table.line, table.rows)])
    if format == "xtts" and language:
        _write_lines(folder / "lang.txt", [language])
    write_bytes(folder / COMPANION, companion_lines(_companion(tables, format)))


def audio_path(row: Row, format: str) -> str:
    """Where in the export the audio of a row belongs."""
    inside = _SPLIT_FOLDERS[row.split] if format == "audiofolder" else _AUDIO_FOLDER
    return f"{inside}/{row.audio_name}"


def _check(rows: Sequence[Row], format: str, formats: Sequence[str]) -> None:
    """Refuse what would write a wrong file, before anything is written."""
    if format not in formats:
        raise TextError(f"There is no format {format!r}.", f"Choose one of {', '.join(formats)}.")
    if not rows:
        raise TextError("There are no clips to export.", "Choose clips that are not left out.")
    seen: dict[str, Row] = {}
    for row in rows:
        if not _SAFE_NAME.fullmatch(row.audio_name):
            raise _refused(row, "is no file name for a clip", "Name clips by their ids.")
        if row.split not in _SPLIT_FOLDERS:
            raise _refused(row, f"is for {row.split!r}", 'Use "train" or "eval".')
        if is_damaged(row.text + row.speaker):
            raise _refused(row, "has a text that is no Unicode", "Type its text again.")
        # Ids differ without their ending and on a disk that ignores case, or files are lost.
        first = seen.setdefault(without_ending(row.audio_name).lower(), row)
        if first is not row:
            raise _refused(row, f"and {first.audio_name} are one name", "Name each clip once.")


def _refused(row: Row, why: str, fix: str) -> TextError:
    return TextError(f"{excerpt(row.audio_name)} {why}.", fix)


def _tables(rows: Sequence[Row], format: str) -> list[_Table]:
    if format == "xtts":
        return [
            _quoted(f"metadata_{split}.csv", [row for row in rows if row.split == split],
                    "audio_file|text|speaker_name", _xtts_cells)
            for split in _SPLIT_FOLDERS
        ]  # fmt: skip
    if format == "f5":
        return [_quoted("metadata.csv", rows, "audio_file|text", _f5_cells)]
    if format == "piper":
        several = len({row.speaker for row in rows}) > 1
        return [_quoted("metadata.csv", rows, "", _piper_speakers if several else _piper_cells)]
    return [
        _Table("metadata.csv", rows, "", _ljspeech_line, _stem, lambda text: unquoted(plain(text)))
    ]


def _quoted(
    name: str, rows: Sequence[Row], header: str, cells: Callable[[Row], Sequence[str]]
) -> _Table:
    """A table with CSV's quotation: everything but NUL stands in it as it is."""

    def line(row: Row) -> str:
        return "|".join(cell(without_nul(each), "|") for each in cells(row))

    return _Table(name, rows, header, line, lambda row: cells(row)[0], without_nul)


def _xtts_cells(row: Row) -> Sequence[str]:
    return audio_path(row, "xtts"), row.text, row.speaker or _XTTS_SPEAKER


def _f5_cells(row: Row) -> Sequence[str]:
    return audio_path(row, "f5"), row.text


def _piper_cells(row: Row) -> Sequence[str]:
    # Piper looks for this name in the audio folder it is given.
    return row.audio_name, row.text


def _piper_speakers(row: Row) -> Sequence[str]:
    return row.audio_name, row.speaker, row.text


def _stem(row: Row) -> str:
    return without_ending(row.audio_name)


def _ljspeech_line(row: Row) -> str:
    shown = plain(row.text)
    return f"{_stem(row)}|{shown}|{shown}"


def _companion(tables: Sequence[_Table], format: str) -> Companion:
    """Keep the exact text wherever the table would be read as another one."""
    exact = {
        (table.audio(row), table.shown(row.text)): row.text
        for table in tables
        for row in table.rows
        if table.shown(row.text) != row.text
    }
    return Companion(format, {table.name: len(table.rows) for table in tables}, exact)


def _write_audiofolder(rows: Sequence[Row], folder: Path) -> None:
    """One folder a split, each with its metadata: what `load_dataset` takes for splits."""
    for split, name in _SPLIT_FOLDERS.items():
        lines = [_json_line(row) for row in rows if row.split == split]
        if lines:
            (folder / name).mkdir(exist_ok=True)
            _write_lines(folder / name / "metadata.jsonl", lines)


def _json_line(row: Row) -> str:
    value = {"file_name": row.audio_name, "text": row.text}
    # Every line has the same names, or the columns of the dataset would differ by row.
    return json.dumps({**value, "speaker": row.speaker}, ensure_ascii=False)


def _write_lines(path: Path, lines: Sequence[str]) -> None:
    write_bytes(path, "".join(f"{line}\n" for line in lines if line).encode())
