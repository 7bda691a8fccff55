"""Rows and cells of a delimited text, read so that nothing is lost to a stray quotation mark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell as it stands in the file, and what it says once its quotation marks are undone."""

    raw: str
    text: str

    @property
    def quoted(self) -> bool:
        return self.raw != self.text


@dataclass(frozen=True, slots=True)
class Record:
    """One row: the line it begins on, and its cells."""

    number: int
    cells: tuple[Cell, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(cell.text for cell in self.cells)

    @property
    def blank(self) -> bool:
        return len(self.cells) == 1 and not self.cells[0].raw.strip()


def lines_of(text: str) -> Iterator[tuple[int, str]]:
    """Number the lines of a text; U+2028 and its kind are part of a line, as in every tool."""
    at = 0
    for number, end in enumerate(_LINE_END.finditer(text), start=1):
        yield number, text[at : end.start()]
        at = end.end()
    if at < len(text):
        yield len(_LINE_END.findall(text)) + 1, text[at:]


def records(text: str, delimiter: str) -> Iterator[Record]:
    """
    Read rows as CSV, and a cell whose quotation marks do not pair as it stands.

    Python's csv would run on from such a mark to the next one, many rows away.
    """
    plain = re.compile(rf"[^{re.escape(delimiter)}\r\n]*")
    quoted = re.compile(rf'"([^"]*(?:""[^"]*)*)"(?=[{re.escape(delimiter)}\r\n]|\Z)')
    at, number = 0, 1
    while at < len(text):
        cells, after = _row(text, at, delimiter, quoted, plain)
        end = _LINE_END.match(text, after)
        yield Record(number, cells)
        number += len(_LINE_END.findall(text, at, after)) + 1
        at = end.end() if end else after


def _row(
    text: str, at: int, delimiter: str, quoted: re.Pattern[str], plain: re.Pattern[str]
) -> tuple[tuple[Cell, ...], int]:
    cells = []
    while True:
        if found := quoted.match(text, at):
            cells.append(Cell(found[0], found[1].replace('""', '"')))
        elif found := plain.match(text, at):
            cells.append(Cell(found[0], found[0]))
        at += len(cells[-1].raw)
        if not text.startswith(delimiter, at):
            return tuple(cells), at
        at += len(delimiter)


def unquoted(line: str) -> str:
    """Undo the marks of a cell that can only be CSV: `"She said ""no""."`."""
    found = re.fullmatch(r'"([^"]*(?:""[^"]*)+)"', line)
    return found[1].replace('""', '"') if found else line


def needs_quotes(text: str, delimiter: str) -> bool:
    """Whether a cell must be quoted so that every CSV reader gives it back."""
    return text != text.strip() or any(sign in text for sign in (delimiter, '"', "\n", "\r"))


def cell(text: str, delimiter: str) -> str:
    """Write a cell the way CSV has it."""
    if not needs_quotes(text, delimiter):
        return text
    doubled = text.replace('"', '""')
    return f'"{doubled}"'
