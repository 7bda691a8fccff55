"""
Whole scripts to speak: a text, subtitles whose times the speech keeps, or a table of many files.

A script is read at once and refused at once, with the lines that are wrong: nobody wants to hear
of the 400th line after an hour of speaking.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

from engines.errors import NameProblem, TextError
from voices import names

Kind = Literal["txt", "srt", "csv"]

COLUMNS = ("text", "name", "voice")
_TIME = r"(?:(\d{1,3}):)?([0-5]?\d):([0-5]?\d)[.,](\d{1,3})"
_TIMES = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}(?:\s+[XxYy]\d.*)?\s*")
_MARKUP = re.compile(r"</?(?:i|b|u|font)(?:\s[^<>]*)?>|\{\\[^{}]*\}", re.IGNORECASE)
# What no file system takes in a name, or takes for something else.
_UNSAFE = re.compile(r'[\\/:*?"<>|]|^\.|\.$')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
_SHOWN_PROBLEMS = 5
_MOST_NAME_BYTES = 200
_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


@dataclass(frozen=True, slots=True)
class Part:
    """A text of a script, and what the script says of it."""

    line: int
    """Where it begins in the script, counted from 1."""
    text: str
    name: str = ""
    """Of the file it becomes, without its ending; "" where the script names none."""
    voice: str = ""
    start_s: float | None = None
    end_s: float | None = None


@dataclass(frozen=True, slots=True)
class Script:
    """What is to be spoken, in order."""

    kind: Kind
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """One file that will be written, and what is said in it."""

    name: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """A line of a script that cannot be spoken, and why."""

    line: int
    why: str


def read(path: Path) -> Script:
    """Read a script by the ending of its name; raise TextError, naming lines, for what is wrong."""
    kinds: dict[str, Kind] = {".txt": "txt", ".srt": "srt", ".csv": "csv"}
    kind = kinds.get(path.suffix.lower())
    if kind is None:
        raise TextError(
            f"{path.name} is no script that Timbre can read.",
            "Save it as .txt (a text), .srt (subtitles) or .csv (one file a line).",
        )
    return parse(path.read_bytes(), kind, path.name)


def parse(content: bytes, kind: Kind, called: str = "The script") -> Script:
    """Read the content of a script."""
    text = _decoded(content, called)
    readers = {"txt": _text, "srt": _subtitles, "csv": _table}
    found = list(readers[kind](text))
    problems = [each for each in found if isinstance(each, Problem)]
    parts = [each for each in found if isinstance(each, Part)]
    if kind == "csv":
        problems += _twice(parts)
    if problems:
        raise TextError(_listed(called, problems), "Mend these lines and read it again.")
    if not parts:
        raise TextError(f"{called} has nothing to say in it.", "Choose another file.")
    return Script(kind, tuple(parts))


def plan(script: Script, stem: str, suffix: str) -> list[PlannedFile]:
    """Say which files a script becomes: a table one for each line, all others one."""
    if script.kind != "csv":
        return [PlannedFile(stem + suffix, script.parts)]
    digits = max(3, len(str(len(script.parts))))
    taken = {_key(part.name) for part in script.parts if part.name}
    files = []
    for number, part in enumerate(script.parts, start=1):
        name = part.name or _free(f"{stem}-{number:0{digits}d}", taken)
        taken.add(_key(name))
        files.append(PlannedFile(name + suffix, (part,)))
    return files


def _free(name: str, taken: set[str]) -> str:
    while _key(name) in taken:
        name += "-"
    return name


# ---- Reading ----


def _decoded(content: bytes, called: str) -> str:
    encoding = next((name for mark, name in _MARKS if content.startswith(mark)), "utf-8")
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise TextError(
            f"{called}, line {line}: it is not written in UTF-8.", "Save the file as UTF-8."
        ) from error


def _text(text: str) -> Iterator[Part]:
    """A text is one part: how it is divided is a question of its language."""
    if any(map(str.isalnum, text)):
        first = re.search(r"\S", text)
        yield Part(text.count("\n", 0, first.start() if first else 0) + 1, text)


def _subtitles(text: str) -> Iterator[Part | Problem]:
    lines = re.split(r"\r\n|\n|\r", text)
    starts = [at for at, line in enumerate(lines) if "-->" in line]
    before = 0.0
    yield from _untimed(lines[: _cue_begins(lines, starts[0]) if starts else len(lines)])
    for at, after in pairwise([*starts, len(lines)] if starts else []):
        end = _cue_begins(lines, after) if after < len(lines) else after
        for found in _cue(at + 1, lines[at], lines[at + 1 : end], before):
            before = found.start_s or before if isinstance(found, Part) else before
            yield found


def _cue_begins(lines: Sequence[str], times: int) -> int:
    """The line of a cue's number, which stands before its times."""
    return times - 1 if times and lines[times - 1].strip().isdigit() else times


def _untimed(lines: Sequence[str]) -> Iterator[Problem]:
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield Problem(number, "It has no times before it, as 00:00:01,000 --> 00:00:03,500.")
            return


def _cue(number: int, times: str, lines: Sequence[str], before: float) -> Iterator[Part | Problem]:
    found = _TIMES.fullmatch(times)
    text = " ".join(clean for line in lines if (clean := _MARKUP.sub("", line).strip()))
    if found is None:
        yield Problem(number, f"{times.strip()!r} is no pair of times.")
        return
    start, end = _seconds(found.groups()[:4]), _seconds(found.groups()[4:])
    if end <= start:
        yield Problem(number, "It ends before it begins.")
    elif start < before:
        yield Problem(number, "It begins before the one above it.")
    elif any(map(str.isalnum, text)):  # a cue of music or of nothing is silence
        yield Part(number, text, start_s=start, end_s=end)


def _seconds(parts: Sequence[str | None]) -> float:
    hours, minutes, seconds, fraction = (part or "0" for part in parts)
    whole = int(hours) * 3600 + int(minutes) * 60 + int(seconds)
    return round(whole + int(fraction.ljust(3, "0")) / 1000, 3)


def _table(text: str) -> Iterator[Part | Problem]:
    rows = _rows(text)
    first = next(rows, None)
    if first is None:
        return
    if isinstance(first, Problem):
        yield first
        return
    header = [cell.strip().lower() for cell in first[1]]
    if "text" not in header:
        yield _part(*first, COLUMNS)
        header = list(COLUMNS)
    elif unknown := [name for name in header if name not in COLUMNS]:
        yield Problem(first[0], f"There is no column {unknown[0]!r}: {', '.join(COLUMNS)} are.")
        return
    for row in rows:
        yield row if isinstance(row, Problem) else _part(*row, header)


Row = tuple[int, list[str]]
"""The line it begins on, and its cells."""


def _rows(text: str) -> Iterator[Row | Problem]:
    """Read rows, divided by what divides the first one; a quotation mark without end is named."""
    head = text.splitlines()[0] if text.strip() else ""
    delimiter = next((sign for sign in "\t;|," if sign in head), ",")
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for cells in rows:
            if any(cell.strip() for cell in cells):
                yield line, cells
            line = rows.line_num + 1
    except csv.Error as error:
        why = "A quotation mark in it has no end" if "end of data" in str(error) else f"{error}"
        yield Problem(line, f"{why.rstrip('.')}.")


def _part(line: int, cells: Sequence[str], header: Sequence[str]) -> Part | Problem:
    if len(cells) > len(header):
        return Problem(
            line,
            f"It has {len(cells)} columns where there are {len(header)}: put the text in"
            ' "quotation marks".',
        )
    values = dict(zip(header, (cell.strip() for cell in cells), strict=False))
    text, name = values.get("text", ""), values.get("name", "")
    if not any(map(str.isalnum, text)):
        return Problem(line, "It has no text.")
    try:
        return Part(line, text, _file_name(name) if name else "", values.get("voice", ""))
    except NameProblem as error:
        return Problem(line, error.what)


def _file_name(name: str) -> str:
    """A name that is one file on every system."""
    cleaned = names.clean(name)
    bad = _UNSAFE.search(cleaned) or _RESERVED.fullmatch(cleaned)
    if bad or len(cleaned.encode()) > _MOST_NAME_BYTES:
        raise NameProblem(f"{name!r} cannot be the name of a file.", "Choose another name.")
    return cleaned


def _twice(parts: Sequence[Part]) -> list[Problem]:
    counts = Counter(_key(part.name) for part in parts if part.name)
    first: set[str] = set()
    problems = []
    for part in parts:
        if part.name and counts[_key(part.name)] > 1 and _key(part.name) in first:
            problems.append(Problem(part.line, f"There is a {part.name!r} above it already."))
        first.add(_key(part.name))
    return problems


def _key(name: str) -> str:
    return names.key(name)


def _listed(called: str, problems: Sequence[Problem]) -> str:
    ordered = sorted(problems, key=lambda problem: problem.line)
    shown = " ".join(f"Line {each.line}: {each.why}" for each in ordered[:_SHOWN_PROBLEMS])
    more = len(problems) - _SHOWN_PROBLEMS
    rest = f" And {more} more." if more > 0 else ""
    return f"{called} cannot be spoken as it is. {shown}{rest}"
