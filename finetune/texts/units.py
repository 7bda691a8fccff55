"""Words as they are compared: the pieces of a text that sound, without case, signs and accents."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from engines.texts.spacing import unspaced
from finetune.words import Word

# A digit is read out as about so many letters: "1984" is "nineteen eighty-four".
_LETTERS_IN_A_DIGIT = 6


@dataclass(frozen=True, slots=True)
class Token:
    """A word of the script as it is written, with the space before it and its own punctuation."""

    text: str
    line: int
    units: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of a word that can be compared, of the token or heard word it belongs to."""

    text: str
    owner: int
    start: float = 0.0
    end: float = 0.0

    @property
    def weight(self) -> float:
        """About how long it takes to say, in letters."""
        digits = sum(sign.isdigit() for sign in self.text)
        # A syllable of Chinese or Korean is one sign and takes as long as three letters.
        wide = sum(unspaced(sign) or "\uac00" <= sign <= "\ud7a3" for sign in self.text)
        return len(self.text) + digits * (_LETTERS_IN_A_DIGIT - 1) + wide * 2


@lru_cache(maxsize=65536)
def units_of(text: str) -> tuple[str, ...]:
    """
    The pieces of a text that sound.

    Hyphens part them, so that "well-known" meets "well known"; apostrophes do not. Chinese,
    Japanese and Thai come sign by sign, for their words are cut differently by every program.
    """
    folded = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text).casefold())
    # Accents of Latin, Greek and Cyrillic only: in Hindi such marks are vowels.
    bare = "".join(sign for sign in folded if not "\u0300" <= sign <= "\u036f")
    return tuple(_pieces(unicodedata.normalize("NFC", bare)))


def tokens_of(lines: list[tuple[int, str]]) -> Iterator[Token]:
    """The words of a script; a sign that stands alone stays with the word before it."""
    waiting: list[str] = []
    last: Token | None = None
    for number, line in lines:
        for written in _written(line):
            found = units_of(written)
            if found:
                if last:
                    yield last
                last = Token("".join(waiting) + written, number, found)
                waiting = []
            elif last and last.line == number:
                last = Token(last.text + written, number, last.units)
            else:
                waiting.append(written)
    if last:
        yield Token(last.text + "".join(waiting), last.line, last.units)


def heard_units(words: list[Word]) -> Iterator[Unit]:
    """The pieces of recognised words, each with its share of the word's time."""
    for owner, word in enumerate(words):
        pieces = [Unit(text, owner) for text in units_of(word.text)]
        whole = sum(piece.weight for piece in pieces)
        at = word.start
        for index, piece in enumerate(pieces):
            last = index == len(pieces) - 1
            end = word.end if last else at + (word.end - word.start) * piece.weight / whole
            yield Unit(piece.text, owner, at, end)
            at = end


def _written(line: str) -> Iterator[str]:
    """Part a line into words with the space before them; signs without spaces one by one."""
    for number, run in enumerate(re.findall(r"\s*\S+", line)):
        # Lines follow each other as words do, with a space where the script has them.
        spaced = run if number or unspaced(run.lstrip()[0]) else " " + run.lstrip()
        begun, sounds = "", False
        for sign in spaced:
            letter = unicodedata.category(sign)[0] in "LN"
            if letter and sounds and (unspaced(sign) or unspaced(begun[-1])):
                yield begun
                begun = ""
            sounds = sounds or letter
            begun += sign
        yield begun


def _pieces(text: str) -> Iterator[str]:
    begun = ""
    for sign in text:
        kind = unicodedata.category(sign)[0]
        if kind not in "LNM":
            if sign not in "'’ʼ`":
                yield from filter(None, [begun])
                begun = ""
            continue
        if begun and kind != "M" and (unspaced(sign) or unspaced(begun[-1])):
            yield begun
            begun = ""
        begun += sign
    if begun:
        yield begun
