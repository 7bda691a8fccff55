"""
Lay a script over recognised words: the script gives the spelling, the words give the times.

Nothing is lost on either side. Every word of the script comes back, with times or in a report of
what was not spoken; every word that was heard is behind a word of the script or in a report of
what the script does not have.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise

import numpy as np

from finetune.texts.pairing import Pair, pair
from finetune.texts.records import Problem, excerpt
from finetune.texts.units import Token, Unit, heard_units, tokens_of
from finetune.words import Word, join_words

Span = tuple[float, float]

# A slow reader's time for a letter, until the recording has shown its own.
_USUAL_PACE = 0.065
# A recogniser leaves out a few words in a row now and then; a reader skips whole phrases.
_FEW = 3
_MISHEARD = 8
_ROOM = 0.6
_NOTEWORTHY = 4
_ALIKE = 0.55


@dataclass(frozen=True, slots=True)
class Aligned:
    """A word of the script in its place in the recording."""

    word: Word
    """Spelt as in the script, with the space before it; times as heard."""
    line: int
    heard: bool
    """False when nothing like it was recognised and its times lie between its neighbours."""


@dataclass(frozen=True, slots=True)
class Unspoken:
    """A part of the script that the recording does not have."""

    line: int
    last_line: int
    text: str


@dataclass(frozen=True, slots=True)
class Unscripted:
    """Speech that the script does not have."""

    after_line: int
    """The line it follows, 0 before the first."""
    start: float
    end: float
    text: str


@dataclass(frozen=True, slots=True)
class Doubtful:
    """A longer part of the script in whose place something else was recognised."""

    line: int
    text: str
    heard: str


@dataclass(frozen=True, slots=True)
class Alignment:
    """A script laid over a recording, and everything that did not fit."""

    words: tuple[Aligned, ...]
    unspoken: tuple[Unspoken, ...] = ()
    unscripted: tuple[Unscripted, ...] = ()
    doubtful: tuple[Doubtful, ...] = ()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What did not fit, as sentences in the order of the script."""
        found = [*map(_unspoken_problem, self.unspoken), *map(_doubtful_problem, self.doubtful)]
        found += map(_unscripted_problem, self.unscripted)
        return tuple(sorted(found, key=lambda problem: problem.number))


def align(
    lines: Sequence[tuple[int, str]],
    words: Sequence[Word],
    speech: Sequence[Span] = (),
    seconds: float | None = None,
) -> Alignment:
    """
    Give the words of a numbered script the times of the words that were recognised.

    `words` are in order, as `put_in_order` makes them. With `speech`, the spans in which somebody
    speaks, a pause is not mistaken for words that were missed.
    """
    tokens = list(tokens_of(list(lines)))
    spoken = list(words)
    work = _Work(tokens, spoken, list(speech), seconds)
    work.run()
    return Alignment(
        tuple(work.aligned()),
        tuple(_unspoken_runs(tokens, work.times)),
        tuple(work.unscripted()),
        tuple(work.doubtful),
    )


class _Work:
    """One alignment while it is made: times for the script's pieces, owners for the heard ones."""

    def __init__(
        self, tokens: list[Token], words: list[Word], speech: list[Span], seconds: float | None
    ) -> None:
        self.tokens, self.words, self.speech, self.seconds = tokens, words, speech, seconds
        self.ours = [Unit(text, at) for at, token in enumerate(tokens) for text in token.units]
        self.theirs = list(heard_units(words))
        self.unit_times: list[Span | None] = [None] * len(self.ours)
        self.said_by: list[int | None] = [None] * len(self.theirs)
        self.certain = [False] * len(self.ours)
        self.times: list[Span | None] = []
        self.doubtful: list[Doubtful] = []

    def run(self) -> None:
        pairs = pair([unit.text for unit in self.ours], [unit.text for unit in self.theirs])
        for i, j in pairs:
            self._take(i, j)
        self.pace = self._pace(pairs)
        edges = [(-1, -1), *pairs, (len(self.ours), len(self.theirs))]
        for (i, j), (after, heard_after) in pairwise(edges):
            self._fill((i + 1, after), (j + 1, heard_after))
        self.times = [*_token_times(self.tokens, self.unit_times)]

    def _take(self, i: int, j: int) -> None:
        self.unit_times[i] = (self.theirs[j].start, self.theirs[j].end)
        self.said_by[j] = self.ours[i].owner
        self.certain[i] = True

    def _pace(self, pairs: Sequence[Pair]) -> float:
        """Seconds this speaker takes for a letter."""
        found = [
            (self.theirs[j].end - self.theirs[j].start) / self.ours[i].weight for i, j in pairs
        ]
        positive = [pace for pace in found if pace > 0]
        return statistics.median(positive) if len(positive) >= 10 else _USUAL_PACE

    def _fill(self, ours: Pair, theirs: Pair) -> None:
        """Decide what a stretch without a pair means."""
        script, heard = self.ours[slice(*ours)], self.theirs[slice(*theirs)]
        if script and heard and self._is_same_passage(script, heard):
            self._spread_over_heard(ours, theirs)
        elif script and not heard:
            self._place_between(ours)

    def _is_same_passage(self, script: Sequence[Unit], heard: Sequence[Unit]) -> bool:
        """Whether what was heard is, misheard or written otherwise, what the script says."""
        ours, theirs = "".join(u.text for u in script), "".join(u.text for u in heard)
        lengths = _weight(script) / _weight(heard)
        if any(map(str.isdigit, ours + theirs)) and 0.25 <= lengths <= 4:
            return True
        likeness = SequenceMatcher(None, ours[:400], theirs[:400], autojunk=False).ratio()
        if likeness >= _ALIKE:
            return True
        if len(_owners(script)) <= _FEW and len(_owners(heard)) <= _FEW:
            return True
        fits = 0.5 <= _weight(script) * self.pace / max(_duration(heard), 0.01) <= 2
        return len(_owners(script)) <= _MISHEARD and fits

    def _spread_over_heard(self, ours: Pair, theirs: Pair) -> None:
        """Give a stretch the time of the words in its place, each piece its share of the letters."""
        script, heard = self.ours[slice(*ours)], self.theirs[slice(*theirs)]
        if len(script) == len(heard):
            spans = [(unit.start, unit.end) for unit in heard]
        else:
            spans = _shares(script, heard)
        for i, span in zip(range(*ours), spans, strict=True):
            self.unit_times[i], self.certain[i] = span, True
        for j in range(*theirs):
            self.said_by[j] = script[0].owner
        if len(script) >= _NOTEWORTHY and len(heard) >= _NOTEWORTHY:
            self._doubt(script, heard)

    def _doubt(self, script: Sequence[Unit], heard: Sequence[Unit]) -> None:
        first = self.tokens[script[0].owner]
        text = join_words([self.tokens[at].text for at in _owners(script)])
        instead = join_words([self.words[at].text for at in _owners(heard)])
        self.doubtful.append(Doubtful(first.line, text, instead))

    def _place_between(self, ours: Pair) -> None:
        """Place words that were missed between their neighbours, if they can have been said."""
        script = self.ours[slice(*ours)]
        if not self.theirs:  # nothing was recognised at all, so nothing tells where these are
            return
        need = _weight(script) * self.pace
        left, right = self._room(ours, need)
        room = _speech_within(left, right, self.speech)
        if room >= _ROOM * need or len(_owners(script)) <= _FEW:
            whole = Unit("", 0, left, right)
            for i, span in zip(range(*ours), _shares(script, [whole]), strict=True):
                self.unit_times[i] = span

    def _room(self, ours: Pair, need: float) -> Span:
        """
        The time between the neighbours.

        All of it: where in it the words were is not known, and what no word claims may be cut.
        Before the first and after the last word that was heard it is what the words need.
        """
        before = self.unit_times[ours[0] - 1] if ours[0] else None
        after = self.unit_times[ours[1]] if ours[1] < len(self.ours) else None
        if before is None:
            first = after[0] if after else self.theirs[0].start
            return max(0.0, first - need), first
        if after is None:
            end = before[1] + need
            return before[1], end if self.seconds is None else max(
                before[1], min(end, self.seconds)
            )
        return before[1], max(before[1], after[0])

    def aligned(self) -> Iterator[Aligned]:
        """The script's words that have times, which never run backwards."""
        sure = _owners([unit for unit, sure in zip(self.ours, self.certain, strict=True) if sure])
        heard, chances = set(sure), self._chances()
        bound = 0.0
        for at, (token, span) in enumerate(zip(self.tokens, self.times, strict=True)):
            if span is None:
                continue
            start = max(span[0], bound)
            bound = max(span[1], start)
            word = Word(token.text, start, bound, chances.get(at, 0.0))
            yield Aligned(word, token.line, at in heard)

    def _chances(self) -> dict[int, float]:
        """How sure the recogniser was of what stands behind each word of the script."""
        found: dict[int, list[float]] = {}
        for unit, said in zip(self.theirs, self.said_by, strict=True):
            if said is not None:
                found.setdefault(said, []).append(self.words[unit.owner].probability)
        return {at: statistics.fmean(each) for at, each in found.items()}

    def unscripted(self) -> Iterator[Unscripted]:
        """Runs of heard words behind which the script has nothing."""
        used = {unit.owner for unit, said in zip(self.theirs, self.said_by, strict=True)
                if said is not None}  # fmt: skip
        sounding = {unit.owner for unit in self.theirs}  # the others are signs alone
        lines = self._lines_before()
        run: list[int] = []
        for at in (*sorted(sounding), -1):
            if at >= 0 and at not in used and (not run or lines[at] == lines[run[-1]]):
                run.append(at)
                continue
            if run:
                yield self._unscripted(run, lines[run[0]])
            run = [at] if at >= 0 and at not in used else []

    def _unscripted(self, run: Sequence[int], line: int) -> Unscripted:
        first, last = self.words[run[0]], self.words[run[-1]]
        text = join_words([self.words[at].text for at in run])
        return Unscripted(line, first.start, last.end, text)

    def _lines_before(self) -> dict[int, int]:
        """For each heard word the script's line that was reached before it."""
        found: dict[int, int] = {}
        line = 0
        for unit, said in zip(self.theirs, self.said_by, strict=True):
            line = self.tokens[said].line if said is not None else line
            found.setdefault(unit.owner, line)
        return found


def _token_times(
    tokens: Sequence[Token], unit_times: Sequence[Span | None]
) -> Iterator[Span | None]:
    """A word lasts from its first piece with a time to its last."""
    at = 0
    for token in tokens:
        spans = [span for span in unit_times[at : at + len(token.units)] if span]
        at += len(token.units)
        yield (spans[0][0], spans[-1][1]) if spans else None


def _shares(script: Sequence[Unit], heard: Sequence[Unit]) -> list[Span]:
    """Lay pieces over spans by their letters; a pause between two spans is no one's."""
    marks, times = [], []
    at, whole = 0.0, _weight(heard)
    for unit in heard:
        share = (unit.weight or 1) / whole
        # A hair apart, so that the end of one and the start of the next are two points.
        marks += [at + 1e-9, at + share - 1e-9]
        times += [unit.start, unit.end]
        at += share
    edges = np.concatenate(([0.0], np.cumsum([unit.weight for unit in script]))) / _weight(script)
    starts = np.interp(edges[:-1] + 2e-9, marks, times)
    ends = np.interp(edges[1:] - 2e-9, marks, times)
    return [(float(start), float(end)) for start, end in zip(starts, ends, strict=True)]


def _weight(units: Sequence[Unit]) -> float:
    return sum(unit.weight for unit in units) or 1.0


def _duration(units: Sequence[Unit]) -> float:
    return units[-1].end - units[0].start


def _owners(units: Sequence[Unit]) -> list[int]:
    return list(dict.fromkeys(unit.owner for unit in units))


def _speech_within(left: float, right: float, speech: Sequence[Span]) -> float:
    if not speech:
        return right - left
    return sum(max(0.0, min(right, end) - max(left, start)) for start, end in speech)


def _unspoken_runs(tokens: Sequence[Token], times: Sequence[Span | None]) -> Iterator[Unspoken]:
    run: list[Token] = []
    for token, span in zip(tokens, times, strict=True):
        if span is None:
            run.append(token)
        elif run:
            yield _unspoken(run)
            run = []
    if run:
        yield _unspoken(run)


def _unspoken(run: Sequence[Token]) -> Unspoken:
    return Unspoken(run[0].line, run[-1].line, join_words([token.text for token in run]))


def _unspoken_problem(part: Unspoken) -> Problem:
    lines = f"to line {part.last_line} " if part.last_line != part.line else ""
    return Problem(part.line, f"From here {lines}it was not spoken: {excerpt(part.text)}.")


def _doubtful_problem(part: Doubtful) -> Problem:
    return Problem(
        part.line, f"{excerpt(part.text)} was recognised as {excerpt(part.heard)}: listen to it."
    )


def _unscripted_problem(part: Unscripted) -> Problem:
    sentence = (
        f"After this line, at {part.start:.1f} s, {excerpt(part.text)} is spoken,"
        " which the script does not have."
    )
    return Problem(part.after_line, sentence)
