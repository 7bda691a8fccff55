"""What is to be said, sound by sound, as numbers that a network takes in. No torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engines.errors import TextError
from engines.pocket.facts import MARKS, PAUSE, PHONES, STRESSES, VOWELS
from engines.pocket.reading import Written, read

Rows = NDArray[np.int64]
"""A row for each sound: its number, its stress, where in its word it is, how its phrase ends."""

_NUMBER = {phone: number for number, phone in enumerate(PHONES)}
_STRESS = {"0": "none", "1": "primary", "2": "secondary"}
FIRST, LAST = 1, 2
"""Edges of a word; a sound may be both."""
EDGES = 4
PAUSE_NUMBER = _NUMBER[PAUSE]


@dataclass(frozen=True, slots=True)
class Text:
    """A text as sounds."""

    rows: Rows
    words: tuple[tuple[int, int], ...]
    """Of each written word, the first and the last of its rows + 1."""
    written: tuple[Written, ...]


def sounds_of(text: str, pauses_between_words: bool = False) -> Text:
    """
    Read a text; with a pause before, after and at each mark, or, to be found, between all words.

    Raise TextError when there is nothing in it that can be said.
    """
    written = tuple(each for each in read(text) if each.spoken)
    if not written:
        raise TextError(
            f"There is nothing in {text[:60]!r} that can be spoken.", "Write words in English."
        )
    rows: list[tuple[int, int, int, int]] = []
    words: list[tuple[int, int]] = []
    mark = 0
    for phrase in _phrases(written):
        before, mark = mark, MARKS.index(phrase[-1].mark or ".")
        rows.append((PAUSE_NUMBER, 0, 0, before or mark))
        for number, each in enumerate(phrase):
            if number and pauses_between_words:
                rows.append((PAUSE_NUMBER, 0, 0, mark))
            start = len(rows)
            for word in each.spoken:
                rows += ((*sound, mark) for sound in of_word(word.phones))
            words.append((start, len(rows)))
    rows.append((PAUSE_NUMBER, 0, 0, mark))
    return Text(np.array(rows, np.int64), tuple(words), written)


def of_word(phones: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Sounds of one spoken word, written as in CMU's dictionary: number, stress, edge."""
    for place, phone in enumerate(phones):
        name, stress = named(phone)
        edge = FIRST * (place == 0) + LAST * (place == len(phones) - 1)
        yield _NUMBER[name], STRESSES.index(stress), edge


def named(phone: str) -> tuple[str, str]:
    """AH0 -> ax, none: the name of a sound and its stress."""
    name = phone.rstrip("012").lower()
    if phone == "AH0":
        name = "ax"
    stress = phone[-1] if phone[-1].isdigit() else "0"
    return name, _STRESS[stress] if name in VOWELS else ""


def number_of(phone: str) -> int:
    return _NUMBER[phone]


def _phrases(written: Sequence[Written]) -> Iterator[list[Written]]:
    """What is said in one go: up to each mark."""
    phrase: list[Written] = []
    for each in written:
        phrase.append(each)
        if each.mark:
            yield phrase
            phrase = []
    if phrase:
        yield phrase
