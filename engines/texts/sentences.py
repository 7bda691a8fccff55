"""Where sentences end in a row of words, in every script the engines speak."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engines.texts.abbreviations import ABBREVIATIONS, BEFORE_NUMBERS, MAY_END, ORDINAL_DOTS
from engines.texts.spacing import carries_spaces, glued

# Latin; Chinese and Japanese, full width and half; Hindi; Arabic and Urdu; then Greek, Armenian,
# Ethiopic, Burmese and Khmer, which no engine of ours speaks yet.
_ENDS = "!?…‽⁇⁈⁉。！？｡॥।؟۔\u037e։።፧။។"
_DOTS = ".．"
_ELLIPSIS = re.compile(r"(\.{2,}|…)$")
# “ and « close a quote in German and Danish.
_CLOSERS = "\"'”’“‘»›«‹)]}」』）】》〉〟〞*_"
_OPENERS = "\"'“‘„‚«‹([{「『（【《〈¿¡–—-"
_CLAUSE_ENDS = ",;:，、；：､،؛–—"
_DOTTED = re.compile(r"^[^\W\d_]{1,3}(\.[^\W\d_]{1,3})+$")
_NUMBER = re.compile(r"^(\d+|[IVXLC]+)$")
# Other single letters with a dot are initials.
_WORDS_OF_ONE_LETTER = {"en": "I", "ru": "яЯ", "pt": "éÉ", "it": "èÈ", "fr": "àÀ", "cs": "Ii"}
# What can stand alone after a word. Of « and “ alone nobody can tell which way they look.
_LONE_SIGNS = frozenset(_ENDS + _DOTS + _CLOSERS + _CLAUSE_ENDS) - frozenset("«»“”‘’\"'") | {
    "»",
    "”",
}
# Who writes a page of dots means no more by it than by a line.
_MOST_LONE_SIGNS = 20
# After a closed quote, these go on with the sentence: 「はい」と言った.
_GOES_ON = {"ja": ("と", "って", "、")}


def sentence_ends(texts: Sequence[str], language: str = "") -> list[int]:
    """Find the words that end a sentence; the last word always does."""
    reader = _Reader(texts, language)
    ends, first = [], 0
    for index in range(len(texts)):
        if index == len(texts) - 1 or reader.ends(first, index):
            ends.append(index)
            first = index + 1
    return ends


def ends_clause(text: str) -> bool:
    """Whether a word ends a part of a sentence, where speakers like to breathe."""
    return text.rstrip().rstrip(_CLOSERS)[-1:] in (*_CLAUSE_ENDS, *_ENDS, *_DOTS)


class _Reader:
    """One row of words and what can be known of it as a whole."""

    def __init__(self, texts: Sequence[str], language: str) -> None:
        self.texts = texts
        self.language = language.split("-")[0].lower()
        self.spaced = carries_spaces(texts)
        # Where nothing is ever capital, a small letter is no sign that the sentence goes on.
        self.cased = any(text != text.lower() for text in texts)

    def ends(self, first: int, index: int) -> bool:
        """Whether the sentence that began at `first` ends with the word at `index`."""
        if self.texts[index].rstrip()[-1:].isalnum():  # as most words do, so it comes first
            return False
        following = self.texts[index + 1]
        if _only_signs(following) or glued(self.texts[index], following, self.spaced):
            return False
        text = self._with_lone_signs(first, index)
        word = text.rstrip(_CLOSERS + " ")
        if not word or not self._marked(word) or self._goes_on(text, following):
            return False
        if word[-1] not in _DOTS or _ELLIPSIS.search(word):
            return True
        return self._dot_ends(word[:-1].lstrip(_OPENERS + " "), _opening(following), index == first)

    def _with_lone_signs(self, first: int, index: int) -> str:
        """The word, with the marks after it that came as words of their own."""
        text = self.texts[index].strip()
        stop = max(first, index - _MOST_LONE_SIGNS)
        while index > stop and _only_signs(text):
            index -= 1
            text = self.texts[index].strip() + text
        return text

    def _marked(self, word: str) -> bool:
        greek_question = self.language == "el" and word[-1] == ";"
        return word[-1] in _ENDS or word[-1] in _DOTS or greek_question

    def _goes_on(self, text: str, following: str) -> bool:
        """Whether the next word shows that the sentence is not over: "Why?" he asked."""
        opening = _opening(following)
        if text[-1] in _CLOSERS and following.strip().startswith(_GOES_ON.get(self.language, "\0")):
            return True
        if self.cased and opening[:1].islower() and not _spells_small(opening):
            return True
        # 3.5 and ３．５ in words that bring no spaces.
        return text[-1] in _DOTS and text[-2:-1].isdigit() and self._number_goes_on(following)

    def _number_goes_on(self, following: str) -> bool:
        tight = self.spaced or self.language in ("zh", "ja", "th")
        return tight and following[:1].isdigit()

    def _dot_ends(self, word: str, following: str, is_first: bool) -> bool:
        """Whether the dot after a word ends the sentence, and not only the word."""
        lower = word.lower()
        if lower in BEFORE_NUMBERS.get(self.language, ()) and following[:1].isdigit():
            return False
        if _NUMBER.match(word):
            # "1. First of all" begins a list; "am 3. Mai" and "XIV. Lajos" are ordinals.
            return not (is_first or self._ordinal(word))
        if lower in ABBREVIATIONS.get(self.language, ()):
            return False
        if lower in MAY_END:
            return following[:1].isupper() or not self.cased
        if len(word) == 1 and word.lower() != word.upper():
            return word in _WORDS_OF_ONE_LETTER.get(self.language, "")
        return not _DOTTED.match(word)

    def _ordinal(self, word: str) -> bool:
        return self.language in ORDINAL_DOTS and (len(word) <= 2 or not word.isdigit())


def _opening(following: str) -> str:
    return following.strip().lstrip(_OPENERS + " ")


def _spells_small(word: str) -> bool:
    """Whether a name is written with a small first letter: iPhone, eBay."""
    return any(sign.isupper() for sign in word[1:3])


def _only_signs(text: str) -> bool:
    text = text.strip()
    return bool(text) and all(sign in _LONE_SIGNS for sign in text)


def split_sentences(text: str, language: str = "") -> Iterator[str]:
    """Divide a text written with spaces into its sentences."""
    words = text.split()
    first = 0
    for last in sentence_ends(words, language):
        yield " ".join(words[first : last + 1])
        first = last + 1
