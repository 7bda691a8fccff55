"""The sentences a base learns to speak from, made by a grammar over a wide vocabulary."""

from __future__ import annotations

import re
from functools import cache
from random import Random

from engines.pocket.pretrain.vocabulary import lists

MOST_LETTERS = 90
MOST_WORDS = 16

# What depends on whether the sentence is about him or about her, one choice a sentence.
BY_GENDER = {
    "he": ("he", "she"),
    "him": ("him", "her"),
    "his": ("his", "her"),
    "himself": ("himself", "herself"),
    "name": ("{name_he}", "{name_she}"),
    "relative": ("{relative_he}", "{relative_she}"),
}

SLOT = re.compile(r"\{(\w+)(?:\.(\w+|\*))?\}")
SHARE = re.compile(r"^(\{\w+\}) (\d+)$")

# A letter is not always its sound: "an hour", but "a unit" and "a ewe".
SAID_LIKE_A_VOWEL = re.compile("hour|honest|heir|uni[mn]")
SAID_LIKE_A_CONSONANT = re.compile("u(ni|nanim|s[eu]|ku|ra|to|bi|te)|eu|ewe|one$|once$")

# How often a word is drawn anew when the sentence has it already.
REDRAWS = 4


def sentences(count: int, seed: int) -> list[str]:
    """Distinct English sentences, the same ones for a seed on any machine.

    >>> sentences(2, seed=1) == sentences(2, seed=1)
    True
    """
    rng = Random(seed)
    made: dict[str, None] = {}
    while len(made) < count:
        text = sentence(rng)
        if len(text) <= MOST_LETTERS and len(text.split()) <= MOST_WORDS:
            made[text] = None
    return list(made)


def sentence(rng: Random) -> str:
    """One sentence, as long as it comes."""
    return _written(_Sentence(rng).fill("{sentence}"))


def kinds() -> dict[str, tuple[str, ...]]:
    """The frames of sentences by kind: question, command and so on."""
    return {name[1:-1]: lists()[name[1:-1]] for name in _shares()[0]}


class _Sentence:
    """One sentence in the making: who it is about, and the words it has used."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.gender = rng.randrange(2)
        self.used: set[str] = set()

    def fill(self, frame: str, form: str = "") -> str:
        """The frame with words in its slots; `form` is what `{do.*}` asks for."""

        def drawn(slot: re.Match[str]) -> str:
            name, asked = slot[1], slot[2] or ""
            return self.draw(name, form if asked == "*" else asked)

        return SLOT.sub(drawn, frame)

    def draw(self, name: str, form: str) -> str:
        """A word or a phrase of a list, not one that the sentence has already if that can be."""
        if name in BY_GENDER:
            return self.fill(BY_GENDER[name][self.gender])
        choices = lists().get(f"{name}.{form}" if form else name) or lists()[name]
        for _ in range(REDRAWS):
            choice = self._choose(name, choices)
            if "{" in choice:
                return self.fill(choice, form)
            if choice not in self.used:
                break
        self.used.add(choice)
        return choice

    def _choose(self, name: str, choices: tuple[str, ...]) -> str:
        if name != "sentence":
            return self.rng.choice(choices)
        kinds, shares = _shares()
        return self.rng.choices(kinds, shares)[0]


@cache
def _shares() -> tuple[list[str], list[int]]:
    found = [SHARE.fullmatch(line) for line in lists()["sentence"]]
    known = [match for match in found if match]
    return [match[1] for match in known], [int(match[2]) for match in known]


def _written(text: str) -> str:
    """The text with capitals where sentences begin, and "an" before a vowel."""
    text = re.sub(r"\b([Aa]) (?=(\S+))", _article, text)
    return re.sub(r"(^|[.?!] )([a-z])", lambda m: m[1] + m[2].upper(), text)


def _article(match: re.Match[str]) -> str:
    return f"{match[1]}n " if starts_with_vowel(match[2]) else match[0]


def starts_with_vowel(word: str) -> bool:
    """Whether a word is said with a vowel first, whatever letter it is written with."""
    word = word.lower()
    if SAID_LIKE_A_VOWEL.match(word):
        return True
    return word[0] in "aeiou" and not SAID_LIKE_A_CONSONANT.match(word)
