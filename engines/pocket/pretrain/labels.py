"""What a synthesiser said, in the sounds and marks that a text has when pocket reads it."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

import numpy as np

from engines.pocket.facts import PAUSE, STRESSES, VOWELS
from engines.pocket.phones import FIRST, LAST, PAUSE_NUMBER, Rows, number_of, sounds_of

_ALIKE = 0.75
"""Of the sounds must be the same, or text and speech are two things."""


def rows_of(text: str, phones: Sequence[str]) -> Rows | None:
    """
    The sounds that were said, with the stress and the words of the text.

    What sounds there are the synthesiser decides, since it spoke them; None when they do not fit.
    """
    read = sounds_of(text).rows
    plain = read[read[:, 0] != PAUSE_NUMBER]
    said = [each for each in phones if each != PAUSE]
    partner = _partners([int(row[0]) for row in plain], [number_of(each) for each in said])
    if partner is None:
        return None
    owners = [plain[place] for place in partner]
    rows, at = [], 0
    for phone in phones:
        if phone == PAUSE:
            mark = owners[max(0, at - 1)][3]
            rows.append((PAUSE_NUMBER, 0, 0, mark))
            continue
        rows.append((number_of(phone), _stress(phone, owners[at][1]), 0, owners[at][3]))
        at += 1
    return _with_edges(np.array(rows, np.int64), _words(plain)[partner])


def _stress(phone: str, of_text: int) -> int:
    if phone not in VOWELS:
        return 0
    return int(of_text) or STRESSES.index("none")


def _partners(read: list[int], said: list[int]) -> list[int] | None:
    """For each sound that was said, the sound of the text that it is."""
    matcher = SequenceMatcher(None, read, said, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return None
    partner: list[int] = []
    for _, start, end, first, last in matcher.get_opcodes():
        for number in range(first, last):
            place = start + (number - first) * (end - start) // (last - first)
            partner.append(min(place, len(read) - 1))
    return partner


def _words(rows: Rows) -> Rows:
    """The number of the word that each sound is in."""
    return np.cumsum((rows[:, 2] & FIRST) > 0, dtype=np.int64)


def _with_edges(rows: Rows, words: Rows) -> Rows:
    """Mark where words begin and end, in the sounds that were said."""
    (spoken,) = np.nonzero(rows[:, 0] != PAUSE_NUMBER)
    for number, row in enumerate(spoken):
        if number == 0 or words[number] != words[number - 1]:
            rows[row, 2] |= FIRST
        if number == len(spoken) - 1 or words[number] != words[number + 1]:
            rows[row, 2] |= LAST
    return rows
