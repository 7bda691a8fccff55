"""How far the clips of a recording are from the truth about it. Decisions only."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

# Levels are measured every 10 ms, so no place is known better; what an edge takes of a word within
# that is its first or last breath.
TOLERANCE_S = 0.01


@dataclass(frozen=True, slots=True)
class Said:
    """A word that was truly said, and when."""

    text: str
    start: float
    end: float

    @property
    def middle(self) -> float:
        return (self.start + self.end) / 2


@dataclass(frozen=True, slots=True)
class Clip:
    """A clip as it was made: a span of a recording, and the text that is said to be in it."""

    recording: str
    start: float
    end: float
    text: str


@dataclass(frozen=True, slots=True)
class Edge:
    """Where a clip begins or ends, and how far that is from the pause it belongs into."""

    recording: str
    at: float
    off_ms: float
    between: str
    """The true words on its sides."""


@dataclass(frozen=True, slots=True)
class Scores:
    """What is wrong with the clips of one recording, or of several."""

    cut: tuple[str, ...]
    """True words with the edge of a clip inside them."""
    unheard_cut: tuple[str, ...]
    """Of these, the ones that were never recognised: nothing told where they begin and end."""
    lost: tuple[str, ...]
    """Recognised words that are in no clip's text, and those whose sound is in no clip."""
    repeated: tuple[str, ...]
    """Words more often in the clips' texts than recognised, and those whose sound is in two."""
    unheard: tuple[str, ...]
    """True words in no clip because they were never recognised."""
    edges: tuple[Edge, ...]
    errors: int
    """Words of the clips' texts that are wrong, missing or too many."""
    words: int

    def boundary_ms(self, share: float) -> float:
        """How far off all but the worst edges are: a share of 0.95 leaves out one in twenty."""
        away = sorted(edge.off_ms for edge in self.edges)
        return away[min(math.ceil(share * len(away)), len(away)) - 1] if away else math.nan

    @property
    def word_error(self) -> float:
        return self.errors / max(1, self.words)


def together(all_scores: Iterable[Scores]) -> Scores:
    """Join the scores of several recordings."""
    found = [*all_scores]
    return Scores(
        cut=tuple(word for one in found for word in one.cut),
        unheard_cut=tuple(word for one in found for word in one.unheard_cut),
        lost=tuple(word for one in found for word in one.lost),
        repeated=tuple(word for one in found for word in one.repeated),
        unheard=tuple(word for one in found for word in one.unheard),
        edges=tuple(edge for one in found for edge in one.edges),
        errors=sum(one.errors for one in found),
        words=sum(one.words for one in found),
    )


def score(clips: Sequence[Clip], recognised: Sequence[str], truth: Sequence[Said]) -> Scores:
    """Compare the clips of one recording with what was said, and with what was recognised.

    `recognised` are the written words ("3.5" is one), with their signs.
    """
    ordered = sorted(clips, key=lambda clip: (clip.start, clip.end))
    texts = [clip.text.split() for clip in ordered]
    kept = [word for text in texts for word in text]
    true = [said.text for said in truth]
    lost, repeated = _differences(recognised, kept)
    heard = {at for _, at in same(recognised, true)}
    homes = [sum(clip.start <= said.middle <= clip.end for clip in ordered) for said in truth]
    cut = [*_cut(ordered, truth)]
    silent = [at for at, count in enumerate(homes) if not count]
    return Scores(
        cut=tuple(true[at] for at in cut),
        unheard_cut=tuple(true[at] for at in cut if at not in heard),
        lost=(*lost, *(true[at] for at in silent if at in heard)),
        repeated=(*repeated, *(true[at] for at, count in enumerate(homes) if count > 1)),
        unheard=tuple(true[at] for at in silent if at not in heard),
        edges=tuple(_edges(ordered, texts, truth)),
        errors=errors(kept, true),
        words=len(true),
    )


def _cut(clips: Sequence[Clip], truth: Sequence[Said]) -> Iterator[int]:
    edges = [time for clip in clips for time in (clip.start, clip.end)]
    for at, said in enumerate(truth):
        if any(said.start + TOLERANCE_S < time < said.end - TOLERANCE_S for time in edges):
            yield at


def _differences(recognised: Sequence[str], kept: Sequence[str]) -> tuple[list[str], list[str]]:
    """Tell which recognised words are not in the clips, and which of theirs were not recognised."""
    pairs = [(left, right) for left, right in aligned(recognised, kept)]
    pairs = [(left, right) for left, right in pairs if recognised[left] == kept[right]]
    found, used = {left for left, _ in pairs}, {right for _, right in pairs}
    lost = [word for at, word in enumerate(recognised) if at not in found]
    return lost, [word for at, word in enumerate(kept) if at not in used]


# ---- Edges ---------------------------------------------------------------------------------------


def _edges(
    clips: Sequence[Clip], texts: Sequence[Sequence[str]], truth: Sequence[Said]
) -> Iterator[Edge]:
    """Measure how far each edge lies from the pause between the words that its texts part."""
    kept = [word for text in texts for word in text]
    pairs = same(kept, [said.text for said in truth])
    counts = [0, *accumulate(len(text) for text in texts)]
    for clip, (first, after) in zip(clips, pairwise(counts), strict=True):
        for time, place in ((clip.start, first), (clip.end, after)):
            left = max((at for word, at in pairs if word < place), default=-1)
            right = min((at for word, at in pairs if word >= place), default=len(truth))
            yield Edge(clip.recording, time, *_off(time, left, right, truth))


def _off(time: float, left: int, right: int, truth: Sequence[Said]) -> tuple[float, str]:
    """How far a time is from the nearest pause after one word and before another, in ms.

    Words between them were not recognised for what they are: they belong to no certain clip.
    """
    off, at = min((_outside(time, at, truth), at) for at in range(left, right))
    before = truth[at].text if at >= 0 else ""
    after = truth[at + 1].text if at + 1 < len(truth) else ""
    return off * 1000, f"{before} | {after}"


def _outside(time: float, at: int, truth: Sequence[Said]) -> float:
    """How far a time is from the pause after the word with this number, 0 inside it."""
    begin = truth[at].end if at >= 0 else -math.inf
    stop = truth[at + 1].start if at + 1 < len(truth) else math.inf
    return max(begin - time, time - stop, 0.0)


# ---- Words that belong together ------------------------------------------------------------------


def bare(word: str) -> str:
    """A word without its signs and capitals."""
    return word.strip(".,?!").lower()


def errors(words: Sequence[str], true: Sequence[str]) -> int:
    """How many words are wrong, missing or too many."""
    return len(words) + len(true) - len(aligned(words, true)) - len(same(words, true))


def same(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    """The pairs of an alignment that are the same word."""
    return [(a, b) for a, b in aligned(left, right) if bare(left[a]) == bare(right[b])]


def aligned(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    """Pair the words of two texts in order, with as few wrong, missing or added as can be."""
    one, other = [bare(word) for word in left], [bare(word) for word in right]
    table = [[*range(len(other) + 1)]]
    for count, word in enumerate(one, 1):
        above, row = table[-1], [count]
        for at, target in enumerate(other):
            row.append(min(above[at] + (word != target), above[at + 1] + 1, row[at] + 1))
        table.append(row)
    return _way_back(one, other, table)


def _way_back(
    one: Sequence[str], other: Sequence[str], table: Sequence[Sequence[int]]
) -> list[tuple[int, int]]:
    pairs, a, b = [], len(one), len(other)
    while a and b:
        cost = table[a][b]
        if cost == table[a - 1][b - 1] + (one[a - 1] != other[b - 1]):
            a, b = a - 1, b - 1
            pairs.append((a, b))
        elif cost == table[a - 1][b] + 1:
            a -= 1
        else:
            b -= 1
    return pairs[::-1]
