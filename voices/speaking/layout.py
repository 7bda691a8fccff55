"""The lines of a text put together to what is read in one go: paragraphs, headings, list items."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from engines.texts.spacing import unspaced

ITEM = re.compile(r"\A\s*(?:[-*•‣▪◦–—]\s+|\(?(?:\d{1,3}[.)]|[a-zA-Z]\))\s+)(?=\S)")
_BEFORE_ITEMS = (*".:;,!?…。：；，",)
HEADING = re.compile(r"\A\s*#{1,6}\s+(?=\S)")

# Narrator's habits, in seconds; a listener hears half a second as a stop and a whole as a break.
_AFTER_LINE, _AFTER_HEADING, _AFTER_PARAGRAPH, _AFTER_SCENE = 0.5, 0.9, 0.8, 1.5
# Texts wrapped by a program have lines of 60 to 100 signs. In shorter ones, and in much longer
# ones, somebody pressed Enter on purpose.
_NARROWEST, _WIDEST = 40, 120


@dataclass(frozen=True, slots=True)
class Unit:
    """What is read without a longer pause."""

    text: str
    paragraph: int
    """Which one it is, counted from 0."""
    pause_after_s: float


def units(text: str) -> Iterator[Unit]:
    """Divide a text into its paragraphs, headings and list items; nothing of it is left out."""
    number = 0
    for block in _blocks(text.splitlines()):
        runs = list(_runs(block))
        for run in runs:
            is_last = run is runs[-1]
            yield Unit("\n".join(run), number, _pause(run, is_last))
            number += 1


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    """Group lines that no empty line parts; a line of signs alone is a block of its own."""
    block: list[str] = []
    for line in lines:
        alone = not any(map(str.isalnum, line))
        if alone and block:
            yield block
            block = []
        if not alone:
            block.append(line)
        elif line.strip():
            yield [line]
    if block:
        yield block


def _runs(block: Sequence[str]) -> Iterator[list[str]]:
    widest = max(_NARROWEST, *map(len, block))
    run = [block[0]]
    for before, line in pairwise(block):
        if _parts(before, line, widest):
            yield run
            run = []
        run.append(line)
    yield run


def _parts(before: str, line: str, widest: int) -> bool:
    """Whether the break between two lines means something, and is no mere end of the paper."""
    if HEADING.match(before) or HEADING.match(line):
        return True
    if ITEM.match(line):  # in wrapped prose a line may begin with a dash or a number by chance
        return (
            ITEM.match(before) is not None
            or before.rstrip()[-1:] in _BEFORE_ITEMS
            or _would_have_fit(before, line, widest)
        )
    if line.lstrip()[:1].islower():
        return False
    return widest > _WIDEST or _would_have_fit(before, line, widest)


def _would_have_fit(before: str, line: str, widest: int) -> bool:
    word = line.split(None, 1)[0]
    # Without spaces a line can be broken anywhere but before some marks.
    more = 2 if unspaced(word[0]) else 1 + len(word)
    return len(before.rstrip()) + more <= widest


def _pause(run: Sequence[str], is_last: bool) -> float:
    if not any(map(str.isalnum, run[0])):
        return _AFTER_SCENE
    if HEADING.match(run[0]):
        return _AFTER_HEADING
    return _AFTER_PARAGRAPH if is_last else _AFTER_LINE
