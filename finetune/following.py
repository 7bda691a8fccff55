"""
The likeliest way of a text through a recording, frame by frame, whatever else is said between.

Between two words there may be a pause, or speech that the text does not have; and what of the text
is not spoken may be left out. An hour takes about 20 s and, beside what was heard, 60 MB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from engines.pocket.phones import PAUSE_NUMBER
from engines.pocket.sound import Floats

Ints = NDArray[np.int64]

NOBODYS = -1
"""The word of a frame in which no word of the text is spoken."""

# Number 0 is no sound: its column holds how likely it is that something else is spoken.
_OTHER = 0
# Logarithms. What other speech costs a frame lies between what the right text lacks beside the
# likeliest sounds (0.1 with a voice as taught, 0.7 with flite's rms, about 1 with a person) and the
# wrong text (5). With 1.5, words of a person in noise were taken for other speech; with 2, a wrong
# sentence kept some of its words.
_OTHER_COSTS = 1.75
# Less, and other speech takes frames from the edges of words: with 8, their beginnings are found
# 19 ms off on average, with 20 and more 14 ms.
_BEGIN_OTHER = 30.0
# Leaving text out, and each of its sounds: four minutes of it lie within the beam.
_LEAVE_OUT, _EACH_SOUND = 60.0, 0.08
_BEAM = 400.0
_NEVER = np.float32(-1e9)
_PORTION = 2048
"""Frames after which the way is settled up to as many before."""
_FARTHEST = 30_000
"""States that one step may jump, since its length is kept in two bytes."""
_REACH = 3


@dataclass(frozen=True, slots=True)
class Track:
    """What is to be heard, state by state, and from where each is reached."""

    sounds: Ints
    words: Ints
    """The word of each state, or NOBODYS."""
    costs: Floats
    """Of coming from one, two and three states before, in rows; very low where there is no way."""
    others: Ints
    """The states in which something else is spoken: one at each gap between words."""
    left_out: Floats
    """What it costs to leave out all words before each of those."""


def track_of(words: Sequence[Sequence[Ints]]) -> Track:
    """Lay out words, each of one spoken word or several, with a gap before, between and after."""
    made = _Laying()
    for number, spoken in enumerate(words):
        made.gap()
        for place, sounds in enumerate(spoken):
            if place:
                made.add(PAUSE_NUMBER, number, 0.0)
            made.word(sounds, number, bool(place))
    made.gap()
    return made.track()


class _Laying:
    """A track while it is laid out."""

    def __init__(self) -> None:
        self._states: list[tuple[int, int, float, float, float]] = []
        self._others: list[int] = []
        self._left_out: list[float] = []
        self._count = 0

    def add(
        self,
        sound: int,
        word: int,
        one: float,
        two: float = float(_NEVER),
        three: float = float(_NEVER),
    ) -> None:
        self._states.append((sound, word, one, two, three))

    def gap(self) -> None:
        self.add(PAUSE_NUMBER, NOBODYS, 0.0)
        self._others.append(len(self._states))
        self._left_out.append(_EACH_SOUND * self._count)
        self.add(_OTHER, NOBODYS, -_BEGIN_OTHER, -_BEGIN_OTHER)

    def word(self, sounds: Ints, number: int, goes_on: bool) -> None:
        """Begin behind a gap, or behind the pause inside of a word, or without either."""
        first = (0.0, 0.0) if goes_on else (0.0, 0.0, 0.0)
        for place, sound in enumerate(sounds):
            self.add(int(sound), number, *(first if place == 0 else (0.0,)))
        self._count += len(sounds)

    def track(self) -> Track:
        rows = [*zip(*self._states, strict=True)]
        return Track(
            np.array(rows[0], np.int64),
            np.array(rows[1], np.int64),
            np.array(rows[2:], np.float32),
            np.array(self._others, np.int64),
            np.array(self._left_out, np.float32),
        )


def follow(heard: Floats, track: Track, told: Callable[[int], None] = lambda frame: None) -> Ints:
    """
    The state of each frame on the likeliest way; its end may be missing, where it is not spoken.

    `heard` is how likely each sound is at each frame (logarithms); `told` gets the frames done.
    """
    way = _Way(_with_other(heard), track)
    for first in range(0, len(heard), _PORTION):
        way.go_on(min(first + _PORTION, len(heard)))
        told(min(first + _PORTION, len(heard)))
    return way.walked()


def _with_other(heard: Floats) -> Floats:
    heard = heard.copy()
    best = heard[:, 1:].max(1)
    heard[:, _OTHER] = np.maximum(best - _OTHER_COSTS, heard[:, PAUSE_NUMBER])
    return heard


class _Way:
    """A search on its way through the frames."""

    def __init__(self, heard: Floats, track: Track) -> None:
        self._heard, self._track = heard, track
        self._count = len(track.sounds)
        # In front of the first state lie as many that are never reached as one step may reach.
        self._total = np.full(_REACH + self._count, _NEVER, np.float32)
        self._low, self._high = 0, 0
        self._moves: list[tuple[int, NDArray[np.int16]]] = []
        self._settled: list[Ints] = []
        self._at = 0

    def go_on(self, until: int) -> None:
        """Search on to a frame, then settle what lies far enough back."""
        for frame in range(self._at, until):
            moved = self._one_frame(frame) if frame else self._first_frame()
            self._moves.append((self._low, moved))
        self._at = until
        if len(self._moves) >= 2 * _PORTION:
            self._settle(len(self._moves) - _PORTION)

    def walked(self) -> Ints:
        """The way to where the text ends, or else to the likeliest state before."""
        if not self._at:
            return np.zeros(0, np.int64)
        ends = self._total[_REACH + self._count - _REACH :]
        alive = self._total[_REACH + self._low : _REACH + self._high]
        last = self._count - _REACH + int(ends.argmax())
        if ends.max() < alive.max() - _BEAM:
            last = self._low + int(alive.argmax())
        return np.concatenate([*self._settled, self._back(last)])

    # ---- Frame by frame ----

    def _first_frame(self) -> NDArray[np.int16]:
        self._high = min(_REACH, self._count)
        begun = self._heard[0, self._track.sounds[: self._high]]
        self._total[_REACH : _REACH + self._high] = begun
        self._total[_REACH + 1] -= _BEGIN_OTHER
        return np.zeros(self._high, np.int16)

    def _one_frame(self, frame: int) -> NDArray[np.int16]:
        best = self._narrow()
        first, last, jumped, came = self._left_out(best)
        low, high = self._low, min(self._high + _REACH, self._count)
        high = max(high, int(self._track.others[last - 1]) + 1 if last > first else 0)
        found = self._total[_REACH + low : _REACH + high].copy()
        moved = np.zeros(high - low, np.int16)
        for steps in range(1, _REACH + 1):
            coming = self._total[_REACH + low - steps : _REACH + high - steps]
            _take(found, moved, coming + self._track.costs[steps - 1, low:high], steps)
        places = self._track.others[first:last] - low
        better = jumped > found[places]
        found[places[better]] = jumped[better]
        moved[places[better]] = (self._track.others[first:last] - came)[better]
        found += self._heard[frame, self._track.sounds[low:high]]
        self._total[_REACH + low : _REACH + high] = found
        self._high = high
        return moved

    def _narrow(self) -> float:
        """Forget the states that are too unlikely to win, from both ends."""
        alive = self._total[_REACH + self._low : _REACH + self._high]
        best = float(alive.max())
        (likely,) = np.nonzero(alive > best - _BEAM)
        low, high = self._low + int(likely[0]), self._low + int(likely[-1]) + 1
        self._total[_REACH + self._low : _REACH + low] = _NEVER
        self._total[_REACH + high : _REACH + self._high] = _NEVER
        self._low, self._high = low, high
        return best

    def _left_out(self, best: float) -> tuple[int, int, Floats, Ints]:
        """
        How likely each gap is when text before it is left out, and from which gap that is.

        Which gaps: from the first to the last of them, by their numbers.
        """
        others, costs = self._track.others, self._track.left_out
        first, last = (int(each) for each in np.searchsorted(others, (self._low, self._high)))
        if first == last:
            return first, first, np.zeros(0, np.float32), np.zeros(0, np.int64)
        here = self._total[_REACH + others[first:last]] + costs[first:last]
        most = np.maximum.accumulate(here)
        origin = np.maximum.accumulate(np.where(here == most, np.arange(first, last), 0))
        worth = float(most[-1]) - _LEAVE_OUT - best + _BEAM
        reached = int(np.searchsorted(costs, worth))
        reached = min(reached, int(np.searchsorted(others, self._low + _FARTHEST)))
        beyond = max(0, reached - last)
        most = np.concatenate([most, np.full(beyond, most[-1])])
        origin = np.concatenate([origin, np.full(beyond, origin[-1])])
        end = last + beyond
        # Not from a gap to itself: the one before it, at least.
        jumped = most[: end - first - 1] - costs[first + 1 : end] - _LEAVE_OUT
        return first + 1, end, jumped, others[origin[: end - first - 1]]

    # ---- What is settled ----

    def _settle(self, kept: int) -> None:
        """Settle the way up to a place: whoever came there otherwise than the likeliest is out."""
        (alive,) = np.nonzero(self._total > _NEVER / 2)
        states = alive - _REACH
        for low, moved in reversed(self._moves[kept:]):
            states = states - moved[states - low]
        likeliest = int(self._total[alive].argmax())
        self._total[alive[states != states[likeliest]]] = _NEVER
        self._moves, rest = self._moves[:kept], self._moves[kept:]
        self._settled.append(self._back(int(states[likeliest])))
        self._moves = rest

    def _back(self, state: int) -> Ints:
        way = np.zeros(len(self._moves), np.int64)
        for place, (low, moved) in reversed([*enumerate(self._moves)]):
            way[place] = state
            state -= int(moved[state - low])
        return way


def _take(found: Floats, moved: NDArray[np.int16], coming: Floats, steps: int) -> None:
    better = coming > found
    np.maximum(found, coming, out=found)
    moved[better] = steps


def runs(words: Ints) -> Iterator[tuple[int, int, int]]:
    """Each word that has frames: its number, its first frame, and the frame behind its last."""
    edges = np.flatnonzero(np.diff(words, prepend=-2, append=-2))
    for first, last in pairwise(edges):
        if words[first] != NOBODYS:
            yield int(words[first]), int(first), int(last)
