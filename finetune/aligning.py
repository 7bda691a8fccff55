"""
When each word of a known English text is spoken: with the aligner that ships, and no Whisper.

Only where somebody speaks is it listened to, laid end to end: pauses and music cost nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import engines
from engines.base import Sound
from engines.errors import TextError
from engines.pocket import align, weights
from engines.pocket.facts import HOP, RATE, WEIGHTS
from engines.pocket.phones import FIRST, sounds_of
from engines.pocket.pronouncing import lookup
from engines.pocket.sound import Floats, at_rate, levelled, mels, whole_frames
from finetune.following import Ints, follow, runs, track_of
from finetune.jobs.worker import StopWork
from finetune.media import reading
from finetune.texts.pairing import pair
from finetune.texts.records import Problem, excerpt
from finetune.words import Word, join_words
from voices import shipped

SOURCE = "Pocket's aligner"

Lines = Sequence[tuple[int, str]]
"""The lines of a text, each with its number."""
Span = tuple[float, float]
Times = NDArray[np.float64]
Told = Callable[[float, float], None]
"""Gets what is done and what there is to do, in seconds of speech."""

# Voice detection cuts off weak beginnings and ends.
_WIDER_S = 0.25
_LONGEST_GAP_S = 1.0
"""Inside of a word."""
_AT_ONCE = 1250
"""Frames that are heard together, about: what is usual is told from them."""
_AROUND = 16
_FRAME_S = HOP / RATE
# The share of words in the dictionary: 0.96 and more in English, 0.5 to 0.8 in French, German,
# Spanish, Italian and Dutch.
_ENGLISH_SHARE = 0.85
# How far (in logarithms) the sounds of a right word are from the likeliest of each frame: 0.7 on
# average with a voice that it was not taught, about 1 with a person; with a wrong word 5.
_SURENESS, _EVEN_LACK = 2.5, 2.25
_DOUBTED = 0.4
_NOTEWORTHY_WORDS = 3
_NOTEWORTHY_SECONDS = 1.5


@dataclass(frozen=True, slots=True)
class Laid:
    """A text laid over a recording: its words in order, and what did not fit."""

    words: tuple[Word, ...]
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Frames:
    """What was heard, frame by frame, and when."""

    heard: Floats
    times: Times
    """When each frame begins, in seconds from the start of the recording."""


def words_of(
    path: Path,
    lines: Lines,
    speech: Sequence[Span],
    told: Told = lambda done, total: None,
    stop: Callable[[], bool] = lambda: False,
) -> Laid:
    """
    Lay a text over a working copy, given where somebody speaks in it; told and stopped on its way.

    Words that are not spoken have no place and are told of, as is speech that is not in the text.
    """
    tokens = tokens_of(lines)
    refusal = _refusal(lines, tokens, speech)
    if refusal:
        return Laid((), (refusal,))
    where = _widened(speech, reading.seconds(path))
    total = 2 * sum(end - start for start, end in where)

    def at(done: float) -> None:
        if stop():
            raise StopWork("Stopped. What was done is kept, and is not done again.")
        told(done, total)

    heard = _listen(path, where, at)
    words = _placed(tokens, heard, lambda frame: at(total / 2 + frame * _FRAME_S))
    told(total, total)
    if len(words) < len(tokens) / 2 and not reads_as_english(_whole(lines)):
        return Laid((), (_foreign(lines),))
    return Laid(tuple(words), problems_of(lines, words, speech))


def word_times(samples: Floats, rate: int, text: str) -> list[Word]:
    """Tell when each word of a short take is spoken; a word that is not spoken is not there."""
    tokens = tokens_of([(1, text)])
    if not tokens:
        raise _nothing_to_say(text)
    return _placed(tokens, hear_take(samples, rate), _ignore)


def reads_as_english(text: str) -> bool:
    """Whether nearly all of its words are in the English dictionary."""
    found = re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)*", text.lower())
    known = sum(bool(lookup(word.replace("’", "'"))) for word in found)
    return known >= _ENGLISH_SHARE * max(len(found), 1)


def _ignore(done: float) -> None:
    """Nobody waits for this one."""


@cache
def _net() -> weights.Net:
    folder = shipped.base("pocket", "english")
    engines.find("pocket").base_in(folder)  # raises, in words, where a copy of Timbre is not whole
    return weights.net_of(weights.read(folder / WEIGHTS), "aligner")


# ---- The text ----


@dataclass(frozen=True, slots=True)
class Token:
    """A word as it is written, with what stands beside it and is not spoken."""

    text: str
    """With the space before it."""
    line: int
    sounds: tuple[Ints, ...]
    """Of each spoken word."""


def tokens_of(lines: Lines) -> list[Token]:
    """Read a text word by word; a line of which nothing is spoken stays with the word before."""
    found: list[Token] = []
    waiting = ""
    for number, line in lines:
        tokens = [*_of_line(number, line)]
        if tokens:
            tokens[0] = _with_text(tokens[0], waiting + tokens[0].text)
            waiting = ""
        elif found and line.strip():
            found[-1] = _with_text(found[-1], f"{found[-1].text} {line.strip()}")
        elif line.strip():
            waiting += f" {line.strip()}"
        found += tokens
    return found


def _with_text(token: Token, text: str) -> Token:
    return Token(text, token.line, token.sounds)


def _of_line(number: int, line: str) -> Iterator[Token]:
    line = f" {line.strip()}"
    try:
        text = sounds_of(line, pauses_between_words=True)
    except TextError:
        return
    # What is not spoken stays with the word before it, the space before a word with that word.
    cuts = [len(line[: each.start].rstrip()) for each in text.written]
    cuts = [0, *cuts[1:], len(line)]
    for place, (first, last) in enumerate(text.words):
        yield Token(line[cuts[place] : cuts[place + 1]], number, _spoken(text.rows[first:last]))


def _spoken(rows: Ints) -> tuple[Ints, ...]:
    begins = np.flatnonzero(rows[:, 2] & FIRST)
    return tuple(np.split(rows[:, 0], begins[1:]))


def _refusal(lines: Lines, tokens: Sequence[Token], speech: Sequence[Span]) -> Problem | None:
    """Why a text cannot be laid over a recording at all."""
    number = lines[0][0]
    if not speech:
        return Problem(number, "Nobody speaks here.")
    if not tokens:
        return Problem(number, str(_nothing_to_say(_whole(lines))))
    return None


def _foreign(lines: Lines) -> Problem:
    return Problem(
        lines[0][0],
        f"{excerpt(_whole(lines))} does not read as English, and without a Whisper only English can"
        " be laid over a recording: name a Whisper, or bring a text with times (.srt, .vtt).",
    )


def _whole(lines: Lines) -> str:
    return " ".join(line for _, line in lines)


def _nothing_to_say(text: str) -> TextError:
    return TextError(
        f"There is nothing in {excerpt(text)} that can be spoken.", "Write words in English."
    )


# ---- What is heard ----


@dataclass(frozen=True, slots=True)
class _Part:
    """Some frames that follow each other, and those beside them, so that no edge shows."""

    begin: float
    """When the first of all frames begins."""
    before: int
    count: int
    """How many frames it has, beside those around it."""
    end: float


def _widened(speech: Sequence[Span], seconds: float) -> list[Span]:
    found: list[Span] = []
    for start, end in sorted(speech):
        start, end = max(0.0, start - _WIDER_S), min(seconds, end + _WIDER_S)
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _listen(path: Path, where: Sequence[Span], at: Callable[[float], None]) -> Frames:
    """Hear all spans, some at once: memory holds 20 s of sound, and what was heard of all."""
    heard: list[Floats] = []
    times: list[Times] = []
    done = 0
    for parts in _batches([*_parts(where)]):
        found = _hear(path, parts)
        heard += found
        times += [_times(part.begin, part.before, part.count) for part in parts]
        done += sum(part.count for part in parts)
        at(done * _FRAME_S)
    if not heard:
        return Frames(np.zeros((0, 1), np.float32), np.zeros(0, np.float64))
    return Frames(np.concatenate(heard), np.concatenate(times))


def _times(begin: float, first: int, count: int) -> Times:
    return begin + np.arange(first, first + count, dtype=np.float64) * _FRAME_S


def _parts(where: Sequence[Span]) -> Iterator[_Part]:
    for start, end in where:
        frames = int((end - start) / _FRAME_S)
        for first in range(0, frames, _AT_ONCE):
            count = min(_AT_ONCE, frames - first)
            before = min(_AROUND, int(start / _FRAME_S) + first)
            begin = start + (first - before) * _FRAME_S
            yield _Part(begin, before, count, begin + (before + count + _AROUND) * _FRAME_S)


def _batches(parts: Sequence[_Part]) -> Iterator[list[_Part]]:
    """Deal parts out so that each batch has about as many frames as the others."""
    total = sum(part.count for part in parts)
    count = max(1, round(total / _AT_ONCE))
    batch: list[_Part] = []
    done = given = 0
    for part in parts:
        batch.append(part)
        done += part.count
        if done >= total * (given + 1) / count:
            yield batch
            batch, given = [], int(done * count / total)
    if batch:
        yield batch


def _hear(path: Path, parts: Sequence[_Part]) -> list[Floats]:
    sounds = [reading.read(path, part.begin, part.end, RATE).samples for part in parts]
    level = levelled(np.concatenate(sounds))
    edges = np.cumsum([len(each) for each in sounds])[:-1]
    bands = [mels(each) for each in np.split(level, edges)]
    heard = align.listen(np.concatenate(bands), _net())
    ends = np.cumsum([len(each) for each in bands])[:-1]
    return [
        each[part.before : part.before + part.count]
        for part, each in zip(parts, np.split(heard, ends), strict=True)
    ]


def hear_take(samples: Floats, rate: int) -> Frames:
    """Hear a short take, whole."""
    bands = mels(whole_frames(levelled(at_rate(Sound(samples, rate)))))
    heard = align.listen(bands, _net()) if len(bands) else bands
    return Frames(heard, _times(0.0, 0, len(heard)))


# ---- Words in their places ----


def _placed(tokens: Sequence[Token], frames: Frames, told: Callable[[float], None]) -> list[Word]:
    """Find the words that are spoken, with their times."""
    if not len(frames.heard):
        return []
    track = track_of([token.sounds for token in tokens])
    states = follow(frames.heard, track, told)
    lacks = frames.heard[:, 1:].max(1) - _own(frames.heard, track.sounds[states])
    found = []
    for number, first, last in runs(track.words[states]):
        chance = _chance(lacks[first:last])
        first, last = _on_one_side(frames.times, first, last)
        start, end = float(frames.times[first]), float(frames.times[last - 1]) + _FRAME_S
        found.append(Word(tokens[number].text, start, end, chance))
    return found


def _own(heard: Floats, sounds: Ints) -> Floats:
    own: Floats = heard[np.arange(len(heard)), sounds]
    return own


def _chance(lacks: Floats) -> float:
    """How likely it is that a word is spoken here, by how far its sounds are from the likeliest."""
    return 1 / (1 + math.exp(_SURENESS * (float(lacks.mean()) - _EVEN_LACK)))


def _on_one_side(times: Times, first: int, last: int) -> tuple[int, int]:
    """Let no word reach over a long gap: it is where more of it is."""
    gaps = np.flatnonzero(np.diff(times[first:last]) > _LONGEST_GAP_S + _FRAME_S)
    if not len(gaps):
        return first, last
    edges = [first, *(first + int(gap) + 1 for gap in gaps), last]
    sides = [*pairwise(edges)]
    return max(sides, key=lambda side: side[1] - side[0])


# ---- What did not fit ----


def problems_of(lines: Lines, words: Sequence[Word], speech: Sequence[Span]) -> tuple[Problem, ...]:
    """What of a text is not spoken, what is doubtful, and what is spoken beside it."""
    tokens = tokens_of(lines)
    partner = dict(pair([token.text for token in tokens], [word.text for word in words]))
    found = [*_unspoken(tokens, partner)]
    line_of = {at: tokens[token].line for token, at in partner.items()}
    found += _doubtful(words, line_of)
    found += _unscripted(words, line_of, speech)
    return tuple(sorted(found, key=lambda problem: problem.number))


def _unspoken(tokens: Sequence[Token], partner: dict[int, int]) -> Iterator[Problem]:
    for run in _runs_where([at not in partner for at in range(len(tokens))]):
        first, last = tokens[run[0]], tokens[run[-1]]
        lines = f"to line {last.line} " if last.line != first.line else ""
        text = join_words([tokens[at].text for at in run])
        yield Problem(first.line, f"From here {lines}it is not spoken: {excerpt(text)}.")


def _doubtful(words: Sequence[Word], line_of: dict[int, int]) -> Iterator[Problem]:
    for run in _runs_where([word.probability < _DOUBTED for word in words]):
        if len(run) >= _NOTEWORTHY_WORDS:
            text = join_words([words[at].text for at in run])
            yield Problem(
                line_of.get(run[0], 0),
                f"{excerpt(text)}, at {words[run[0]].start:.1f} s, is probably not what is spoken"
                " there: listen to it.",
            )


def _unscripted(
    words: Sequence[Word], line_of: dict[int, int], speech: Sequence[Span]
) -> Iterator[Problem]:
    """Tell of speech between two words, or at an end, that is long enough for a few words."""
    end = 0.0
    for at in range(len(words) + 1):
        start = words[at].start if at < len(words) else math.inf
        spoken = [(max(a, end), min(b, start)) for a, b in speech if min(b, start) > max(a, end)]
        if sum(b - a for a, b in spoken) >= _NOTEWORTHY_SECONDS:
            yield Problem(
                line_of.get(at - 1, 0),
                f"After this line, from {spoken[0][0]:.1f} to {spoken[-1][1]:.1f} s, something is"
                " spoken that the text does not have.",
            )
        end = words[at].end if at < len(words) else end


def _runs_where(chosen: Sequence[bool]) -> Iterator[list[int]]:
    run: list[int] = []
    for at, each in enumerate([*chosen, False]):
        if each:
            run.append(at)
        elif run:
            yield run
            run = []
