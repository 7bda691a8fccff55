"""
Texts that a format's plain form cannot carry, kept exactly in a file beside it.

LJSpeech has no quotation: a pipe or a line break in a text would be read as a column or a row by
every tool. The table then shows the text with spaces in their place, which all tools read well,
and `texts.jsonl` beside it holds what it exactly is. A text that somebody has since changed in
the table is taken from the table: the exact one counts only where the table still shows it.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from finetune.texts.records import Line, Problem

COMPANION = "texts.jsonl"


@dataclass(frozen=True, slots=True)
class Companion:
    """What was written beside a table: its format, its rows by file, and its exact texts."""

    format: str
    rows: Mapping[str, int]
    exact: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """By audio and by the text shown."""


def plain(text: str) -> str:
    """Show a text on one line without pipes and control characters."""
    # Str.splitlines, which some trainers use, also breaks at U+2028, U+0085 and their kind.
    flat = "".join(" " if _breaks(sign) else sign for sign in text)
    return " ".join(flat.split())


def without_nul(text: str) -> str:
    """Show a text without NUL, which Python's csv refuses before 3.11 and C programs end at."""
    return text.replace("\0", " ")


def companion_lines(companion: Companion) -> bytes:
    """Write a companion: first what it belongs to, then one exact text a line."""
    first = {"format": companion.format, "rows": dict(companion.rows)}
    others = [
        {"audio": audio, "shown": shown, "text": text}
        for (audio, shown), text in companion.exact.items()
    ]
    return "".join(json.dumps(each) + "\n" for each in [first, *others]).encode()


def read_companion(path: Path) -> tuple[Companion | None, list[Problem]]:
    """Read the companion of a table, or say why its exact texts are not used."""
    beside = path.parent / COMPANION
    if path.name == COMPANION or not beside.is_file():
        return None, []
    try:
        values = [json.loads(line) for line in beside.read_bytes().split(b"\n") if line.strip()]
        companion = _companion(values)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        sentence = f"{COMPANION} cannot be read, so texts are taken as {path.name} shows them."
        return None, [Problem(0, sentence, path.name)]
    return (companion, []) if path.name in companion.rows else (None, [])


def restore(
    lines: Iterable[Line], companion: Companion | None, name: str
) -> tuple[list[Line], list[Problem]]:
    """Put the exact texts in the place of those shown, and say when rows are missing."""
    found = list(lines)
    if companion is None:
        return found, []
    exact = [
        replace(line, text=companion.exact.get((line.audio, line.text), line.text))
        for line in found
    ]
    written = companion.rows[name]
    if written == len(found):
        return exact, []
    sentence = f"{len(found)} rows are read of the {written} that were written."
    return exact, [Problem(0, sentence, name)]


def _breaks(sign: str) -> bool:
    return sign == "|" or unicodedata.category(sign) in {"Cc", "Zl", "Zp"}


def _companion(values: list[Any]) -> Companion:
    rows = {str(name): int(count) for name, count in values[0]["rows"].items()}
    exact = {(each["audio"], each["shown"]): str(each["text"]) for each in values[1:]}
    return Companion(str(values[0]["format"]), rows, exact)
