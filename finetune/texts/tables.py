"""Tables of recordings and texts: LJSpeech, XTTS and AllTalk, F5, Piper, and other people's csv."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from finetune.texts.cells import Cell, Record, lines_of, needs_quotes, records, unquoted
from finetune.texts.records import Line, Problem, excerpt, without_ending

Found = Line | Problem

# The first of these that a header has is taken.
AUDIO_NAMES = (
    "audio_file", "file_name", "audio_filepath", "audio_path", "audio", "wav", "wav_file",
    "filename", "path", "file", "clip", "utt_id", "id",
)  # fmt: skip
TEXT_NAMES = (
    "text", "transcription", "transcript", "sentence", "normalized_text", "raw_transcription",
)  # fmt: skip
SPEAKER_NAMES = ("speaker_name", "speaker", "speaker_id", "client_id")
_DELIMITERS = "|,\t;"
_MOSTLY = 0.6


@dataclass(frozen=True, slots=True)
class Columns:
    """Where a table with a header keeps what."""

    delimiter: str
    names: tuple[str, ...]

    def index(self, wanted: Sequence[str]) -> int | None:
        return next((self.names.index(name) for name in wanted if name in self.names), None)

    @property
    def format(self) -> str:
        if "file_name" in self.names:
            return "audiofolder"
        if self.delimiter != "|" or "audio_file" not in self.names:
            return "table"
        return "xtts" if self.index(SPEAKER_NAMES) is not None else "f5"


@dataclass(frozen=True, slots=True)
class Shape:
    """What a table without a header was recognised as."""

    format: str
    delimiter: str
    columns: int
    audio: int = 0
    text: int = 1
    speaker: int | None = None


_LJSPEECH = Shape("ljspeech", "|", 3, text=2)
_PIPER = Shape("piper", "|", 2)
_PIPER_SPEAKERS = Shape("piper", "|", 3, text=2, speaker=1)
_XTTS = Shape("xtts", "|", 3, speaker=2)


def header(text: str) -> Columns | None:
    """Find the header of a table, or None when its first line names no columns we know."""
    for delimiter in _DELIMITERS:
        first = next((row for row in records(text, delimiter) if not row.blank), None)
        names = tuple(name.strip().lower() for name in first.texts) if first else ()
        columns = Columns(delimiter, names)
        if columns.index(AUDIO_NAMES) is not None and columns.index(TEXT_NAMES) is not None:
            return columns
    return None


def read_headed(text: str, columns: Columns) -> Iterator[Found]:
    """Read a table by the names of its columns."""
    rows = (row for row in records(text, columns.delimiter) if not row.blank)
    next(rows)
    audio, speaker = columns.index(AUDIO_NAMES), columns.index(SPEAKER_NAMES)
    texts = columns.index(TEXT_NAMES)
    shape = Shape(
        columns.format, columns.delimiter, len(columns.names), audio or 0, texts or 0, speaker
    )
    for row in rows:
        yield from _found(row, row.texts, shape)


def recognise(text: str) -> Shape | None:
    """Tell from its rows what a table without a header is; None when it is no table."""
    for delimiter in _DELIMITERS:
        rows = [row for row in records(text, delimiter) if not row.blank]
        columns = _usual_columns(rows, delimiter)
        alike = [row for row in rows if len(row.cells) == columns or len(row.cells) > columns == 2]
        named = [row for row in alike if _names_audio(row, delimiter)]
        if columns and len(named) >= _MOSTLY * len(rows):
            return _shape(alike, delimiter, columns)
    return None


def read_headless(text: str, shape: Shape) -> Iterator[Found]:
    """Read a table by the place of its columns."""
    if shape.format == "ljspeech":
        yield from _read_ljspeech(text)
        return
    rows = [row for row in records(text, shape.delimiter) if not row.blank]
    unquote = _unquoting(rows, shape)
    for row in rows:
        texts = tuple(unquote(cell) for cell in row.cells)
        if shape.delimiter != "|" and len(texts) > shape.columns == 2:
            raw = shape.delimiter.join(cell.raw for cell in row.cells[1:])
            texts = (texts[0], raw)  # a comma in a text nobody quoted
        yield from _found(row, texts, shape)


def shape_of(format: str, text: str) -> Shape | None:
    """The shape of a table whose format is known."""
    if format == "ljspeech":
        return _LJSPEECH
    first = next((row for row in records(text, "|") if not row.blank), None)
    if format == "piper" and first:
        return _PIPER if len(first.cells) == 2 else _PIPER_SPEAKERS
    return None


def _usual_columns(rows: Sequence[Record], delimiter: str) -> int:
    """How many columns most rows have; commas that differ by row are part of the texts."""
    counts = Counter(len(row.cells) for row in rows if len(row.cells) > 1)
    if not counts:
        return 0
    return 2 if len(counts) > 1 and delimiter in ",;" else counts.most_common(1)[0][0]


def _names_audio(row: Record, delimiter: str) -> bool:
    name = row.cells[0].text.strip()
    if without_ending(name) != name:
        return True
    # Only a pipe is rare enough in sentences to take any short word before it for a name.
    return delimiter == "|" and 0 < len(name) <= 255 and not any(map(str.isspace, name))


def _shape(rows: Sequence[Record], delimiter: str, columns: int) -> Shape:
    if delimiter != "|":
        speakers = columns == 3 and _are_speakers(*_second_and_third(rows))
        return replace(_PIPER_SPEAKERS if speakers else _PIPER, format="table", delimiter=delimiter)
    if columns == 2:
        return _PIPER
    second, third = _second_and_third(rows)
    if columns == 3 and not _alike(second, third):
        if _are_speakers(second, third):
            return _PIPER_SPEAKERS
        if _are_speakers(third, second):
            return _XTTS
    return _LJSPEECH


def _second_and_third(rows: Sequence[Record]) -> tuple[list[str], list[str]]:
    return [row.texts[1] for row in rows], [row.texts[2] for row in rows]


def _alike(left: Sequence[str], right: Sequence[str]) -> bool:
    """Whether most rows say the same twice, as LJSpeech does: as written and as spoken."""
    same = sum(_shares_words(one, other) for one, other in zip(left, right, strict=True))
    return same >= _MOSTLY * len(left)


def _shares_words(one: str, other: str) -> bool:
    left, right = set(one.lower().split()), set(other.lower().split())
    return not left or not right or len(left & right) * 2 >= min(len(left), len(right))


def _are_speakers(names: Sequence[str], texts: Sequence[str]) -> bool:
    """Whether a column repeats few short names beside longer texts."""
    few = len(set(names)) <= max(1, len(names) // 2)
    short = sum(len(name.split()) for name in names) <= 2 * len(names)
    return few and short and sum(map(len, names)) < sum(map(len, texts))


def _unquoting(rows: Sequence[Record], shape: Shape) -> Callable[[Cell], str]:
    """
    Decide what quotation marks around a cell mean.

    A CSV writer sets them where they are needed, or around every cell. Around some texts that
    need none they were typed by a person, and belong to the text.
    """
    texts = [row.cells[shape.text] for row in rows if len(row.cells) == shape.columns]
    if texts and all(cell.quoted for cell in texts):
        return lambda cell: cell.text
    return lambda cell: cell.text if needs_quotes(cell.text, shape.delimiter) else cell.raw


def _read_ljspeech(text: str) -> Iterator[Found]:
    """LJSpeech knows no quotation: a line is a row, and a mark is part of the text."""
    for number, line in lines_of(text):
        if not line.strip():
            continue
        cells = tuple(unquoted(cell) for cell in line.split("|"))
        if len(cells) not in (2, 3):
            yield _miscounted(number, len(cells), 3, line)
        else:
            spoken = next((cell for cell in reversed(cells[1:]) if cell.strip()), cells[-1])
            yield from _checked(Line(number, cells[0].strip(), spoken))


def _found(row: Record, texts: Sequence[str], shape: Shape) -> Iterator[Found]:
    """Make a line of a row, or say why it is none."""
    if len(texts) != shape.columns:
        raw = shape.delimiter.join(cell.raw for cell in row.cells)
        yield _miscounted(row.number, len(texts), shape.columns, raw)
        return
    speaker = "" if shape.speaker is None else texts[shape.speaker]
    yield from _checked(Line(row.number, texts[shape.audio].strip(), texts[shape.text], speaker))
    if (last := _last_swallowed(row, shape)) is not None:
        yield Problem(
            row.number,
            f"Lines {row.number} to {last} are one text because of a quotation mark at its start:"
            " if they are rows of their own, take the mark away.",
        )


def _last_swallowed(row: Record, shape: Shape) -> int | None:
    """The last line of a text that looks as if it had swallowed other rows."""
    inside = [line for _, line in lines_of(row.cells[shape.text].text)][1:]
    if any(_is_like_row(line, shape) for line in inside):
        return row.number + len(inside)
    return None


def _is_like_row(line: str, shape: Shape) -> bool:
    first, *others = line.split(shape.delimiter)
    return bool(others) and (
        without_ending(first) != first or len(others) >= max(2, shape.columns - 1)
    )


def _checked(line: Line) -> Iterator[Found]:
    if not line.audio:
        yield Problem(line.number, f"It names no recording for {excerpt(line.text)}.")
        return
    yield line
    if not line.text.strip():
        yield Problem(line.number, f"{line.audio} has no text.")


def _miscounted(number: int, found: int, wanted: int, raw: str) -> Problem:
    hint = " Is there a separator inside the text?" if found > wanted else ""
    columns = "1 column" if found == 1 else f"{found} columns"
    return Problem(
        number, f"It has {columns} where the others have {wanted}: {excerpt(raw)}.{hint}"
    )


def from_mapping(number: int, values: Mapping[str, object]) -> Iterator[Found]:
    """Make a line of named values, as a JSON line has them."""
    named = {name.lower(): value for name, value in values.items()}
    audio, text, speaker = (
        next((named[name] for name in names if name in named), None)
        for names in (AUDIO_NAMES, TEXT_NAMES, SPEAKER_NAMES)
    )
    if isinstance(audio, dict):  # datasets writes {"path": ..., "bytes": ...}
        audio = audio.get("path")
    if not isinstance(audio, str) or not isinstance(text, str):
        missing = "recording (file_name)" if not isinstance(audio, str) else "text (text)"
        yield Problem(number, f"It names no {missing}.")
        return
    yield from _checked(Line(number, audio, text, "" if speaker is None else str(speaker)))
