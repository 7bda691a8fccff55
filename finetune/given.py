"""Texts that came with recordings, laid over what was heard: their spelling, the recording's times."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from finetune import aligning
from finetune.hearings import Heard, Span
from finetune.recordings import Recording
from finetune.settings import CutSettings
from finetune.texts.align import align
from finetune.texts.matching import match
from finetune.texts.reading import read
from finetune.texts.records import Line, Problem
from finetune.words import Word, put_in_order


@dataclass(frozen=True, slots=True)
class Given:
    """What a person's texts say of one recording."""

    lines: tuple[Line, ...]

    @property
    def source(self) -> str:
        """Which text it is: another text is another source."""
        said = repr([(line.number, line.start, line.end, line.text) for line in self.lines])
        digest = hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        return f"{self.lines[0].file} ({digest})"

    @property
    def whole(self) -> str:
        return " ".join(line.text for line in self.lines)

    @property
    def timed(self) -> bool:
        """Whether the text itself says when each line is spoken."""
        return all(line.start is not None and line.end is not None for line in self.lines)


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of several recordings, by the recordings' ids, and what found no partner."""

    by_recording: dict[str, Given]
    problems: tuple[Problem, ...]


def read_texts(path: Path, recordings: Sequence[Recording], encoding: str | None = None) -> Texts:
    """Read a transcript, or a folder of them, and tell which line belongs to which recording."""
    found = read(path, encoding)
    matched = match(found.lines, [recording.name for recording in recordings])
    ids = {recording.name: recording.id for recording in recordings}
    lines: dict[str, list[Line]] = {}
    for line, name in matched.pairs:
        lines.setdefault(ids[name], []).append(line)
    given = {recording: Given(tuple(each)) for recording, each in lines.items()}
    without = (Problem(0, "It has no text.", name) for name in matched.unused)
    return Texts(given, (*found.problems, *matched.problems, *without))


def needs_words(given: Given, seconds: float, settings: CutSettings) -> bool:
    """Whether only recognised words can tell where its parts are spoken."""
    if given.timed:
        return False
    return len(given.lines) > 1 or seconds > settings.max_seconds


def lay_over(
    given: Given, heard: Heard, seconds: float, settings: CutSettings
) -> tuple[list[Word], tuple[Problem, ...]]:
    """Give a text the times of what was heard; what does not fit is told, line by line."""
    if heard.words and needs_words(given, seconds, settings):
        return _aligned(given, heard, seconds)
    if given.timed:
        return [_timed(line) for line in given.lines], ()
    if not heard.spans:
        return [], (Problem(given.lines[0].number, "Nobody speaks here.", given.lines[0].file),)
    return [Word(given.whole, heard.spans[0][0], heard.spans[-1][1])], ()


def lay_by_sound(
    given: Given,
    path: Path,
    speech: Sequence[Span],
    told: Callable[[float, float], None],
    stop: Callable[[], bool],
) -> tuple[Sequence[Word], tuple[Problem, ...]]:
    """Give an English text the times of its sounds in a working copy, told how far that is."""
    laid = aligning.words_of(path, _numbered(given), speech, told, stop)
    return laid.words, _of_file(given, laid.problems)


def problems_by_sound(
    given: Given, words: Sequence[Word], speech: Sequence[Span]
) -> tuple[Problem, ...]:
    """What did not fit when a text was laid so, to be told once more."""
    return _of_file(given, aligning.problems_of(_numbered(given), words, speech))


def _aligned(given: Given, heard: Heard, seconds: float) -> tuple[list[Word], tuple[Problem, ...]]:
    words = put_in_order(heard.words, seconds)
    laid = align(_numbered(given), words, heard.spans, seconds)
    return [each.word for each in laid.words], _of_file(given, laid.problems)


def _numbered(given: Given) -> list[tuple[int, str]]:
    return [(line.number, line.text) for line in given.lines]


def _of_file(given: Given, problems: Iterable[Problem]) -> tuple[Problem, ...]:
    file = given.lines[0].file
    return tuple(Problem(each.number, each.sentence, file) for each in problems)


def _timed(line: Line) -> Word:
    assert line.start is not None and line.end is not None
    return Word(line.text, line.start, line.end)
