"""Which piece of a script is which piece of the recognised words: an alignment of least edits."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Pair = tuple[int, int]

# A piece too many or too few costs 2; one in place of another 3, or 1 when they look alike.
_MISSING, _OTHER, _ALIKE = 2, 3, 1
_ALIKE_SHARE = 0.7
# Up to so many comparisons the best alignment is found outright: 10,000 pieces against as many
# are 1e8, took 2.6 s on a shared core and keep 100 MB of moves. Beyond, passages that occur once
# in both part the work, which then grows with the length and not with its square.
_OUTRIGHT = 12_000 * 12_000
_PART_FROM = 3_000 * 3_000
_LETTERS = 64


def pair(script: Sequence[str], heard: Sequence[str]) -> list[Pair]:
    """Pair pieces that are equal or look alike, in order, so that the least is left over."""
    begin, ends = _common_ends(script, heard)
    last, heard_last = len(script) - ends, len(heard) - ends
    found = [(at, at) for at in range(begin)]
    found += _pair_within(script, heard, (begin, last), (begin, heard_last))
    found += [(last + at, heard_last + at) for at in range(ends)]
    return [each for each in found if not _is_compound(script, heard, *each)]


def _is_compound(script: Sequence[str], heard: Sequence[str], i: int, j: int) -> bool:
    """Whether a piece only looks like another because that is it and its neighbour in one."""
    ours, theirs = script[i], heard[j]
    if ours == theirs:
        return False
    return theirs in _with_neighbours(script, i) or ours in _with_neighbours(heard, j)


def _with_neighbours(pieces: Sequence[str], at: int) -> Sequence[str]:
    before, after = pieces[max(0, at - 1) : at], pieces[at + 1 : at + 2]
    return ["".join((*before, pieces[at])), "".join((pieces[at], *after))]


def _common_ends(script: Sequence[str], heard: Sequence[str]) -> Pair:
    """How many pieces are equal at the beginning, and then at the end."""
    shorter = min(len(script), len(heard))
    begin = next((at for at in range(shorter) if script[at] != heard[at]), shorter)
    left = shorter - begin
    end = next((at for at in range(left) if script[-1 - at] != heard[-1 - at]), left)
    return begin, end


def _pair_within(
    script: Sequence[str], heard: Sequence[str], left: Pair, right: Pair
) -> Iterator[Pair]:
    """Pair two stretches, parted at passages that occur once in each while they are long."""
    waiting = [(left, right)]
    while waiting:
        (i0, i1), (j0, j1) = waiting.pop()
        cells = (i1 - i0) * (j1 - j0)
        anchors = _anchors(script, heard, (i0, i1), (j0, j1)) if cells > _PART_FROM else []
        if anchors:
            edges = [(i0, j0), *anchors, (i1, j1)]
            parts = [((a, c), (b, d)) for (a, b), (c, d) in pairwise(edges)]
            waiting += reversed(parts)
        elif 0 < cells <= _OUTRIGHT:
            found = _outright(script[i0:i1], heard[j0:j1])
            yield from ((i0 + i, j0 + j) for i, j in found)
        # Stretches this long without one common passage are two different texts: none is paired.


def _anchors(script: Sequence[str], heard: Sequence[str], left: Pair, right: Pair) -> list[Pair]:
    """Where a passage of some pieces begins that occurs once in both, in the same order."""
    for length in (5, 3, 1):
        ours, theirs = _once(script, left, length), _once(heard, right, length)
        both = sorted((at, theirs[passage]) for passage, at in ours.items() if passage in theirs)
        rising = _longest_rise(both)
        # An anchor at the very edge would part nothing off.
        if rising := [each for each in rising if each != (left[0], right[0])]:
            return rising
    return []


def _once(pieces: Sequence[str], span: Pair, length: int) -> dict[tuple[str, ...], int]:
    places = range(span[0], span[1] - length + 1)
    passages = [tuple(pieces[at : at + length]) for at in places]
    counts = Counter(passages)
    return {
        passage: at for at, passage in zip(places, passages, strict=True) if counts[passage] == 1
    }


def _longest_rise(pairs: Sequence[Pair]) -> list[Pair]:
    """The longest choice of pairs whose second members rise too."""
    tops: list[int] = []
    at: list[int] = []
    before: list[int] = []
    for index, (_, value) in enumerate(pairs):
        pile = bisect_left(tops, value)
        before.append(at[pile - 1] if pile else -1)
        tops[pile : pile + 1] = [value]
        at[pile : pile + 1] = [index]
    found = []
    index = at[-1] if at else -1
    while index >= 0:
        found.append(pairs[index])
        index = before[index]
    return found[::-1]


def _outright(script: Sequence[str], heard: Sequence[str]) -> list[Pair]:
    """The alignment of least edits, row by row, remembering one byte a cell."""
    costs = _Costs(script, heard)
    ramp = np.arange(len(heard) + 1, dtype=np.int32) * _MISSING
    row = ramp.copy()
    moves = np.empty((len(script), len(heard)), dtype=np.uint8)
    for at, piece in enumerate(script):
        across = row[:-1] + costs.of(piece)
        down = row[1:] + _MISSING
        best = np.concatenate((row[:1] + _MISSING, np.minimum(across, down)))
        row = np.minimum.accumulate(best - ramp) + ramp
        # 0 pairs the two, 1 leaves the script's piece over, 2 the heard one.
        moves[at] = np.where(row[1:] == across, 0, np.where(row[1:] == down, 1, 2))
    return _walk_back(moves, costs, script)


def _walk_back(moves: NDArray[np.uint8], costs: _Costs, script: Sequence[str]) -> list[Pair]:
    found = []
    i, j = moves.shape
    while i and j:
        move = moves[i - 1, j - 1]
        i, j = i - int(move != 2), j - int(move != 1)
        if move == 0 and costs.of(script[i])[j] != _OTHER:
            found.append((i, j))
    return found[::-1]


class _Costs:
    """What it costs to pair a piece of the script with each piece that was heard."""

    def __init__(self, script: Sequence[str], heard: Sequence[str]) -> None:
        self._length = len(heard)
        places: dict[str, list[int]] = defaultdict(list)
        for at, piece in enumerate(heard):
            places[piece].append(at)
        self._places = {piece: np.array(found) for piece, found in places.items()}
        self._known = [*self._places]
        self._letters = np.array([_letters(piece) for piece in self._known], dtype=np.int16)
        self._lengths = self._letters.sum(axis=1) if self._known else np.empty(0)
        self._alike: dict[str, NDArray[np.int64]] = {}

    def of(self, piece: str) -> NDArray[np.int32]:
        row = np.full(self._length, _OTHER, dtype=np.int32)
        if piece in self._places:
            row[self._places[piece]] = 0
        else:
            row[self._alike_places(piece)] = _ALIKE
        return row

    def _alike_places(self, piece: str) -> NDArray[np.int64]:
        """Where something was heard that shares most letters with a piece never heard itself."""
        if piece not in self._alike:
            own = _letters(piece)
            common = np.minimum(self._letters, own).sum(axis=1)
            alike = 2 * common >= _ALIKE_SHARE * (self._lengths + own.sum())
            found = [self._places[self._known[at]] for at in np.flatnonzero(alike)]
            self._alike[piece] = np.concatenate([np.empty(0, dtype=np.int64), *found])
        return self._alike[piece]


def _letters(piece: str) -> NDArray[np.int16]:
    """How often each letter and each pair of neighbours occurs, the pairs folded into few bins."""
    counts = np.zeros(_LETTERS, dtype=np.int16)
    for one, other in zip(piece, piece[1:] + " ", strict=True):
        counts[ord(one) % 32] += 1
        counts[32 + (ord(one) * 7 + ord(other)) % 32] += 1
    return counts
