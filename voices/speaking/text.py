"""A text of any length as sentences: as they are written, as they are said, and the pauses after."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from engines.errors import SettingsError
from engines.texts.sentences import sentence_ends
from engines.texts.spacing import DENSE
from voices.speaking.clauses import Piece, cut
from voices.speaking.layout import Unit, units
from voices.speaking.saying import said

LEAST_ROOM = 20
"""No engine says less at once, and a number of one digit needs some of it."""

# Seconds of silence after a mark, as narrators leave them.
_PAUSES = {
    **dict.fromkeys(".．。｡।॥؟۔", 0.45),
    **dict.fromkeys("?!？！‽⁇⁈⁉", 0.5),
    "…": 0.6,
    **dict.fromkeys(";:；：؛", 0.25),
    **dict.fromkeys("—–", 0.2),
    **dict.fromkeys(",，、،", 0.15),
}
_BETWEEN_WORDS = 0.05
_AFTER_SENTENCE = 0.45
_CLOSERS = "\"'”’“‘»›«‹)]}」』）】》〉〟〞*_` "
_ENDS = "".join(sign for sign, pause in _PAUSES.items() if pause >= _AFTER_SENTENCE)
# After these a sentence is over though no space follows; after a dot only between such scripts.
_DENSE_END = re.compile(
    rf"[。！？｡।॥؟۔][。！？｡।॥؟۔…]*[\"'”’»)\]}}」』）】》〉]*|(?<=[{DENSE}])[.!?]+[”’」』）]*(?=[{DENSE}])"
)
_STOPS = {"zh": "。", "ja": "。", "hi": "।"}


@dataclass(frozen=True, slots=True)
class Sentence:
    """What is spoken at once, and the silence after it."""

    text: str
    """As it is written, with the signs beside it that nobody says."""
    spoken: str
    """As it is said: never empty, never longer than the engine takes."""
    pause_after_s: float
    paragraph: int
    """Which paragraph, heading or list item it belongs to, counted from 0."""


def sentences(text: str, language: str, longest: int) -> list[Sentence]:
    """
    Divide a text into what an engine says at once: at most `longest` signs.

    Put together, the texts are the whole text, but for how its words are spaced. A text in which
    there is nothing to say has no sentences.
    """
    return list(read(text, language, longest))


def read(text: str, language: str, longest: int) -> Iterator[Sentence]:
    """Divide a text as `sentences` does, giving each as soon as it is found."""
    if longest < LEAST_ROOM:
        raise SettingsError(
            f"An engine that takes {longest} signs at once cannot speak sentences.",
            f"Give it at least {LEAST_ROOM}.",
        )
    yield from _with_signs(
        each for unit in units(text) for each in _of_unit(unit, language, longest)
    )


def _of_unit(unit: Unit, language: str, longest: int) -> Iterator[Sentence]:
    whole = list(_whole_sentences(unit.text, language))
    for written in whole:
        pieces = list(_pieces(written, language, longest))
        for at, (text, spoken) in enumerate(pieces):
            is_last = at == len(pieces) - 1
            pause = pause_after(text, is_last)
            if is_last and written is whole[-1]:
                pause = max(pause, unit.pause_after_s)
            yield Sentence(text, spoken, pause, unit.paragraph)


def pause_after(text: str, ends_sentence: bool) -> float:
    """How long to be silent after a piece of text, in seconds, by the mark it ends with."""
    bare = text.rstrip(_CLOSERS)
    if bare.endswith("..."):
        return _PAUSES["…"]
    pause = _PAUSES.get(bare[-1:], _BETWEEN_WORDS)
    return max(pause, _AFTER_SENTENCE) if ends_sentence else pause


def _whole_sentences(text: str, language: str) -> Iterator[str]:
    """Divide what has no headings and items in it at the ends of its sentences."""
    if not text.isascii() and _DENSE_END.search(text):
        yield from _dense_sentences(text, language)
        return
    words = text.split()
    first = 0
    for last in sentence_ends(words, language):
        yield " ".join(words[first : last + 1])
        first = last + 1


def _dense_sentences(text: str, language: str) -> Iterator[str]:
    spans = list(_words(text))
    first = 0
    for last in sentence_ends([text[start:end] for start, end in spans], language):
        yield " ".join(text[spans[first][0] : spans[last][1]].split())
        first = last + 1


def _words(text: str) -> Iterator[tuple[int, int]]:
    """Where words are; scripts without spaces have one where a sentence of theirs may end."""
    for match in re.finditer(r"\S+", text):
        start, end = match.span()
        for found in _DENSE_END.finditer(match.group()):
            if match.start() + found.end() < end:
                yield start, match.start() + found.end()
                start = match.start() + found.end()
        yield start, end


def _pieces(written: str, language: str, longest: int) -> Iterator[Piece]:
    """Say a sentence whole where it fits, with a stop at its end where none is written."""
    stop = _STOPS.get(language.split("-")[0].lower(), ".")
    room = longest - len(stop)
    words = said(written, language) if len(written) <= 4 * longest else ""
    if words and len(words) <= room:
        pieces = [(written, words)]
    else:
        pieces = list(cut(written, room, lambda text: said(text, language)))
    yield from pieces[:-1]
    text, words = pieces[-1]
    yield text, words + stop if words and not _ends(words) else words


def _ends(words: str) -> bool:
    return words.rstrip(_CLOSERS)[-1:] in _ENDS


def _with_signs(pieces: Iterable[Sentence]) -> Iterator[Sentence]:
    """Keep signs that nobody says with the sentence they follow; the first ones with the first."""
    held: list[Sentence] = []
    speaks = False
    for piece in pieces:
        if piece.spoken and speaks:
            yield _as_one(held)
            held = []
        speaks = speaks or bool(piece.spoken)
        held.append(piece)
    if speaks:
        yield _as_one(held)


def _as_one(held: Sequence[Sentence]) -> Sentence:
    if len(held) == 1:
        return held[0]
    speaking = next(each for each in held if each.spoken)
    pause = max(each.pause_after_s for each in held)
    return replace(speaking, text=" ".join(each.text for each in held), pause_after_s=pause)
