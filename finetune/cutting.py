"""
Words to clips: cut at sentence ends, then at the best pause, always where it is quiet.

No word is cut, lost or repeated: the clips' words in order are the words that came in. Clips never
overlap, and are never longer than the limit unless one word alone is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from engines.texts.sentences import ends_clause, sentence_ends
from engines.texts.spacing import carries_spaces, glued
from finetune.quiet import Levels, quiet_runs, quietest, sounding
from finetune.settings import CutSettings
from finetune.words import Word, join_words, put_in_order

# Whisper's word times are off by up to this much: how far from a word its end is looked for.
REACH_S = 0.5
TAIL_S = 0.15
# The silence before a "t" or "k" lasts 30 to 130 ms. The shorter a silence, the closer it must lie to
# the gap that the words' times leave: one of 200 ms may lie 200 ms away, one of 100 ms only 50.
DOUBT_S = 0.2
# With no pause at all, the words' times are right to about this much.
NEAR_S = 0.06
# A word fades, and a last "p" or "t" opens once more after a silence. Measured with flite and
# a real Whisper: up to 25 ms of that lay outside a pad of 100 ms, most with music beneath.
FADE_S = 0.05
# For so long words that were not recognised are followed to where they end.
UNHEARD_S = 2.0
LEAST_PAUSE_S = 0.08
# So much of a silence must be a gap by the words' times for those to say where in it to cut.
SURE_S = 0.02

# How far from the ends of a passage its first and its last word are surely heard.
PASSAGE_EDGE_S = 1.0

# What a cut costs, next to about 0.7 for a clip that is twice as long as wanted. Only their order
# matters: the end of a sentence, the end of a clause, any pause, between any two words.
_CLAUSE, _PAUSE, _NO_PAUSE, _IN_A_WORD = 5.0, 6.0, 8.0, 100.0
_HURRIED_END = 1.5
_SHORTER_PAUSE = 3.0
_TOO_SHORT = 4.0
_SENTENCE_MORE = 2.0


@dataclass(frozen=True, slots=True)
class Piece:
    """A span of a recording that becomes a clip, with the words spoken in it."""

    start: float
    end: float
    words: tuple[Word, ...]
    text: str
    why_cut: str
    """Why it ends where it does, in words."""


@dataclass(frozen=True, slots=True)
class _Joint:
    """A place between two words: where a clip could end, and where the next would begin."""

    end: float
    start: float
    pause: float
    cost: float = 0.0
    why: str = ""
    must: bool = False


def cut(
    words: Sequence[Word],
    settings: CutSettings,
    heard: Levels,
    seconds: float,
    language: str = "",
) -> list[Piece]:
    """Divide the words of one recording into clips; `heard` has its level every 10 ms.

    Times that run backwards or overlap are put in order first. Without `heard` (an empty array)
    the words' own times are believed.
    """
    placed = put_in_order(words, seconds)
    joints = _joints(placed, settings, heard, seconds, language)
    spaced = carries_spaces([word.text for word in placed])
    return [
        _piece(placed[first:after], joints[first], joints[after], settings, spaced)
        for first, after in _divide(joints, settings)
    ]


def _piece(
    words: Sequence[Word], left: _Joint, right: _Joint, settings: CutSettings, spaced: bool
) -> Piece:
    why = right.why
    if right.end - left.start > settings.max_seconds:
        why = f"one word, longer than {settings.max_seconds:g} s by itself"
    text = join_words([word.text for word in words], spaced)
    return Piece(left.start, right.end, tuple(words), text, why)


# ---- Where a clip could be cut ----


def _joints(
    words: Sequence[Word], settings: CutSettings, heard: Levels, seconds: float, language: str
) -> list[_Joint]:
    """Look at the place before, between and after all words."""
    if not words:
        return []
    texts = [word.text for word in words]
    spaced, ends = carries_spaces(texts), {*sentence_ends(texts, language)}
    anchors = _anchors(words, heard)
    joints = [_before(words[0], anchors[0][0], settings, heard)]
    for index, (left, right) in enumerate(pairwise(words)):
        around = anchors[index][1], anchors[index + 1][0]
        place = _between(left, right, around, settings, heard)
        one_word = glued(left.text, right.text, spaced)
        joints.append(_judged(place, left.text, index in ends, one_word, settings))
    last = _after(words[-1], anchors[-1][1], seconds, settings, heard)
    return [*joints, _Joint(last.end, last.start, last.pause, why="the last word")]


def _anchors(words: Sequence[Word], heard: Levels) -> list[tuple[float, float]]:
    """A moment surely inside each word, first and last: one and the same, but for a passage.

    The middle of a word may be silent, for Whisper stretches words over the pause beside them. What
    sounds first may then be the end of the word before, when that is said to end just there.
    """
    anchors, before = [], -1.0
    for word in words:
        doubt = TAIL_S if word.start - before < NEAR_S else 0.0
        if len(word.text.split()) > 1:
            # A person's text, whole: the pauses between its words are not its ends.
            edge = min(PASSAGE_EDGE_S, (word.end - word.start) / 2)
            first = _sounds_at(heard, word.start, word.start + edge, doubt)
            anchors.append((first, _sounds_at(heard, word.end - edge, word.end)))
        else:
            anchors.append((_sounds_at(heard, word.start, word.end, doubt),) * 2)
        before = word.end
    return anchors


def _sounds_at(heard: Levels, start: float, end: float, doubt: float = 0.0) -> float:
    """The middle of where it sounds longest between two times."""
    begin, stop = sounding(heard, start, end, doubt)
    return (begin + stop) / 2


def _between(
    left: Word,
    right: Word,
    anchors: tuple[float, float],
    settings: CutSettings,
    heard: Levels,
) -> _Joint:
    if right.start - left.end > 2 * REACH_S:
        # Something may sound in so long a gap, a cough or music, that belongs to neither word.
        before = _before(right, anchors[1], settings, heard)
        if unheard := _sound_ends(heard, anchors[0], left.end, anchors[1]):
            place = _quiet_place(heard, *unheard, settings)
            end = _end_edge(left, anchors[0], unheard[0], place, settings)
            return _Joint(end, max(before.start, place), right.start - left.end)
        after = _after(left, anchors[0], right.start - REACH_S, settings, heard)
        return _Joint(after.end, before.start, right.start - left.end)
    begin, stop = _pause(heard, anchors, (left.end, right.start))
    # Noise hides the end of a word: what is a gap for Whisper too is safest.
    both = max(begin, left.end), min(stop, right.start)
    place = _quiet_place(heard, *(both if both[1] - both[0] >= SURE_S else (begin, stop)), settings)
    return _Joint(
        _end_edge(left, anchors[0], begin, place, settings),
        _start_edge(right, anchors[1], stop, place, settings),
        stop - begin,
    )


def _before(word: Word, anchor: float, settings: CutSettings, heard: Levels) -> _Joint:
    low = max(0.0, min(word.start, anchor) - REACH_S)
    begin, stop = _pause(heard, (low, anchor), (low, word.start))
    return _Joint(low, _start_edge(word, anchor, stop, begin, settings), stop - begin)


def _after(word: Word, anchor: float, bound: float, settings: CutSettings, heard: Levels) -> _Joint:
    high = min(bound, max(word.end, anchor) + REACH_S)
    far = min(bound, high + REACH_S)
    begin, stop = _first_pause(heard, (anchor, far), (word.end, far)) or _pause(
        heard, (anchor, high), (word.end, high)
    )
    return _Joint(_end_edge(word, anchor, begin, stop, settings), high, stop - begin)


def _sound_ends(
    heard: Levels, anchor: float, word_end: float, bound: float
) -> tuple[float, float] | None:
    """Find where it gets quiet when it sounds on after a word: words that were not recognised.

    They stay in the clip, where a check tells of them; a cut would go through one of them.
    """
    runs = quiet_runs(heard, anchor, min(bound, word_end + UNHEARD_S))
    pause = next((run for run in runs if run[1] - run[0] >= LEAST_PAUSE_S), None)
    return pause if pause and pause[0] > word_end + REACH_S else None


def _first_pause(
    heard: Levels, anchors: tuple[float, float], gap: tuple[float, float]
) -> tuple[float, float] | None:
    """Find the first silence too long to lie inside a word, for Whisper ends some words too soon."""
    runs = quiet_runs(heard, *anchors)
    return next(
        (run for run in runs if run[1] - run[0] >= DOUBT_S and _likeness(run, gap) >= 0), None
    )


def _pause(
    heard: Levels, anchors: tuple[float, float], gap: tuple[float, float]
) -> tuple[float, float]:
    """Find the silence between two moments: long, and near the gap that the words' times leave.

    The silence inside a word ("t", "k") is short and away from the gap. With no silence at all it
    is empty, at the quietest 10 ms near the gap.
    """
    runs = quiet_runs(heard, *anchors)
    if not runs:
        return gap if gap[0] <= gap[1] else (gap[1], gap[1])
    best = max(runs, key=lambda run: _likeness(run, gap))
    if _likeness(best, gap) >= 0:
        return best
    point = quietest(heard, max(gap[0] - NEAR_S, anchors[0]), min(gap[1] + NEAR_S, anchors[1]))
    return point, point


def _likeness(run: tuple[float, float], gap: tuple[float, float]) -> float:
    """How much a silence looks like the pause between the words, in seconds."""
    length = run[1] - run[0]
    distance = max(run[0] - gap[1], gap[0] - run[1], 0.0)
    return length - distance * DOUBT_S / max(length, 0.001)


def _quiet_place(heard: Levels, begin: float, stop: float, settings: CutSettings) -> float:
    """The quietest 10 ms of a pause, with room for the pads on both sides if there is any."""
    room = min(settings.pad_ms / 1000, (stop - begin) / 3)
    return quietest(heard, begin + room, stop - room)


def _end_edge(
    word: Word, anchor: float, quiet_from: float, place: float, settings: CutSettings
) -> float:
    """Where a clip ends after a word: a pad later, and not far into the silence."""
    padded = max(quiet_from + FADE_S, word.end) + settings.pad_ms / 1000
    kept = min(padded, quiet_from + settings.longest_edge_ms / 1000)
    return max(anchor, min(kept, place))


def _start_edge(
    word: Word, anchor: float, quiet_until: float, place: float, settings: CutSettings
) -> float:
    padded = min(quiet_until, word.start) - settings.pad_ms / 1000
    kept = max(padded, quiet_until - settings.longest_edge_ms / 1000)
    return min(anchor, max(kept, place))


# ---- Which places are good ----


def _judged(
    place: _Joint, text: str, ends_sentence: bool, one_word: bool, settings: CutSettings
) -> _Joint:
    """Say what a cut here would cost, and why one would cut here."""
    pause = place.pause
    hurry = max(0.0, 1 - pause * 1000 / settings.pause_ms)
    must = pause * 1000 > settings.longest_pause_ms
    if must:
        cost, why = 0.0, f"a pause of {pause:.1f} s"
    elif one_word:
        cost, why = _IN_A_WORD, "the limit, inside one written word"
    elif ends_sentence:
        cost, why = _HURRIED_END * hurry, "the end of a sentence"
    elif not hurry:
        cost = (_CLAUSE if ends_clause(text) else _PAUSE) + _SHORTER_PAUSE * (1 - min(pause, 1))
        why = f"a pause of {pause:.2f} s, in a sentence too long for one clip"
    else:
        cost = _NO_PAUSE + _SHORTER_PAUSE * hurry
        why = "the quietest place, in a sentence too long and without a pause"
    return _Joint(place.end, place.start, pause, cost, why, must)


def _divide(joints: Sequence[_Joint], settings: CutSettings) -> list[tuple[int, int]]:
    """Choose the cuts that cost least in all, the lengths of the clips included."""
    if not joints:
        return []
    best, came_from = [0.0], [0]
    for after in range(1, len(joints)):
        cost, first = _best_clip(joints, after, best, settings)
        best.append(cost)
        came_from.append(first)
    return _spans(came_from)


def _best_clip(
    joints: Sequence[_Joint], after: int, best: Sequence[float], settings: CutSettings
) -> tuple[float, int]:
    """Choose the first word of the clip whose last word is before the joint `after`."""
    found = (math.inf, after - 1)
    sentences = 0
    for first in range(after - 1, -1, -1):
        length = joints[after].end - joints[first].start
        if length > settings.max_seconds and first < after - 1:
            break
        cost = best[first] + _length_cost(length, settings)
        cost += _SENTENCE_MORE * max(0, sentences + 1 - settings.sentences)
        found = min(found, (cost, first))
        if joints[first].must:
            break
        sentences += joints[first].cost <= _HURRIED_END
    return found[0] + joints[after].cost, found[1]


def _length_cost(length: float, settings: CutSettings) -> float:
    off = (length - settings.target_seconds) / settings.target_seconds
    short = max(0.0, 1 - length / settings.min_seconds)
    return off * off + _TOO_SHORT * short


def _spans(came_from: Sequence[int]) -> list[tuple[int, int]]:
    spans, after = [], len(came_from) - 1
    while after > 0:
        spans.append((came_from[after], after))
        after = came_from[after]
    return spans[::-1]
