"""Which script a letter belongs to, and which scripts a language is written in."""

from __future__ import annotations

import unicodedata
from collections import Counter
from functools import lru_cache

_DENSE = frozenset(("CJK", "HIRAGANA", "KATAKANA", "HANGUL"))

# By the first word of a letter's Unicode name. What is not listed is written in Latin letters.
_SCRIPTS: dict[str, frozenset[str]] = {
    "ar": frozenset(("ARABIC",)),
    "fa": frozenset(("ARABIC",)),
    "ur": frozenset(("ARABIC",)),
    "bg": frozenset(("CYRILLIC",)),
    "ru": frozenset(("CYRILLIC",)),
    "sr": frozenset(("CYRILLIC", "LATIN")),
    "uk": frozenset(("CYRILLIC",)),
    "el": frozenset(("GREEK",)),
    "he": frozenset(("HEBREW",)),
    "hi": frozenset(("DEVANAGARI",)),
    "mr": frozenset(("DEVANAGARI",)),
    "ja": frozenset(("CJK", "HIRAGANA", "KATAKANA", "IDEOGRAPHIC")),
    "ko": frozenset(("HANGUL", "CJK")),
    "th": frozenset(("THAI",)),
    "zh": frozenset(("CJK", "BOPOMOFO", "IDEOGRAPHIC")),
}
_LATIN = frozenset(("LATIN",))


@lru_cache(maxsize=8192)
def script_of(letter: str) -> str:
    """Name the script of a letter: "LATIN", "CYRILLIC", "CJK"."""
    name = unicodedata.name(letter, "UNKNOWN").removeprefix("FULLWIDTH ").removeprefix("HALFWIDTH ")
    return name.split("-")[0].split()[0]


def says(sign: str) -> bool:
    """Whether a sign stands for a sound: a letter or a digit."""
    return sign.isalnum()


def is_dense(text: str) -> bool:
    """Whether most letters are Chinese, Japanese or Korean, each a syllable or more."""
    letters = [sign for sign in text if sign.isalpha()]
    return sum(script_of(sign) in _DENSE for sign in letters) * 2 > len(letters)


def foreign_letters(text: str, language: str) -> tuple[str, float]:
    """List the letters that the language is not written with, and their share of all letters.

    Latin names in other scripts are everyday (OpenAI, iPhone): they count once four in five letters are.
    """
    letters = [sign for sign in text if sign.isalpha()]
    own = _SCRIPTS.get(language.split("-")[0].lower(), _LATIN)
    strange = Counter(sign for sign in letters if script_of(sign) not in own)
    latin = sum(count for sign, count in strange.items() if script_of(sign) == "LATIN")
    if latin * 5 <= len(letters) * 4:
        strange = Counter({s: n for s, n in strange.items() if script_of(s) != "LATIN"})
    shown = " ".join(sign for sign, _ in strange.most_common(8))
    return shown, strange.total() / max(1, len(letters))
