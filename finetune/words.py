"""Words with times: what they are, put in order, and joined to a text as their script is written."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from engines.texts.spacing import bare, carries_spaces, unspaced


@dataclass(frozen=True, slots=True)
class Word:
    """A word as heard: seconds count from the start of its recording."""

    text: str
    """As Whisper gives it, also with the space before it."""
    start: float
    end: float
    probability: float = 1.0

    @property
    def centre(self) -> float:
        return (self.start + self.end) / 2


def join_words(texts: Sequence[str], spaced: bool | None = None) -> str:
    """Write words as a text, with spaces where their script has them."""
    if spaced is None:
        spaced = carries_spaces(texts)
    joined = ""
    for text in texts:
        joined += " " + text if joined and not spaced and _needs_space(joined, text) else text
    return " ".join(joined.split())


def _needs_space(left: str, right: str) -> bool:
    if not bare(left, right) or not any(sign.isalnum() for sign in right):
        return False
    return not (unspaced(left[-1]) or unspaced(right[0]))


def by_middle(words: Iterable[Word]) -> list[Word]:
    """Sort words by their middles, so that those of a span are found at once."""
    return sorted(words, key=lambda word: word.centre)


def within(sorted_words: Sequence[Word], start: float, end: float) -> Sequence[Word]:
    """The words spoken in a span; a word belongs to where its middle is."""
    first, last = (
        bisect_left(sorted_words, time, key=lambda word: word.centre) for time in (start, end)
    )
    return sorted_words[first:last]


def put_in_order(words: Sequence[Word], seconds: float) -> list[Word]:
    """Give words times that never run backwards or overlap, changing as few as possible.

    The order of the words is the order of the text. Whisper gives overlapping, zero-length and
    now and then wildly wrong times: those that disagree with most are placed between neighbours.
    """
    inside = [_within(word, seconds) for word in words]
    trusted = _longest_rise([word.centre for word in inside])
    placed = [*_place_others(inside, trusted)]
    return [*_parted(placed)]


def _within(word: Word, seconds: float) -> Word:
    start, end = (min(max(time, 0.0), seconds) for time in (word.start, word.end))
    if math.isnan(word.start + word.end):
        return replace(word, start=math.nan, end=math.nan)
    return replace(word, start=min(start, end), end=max(start, end))


def _longest_rise(values: Sequence[float]) -> list[int]:
    """Find the positions of a longest non-decreasing subsequence (patience sorting)."""
    tops: list[float] = []
    at: list[int] = []
    before = [-1] * len(values)
    for index, value in enumerate(values):
        if math.isnan(value):
            continue
        pile = bisect_right(tops, value)
        before[index] = at[pile - 1] if pile else -1
        tops[pile : pile + 1] = [value]
        at[pile : pile + 1] = [index]
    return _walk_back(at[-1] if at else -1, before)


def _walk_back(index: int, before: Sequence[int]) -> list[int]:
    found = []
    while index >= 0:
        found.append(index)
        index = before[index]
    return found[::-1]


def _place_others(words: Sequence[Word], trusted: Sequence[int]) -> Iterator[Word]:
    """Put the words whose time is not trusted evenly between the trusted ones around them."""
    following = iter([*trusted, len(words)])
    last, coming = -1, next(following)
    for index, word in enumerate(words):
        if index == coming:
            last, coming = index, next(following)
            yield word
        else:
            left, right = _bounds(words, last, coming)
            time = left + (right - left) * (index - last) / (coming - last)
            yield replace(word, start=time, end=time)


def _bounds(words: Sequence[Word], last: int, coming: int) -> tuple[float, float]:
    left = words[last].centre if last >= 0 else None
    right = words[coming].centre if coming < len(words) else None
    if left is None:
        left = right or 0.0
    return left, left if right is None else right


def _parted(words: Sequence[Word]) -> Iterator[Word]:
    """Let words that overlap meet half-way, each keeping its centre."""
    bound = 0.0
    for index, word in enumerate(words):
        start = min(word.centre, max(word.start, bound))
        end = word.end
        if index + 1 < len(words):
            bound = _meeting(word, words[index + 1])
            end = max(word.centre, min(end, bound))
        yield replace(word, start=start, end=end)


def _meeting(left: Word, right: Word) -> float:
    middle = (left.end + right.start) / 2
    return min(max(middle, left.centre), right.centre)
