"""
The cutting rule that xtts-finetune-webui and the XTTS demo use, written anew to compare with.

From its description alone: a sentence ends at a word that ends in . ! or ?; it begins 0.2 s before
its first word, or half-way to the word before if that is nearer, and ends 0.2 s after its last
word, or half-way to the next. Words after the last mark are lost, what is under 0.33 s is left out,
nothing is ever too long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from finetune.words import Word

BUFFER_S = 0.2
SHORTEST_S = 0.33
MARKS = (".", "!", "?")


@dataclass(frozen=True, slots=True)
class BaselineClip:
    """A clip as that rule makes it: the words with these numbers, from start to end."""

    start: float
    end: float
    first: int
    last: int


def baseline_cut(words: Sequence[Word], seconds: float) -> Iterator[BaselineClip]:
    """Divide words into clips the way the most used fine-tuning studio does."""
    first = 0
    for last, word in enumerate(words):
        if not word.text.endswith(MARKS):
            continue
        clip = BaselineClip(_start(words, first), _end(words, last, seconds), first, last)
        first = last + 1
        if clip.end - clip.start >= SHORTEST_S:
            yield clip


def _start(words: Sequence[Word], first: int) -> float:
    start = words[first].start
    if first == 0:
        return max(start - BUFFER_S, 0.0)
    return max(start - BUFFER_S, (words[first - 1].end + start) / 2)


def _end(words: Sequence[Word], last: int, seconds: float) -> float:
    end = words[last].end
    following = words[last + 1].start if last + 1 < len(words) else seconds
    return min((end + following) / 2, end + BUFFER_S)
