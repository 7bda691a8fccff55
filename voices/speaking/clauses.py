"""Sentences that are too long for an engine, cut where a speaker would breathe."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from math import ceil

# A dot alone is that of an abbreviation here, for sentences end elsewhere: it is tied to what follows.
# What a cut costs beside its distance from the middle, as a share of the room there is.
_PLACES = re.compile(
    r"""(?P<strong>(?:[;:…—–!?]|\.\.)["'”’»)\]]*\s+|[；：؛])
    |(?P<weak>,["'”’»)\]]*\s+|[、，،](?=\S))
    |(?P<tied>(?<=[\d.])\s+|\s+(?=\d))
    |(?P<space>\s+)""",
    re.VERBOSE,
)
_COSTS = {"strong": 0.0, "weak": 0.1, "space": 0.6, "tied": 2.0}
_SHORTEST = 0.2

Piece = tuple[str, str]
"""As written, and as said."""


def cut(text: str, longest: int, said: Callable[[str], str]) -> Iterator[Piece]:
    """Divide a sentence into pieces, none of which takes more than `longest` signs to say."""
    at = 0
    while at < len(text):
        end, written, words = _piece(text, at, longest, said)
        if written:
            yield written, words
        at = end


def _piece(text: str, at: int, longest: int, said: Callable[[str], str]) -> tuple[int, str, str]:
    """Take off the first piece: shorter ones are tried until what is said of it fits."""
    room = longest
    while True:
        end = _end(text, at, room)
        written = text[at:end].strip()
        words = said(written)
        if len(words) <= longest:
            return end, written, words
        if room == 1:  # one sign that takes more to say than there is room at all
            return end, written, words[:longest]
        # The longest token may still be whole in it, so it shrinks by a half at most.
        room = max(1, room // 2, min(room - 1, room * longest // len(words)))


def _end(text: str, at: int, room: int) -> int:
    """Find the best place to cut within so many signs, rather in even parts than a crumb last."""
    left = len(text) - at
    if left <= room:
        return len(text)
    aim = left / ceil(left / room)
    window = text[at : at + room + 1]
    ends = [
        (_COSTS[match.lastgroup or "space"] + abs(match.end() - aim) / room, match.end())
        for match in _PLACES.finditer(window)
        if _SHORTEST * room < match.end() <= room + len(match.group())
    ]
    return at + min(ends)[1] if ends else _whole_sign(text, at, at + room)


def _whole_sign(text: str, at: int, end: int) -> int:
    """Step back from between a letter and its accents."""
    back = end
    while back > at + 1 and unicodedata.combining(text[back]):
        back -= 1
    return back if back > at + 1 else end
