"""What espeak-ng writes for American English, sign by sign, and which of pocket's sounds it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engines.pocket.facts import MARKS, STRESSES, VOWELS
from engines.pocket.phones import Rows, number_of

PAD, BEGIN, END = "_", "^", "$"
SPACE = " "
LAST_OF_FRAME = 2
"""Piper's own signs are numbered up to here: fill, begin, end."""

# Of each sound, its spellings; those of two signs are joined before anything else is done.
# Sounds of other languages, which espeak-ng uses in foreign names, are the nearest English ones.
_SPELLINGS = {
    **{"aa": "ɑː ɑ ɒ a", "ae": "æ", "ah": "ʌ", "ao": "ɔː ɔ oː", "aw": "aʊ", "ax": "ə ɐ ɘ"},
    **{"ay": "aɪ", "eh": "ɛ œ", "er": "ɜː ɜ ɚ ɝ ə˞ ø", "ey": "eɪ eː e", "ih": "ɪ ᵻ ɨ"},
    **{"iy": "iː i ɪʲ y", "ow": "oʊ o", "oy": "ɔɪ", "uh": "ʊ", "uw": "uː u ʉ"},
    **{"b": "b", "ch": "tʃ", "d": "d ɖ", "dh": "ð", "f": "f ɸ", "g": "ɡ g ɣ", "hh": "h c\u0327"},
    **{"jh": "dʒ", "k": "k x χ q c", "l": "l ɫ ɭ ɬ ʎ", "m": "m ɱ", "n": "n ɲ ɳ", "ng": "ŋ"},
    # A flap is a t: espeak-ng writes "water" with it and "ladder" with d.
    **{"p": "p", "r": "ɹ r ɻ ʁ ʀ", "s": "s", "sh": "ʃ ɕ ʂ", "t": "t ɾ ʔ ʈ", "th": "θ"},
    **{"v": "v β ʋ", "w": "w ʍ", "y": "j", "z": "z", "zh": "ʒ ʑ ʐ"},
}
# What becomes of two symbols in a row. An r behind er only links it to the next vowel, and CMU's
# dictionary, which taught pocket, does not write it; it writes syllabic consonants with a vowel.
_CHANGES = {
    **{("ɜː", "ɹ"): ("ɜː", PAD), ("ɚ", "ɹ"): ("ɚ", PAD), ("ɹ", "ɹ"): ("ɹ", PAD)},
    **{("n", "\u0329"): ("ə", "n"), ("l", "\u0329"): ("ə", "l"), ("m", "\u0329"): ("ə", "m")},
    # "On" and "want"; elsewhere, as in "off", it is the vowel of "law".
    ("ɔ", "n"): ("ɑ", "n"),
}
_STRESSES = {"ˈ": "primary", "ˌ": "secondary"}
_MARKS = {",": ",", ";": ",", ":": ",", ".": ".", "?": "?", "!": "!"}
# Signs that stand beside sounds and change none of ours; and some that Piper may let through.
_UNHEARD = "ːˑʲʰʷˤ˞\u0303\u0329\u032a\u032f\u0327\u030a\u031d\u033a\u033b'\"()-0123456789"
# These carry no stress where a word has none written; another vowel of it does ("and", "you").
_WEAK = ("ə", "ɐ", "ɘ", "ᵻ", "ɨ", "ɚ", "ɪʲ")


def _joined() -> tuple[str, ...]:
    return tuple(each for row in _SPELLINGS.values() for each in row.split() if len(each) == 2)


def _signs() -> tuple[str, ...]:
    written = {sign for row in _SPELLINGS.values() for sign in row if sign != SPACE}
    others = written.union(_STRESSES, _MARKS, _UNHEARD)
    return (PAD, BEGIN, END, SPACE, *sorted(others))


SIGNS = _signs()
"""By number, as Piper sends them: each a code point."""
SYMBOLS = (*SIGNS, *_joined())
"""By number: signs, then pairs of them that are one sound."""
NUMBER = {symbol: number for number, symbol in enumerate(SYMBOLS)}

_Changes = dict[tuple[str, str], tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Of two symbols in a row, what each becomes; the second is -1 where nothing changes."""

    first: Rows
    second: Rows


def pairs_joined() -> Pairs:
    """Of signs, the symbols."""
    return _pairs({(pair[0], pair[1]): (pair, PAD) for pair in _joined()})


def pairs_changed() -> Pairs:
    """Of symbols, those that pocket has sounds for."""
    return _pairs(_CHANGES)


def _pairs(changes: _Changes) -> Pairs:
    count = len(SYMBOLS)
    first = np.repeat(np.arange(count)[:, None], count, 1)
    second = np.full((count, count), -1)
    for (one, other), (here, there) in changes.items():
        first[NUMBER[one], NUMBER[other]] = NUMBER[here]
        second[NUMBER[one], NUMBER[other]] = NUMBER[there]
    return Pairs(first, second)


def meanings() -> Rows:
    """Of each symbol: phone, whether it is a vowel, and a full one; stress, mark, space. 0: none."""
    found = np.zeros((len(SYMBOLS), 6), np.int64)
    for phone, row in _SPELLINGS.items():
        for symbol in row.split():
            vowel = phone in VOWELS
            found[NUMBER[symbol], :3] = number_of(phone), vowel, vowel and symbol not in _WEAK
    for symbol, stress in _STRESSES.items():
        found[NUMBER[symbol], 3] = STRESSES.index(stress)
    for symbol, mark in _MARKS.items():
        found[NUMBER[symbol], 4] = MARKS.index(mark)
    found[NUMBER[SPACE], 5] = 1
    return found
