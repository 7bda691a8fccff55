"""The sentences the tiny Whisper knows: a closed grammar of some 170 words."""

from __future__ import annotations

import re
import zlib
from random import Random

PEOPLE = (
    "the captain",
    "my brother",
    "the old farmer",
    "our teacher",
    "the quiet woman",
    "your friend",
    "the baker",
    "a young doctor",
    "Anna",
    "Oliver",
    "Martha",
    "Dr. Brown",
    "Mr. Hill",
    "Mrs. Reed",
)
DID = (
    "carried",
    "found",
    "painted",
    "sold",
    "opened",
    "cleaned",
    "watched",
    "repaired",
    "bought",
    "moved",
)
THINGS = (
    "seven green boxes",
    "the broken window",
    "a silver key",
    "two heavy books",
    "the wooden boat",
    "some fresh bread",
    "a yellow lamp",
    "the long letter",
    "three small horses",
    "an empty bottle",
)
PLACES = (
    "near the harbor",
    "behind the church",
    "under the bridge",
    "at the market",
    "in the garden",
    "on the mountain",
    "by the station",
    "outside the school",
)
TIMES = (
    "yesterday",
    "last summer",
    "every morning",
    "before dinner",
    "after midnight",
    "on Monday",
)
LANDMARKS = ("bridge", "harbor", "market", "station", "church", "school")
COUNTED = ("birds", "houses", "children", "windows")
DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
TEENS = ("ten", "eleven", "twelve")
TENS = ("twenty", "thirty", "forty", "fifty", "sixty")
LOVELY = ("lovely", "terrible")
SEEN = ("morning", "dinner", "garden", "story")

TITLES = {"Dr.": "Doctor", "Mr.": "Mister", "Mrs.": "Missis"}
"""What a voice is told to say for what a transcript writes."""

# One sentence in eight is never trained on, chosen by its own text: nothing that is measured on
# the others can have been heard.
HELD_OUT_SHARE = 8


def sentence(rng: Random, held_out: bool) -> str:
    """A random sentence from the part that is kept from the training, or from the rest."""
    while True:
        text = _any_sentence(rng)
        if is_held_out(text) == held_out:
            return text


def is_held_out(text: str) -> bool:
    return zlib.crc32(text.encode()) % HELD_OUT_SHARE == 0


def spoken(word: str) -> tuple[list[str], str]:
    """The words a voice says for one written word, and the sign that follows them.

    >>> spoken("3.5?")
    (['three', 'point', 'five'], '?')
    """
    if word in TITLES:
        return [TITLES[word]], ""
    core = word.rstrip(".,?!")
    sign = word[len(core) :]
    if re.fullmatch(r"\d\.\d", core):
        return [DIGITS[int(core[0])], "point", DIGITS[int(core[2])]], sign
    return [core], sign


def surface_words() -> set[str]:
    """Every word as it can be written, for a vocabulary that has them all."""
    phrases = [*PEOPLE, *DID, *THINGS, *PLACES, *TIMES, *LANDMARKS, *COUNTED, *LOVELY, *SEEN]
    phrases += [*DIGITS[1:], *TEENS, *TENS, *"0123456789"]
    phrases += ["who where is was have you seen we counted what a look and yes no miles from"]
    words = {word for phrase in phrases for word in phrase.split()}
    words |= {word[0].upper() + word[1:] for word in words}
    return words


def _any_sentence(rng: Random) -> str:
    kinds = (_statement, _at_a_time, _pair, _count, _distance, _question, _exclamation, _answer)
    kind = rng.choices(kinds, weights=(34, 12, 6, 9, 10, 17, 7, 5))[0]
    text = kind(rng)
    return text[0].upper() + text[1:]


def _statement(rng: Random) -> str:
    return _deed(rng) + _maybe(rng, 0.6, PLACES) + _maybe(rng, 0.5, TIMES) + "."


def _at_a_time(rng: Random) -> str:
    return f"{rng.choice(TIMES)}, {_deed(rng)}{_maybe(rng, 0.4, PLACES)}."


def _pair(rng: Random) -> str:
    return f"{_deed(rng)}, and {_deed(rng)}."


def _count(rng: Random) -> str:
    counted, place = rng.choice(COUNTED), rng.choice(PLACES)
    return f"we counted {_number(rng)} {counted} {place}{_maybe(rng, 0.3, TIMES)}."


def _distance(rng: Random) -> str:
    here, there = rng.sample(LANDMARKS, 2)
    return f"the {here} is {rng.randint(1, 9)}.{rng.randint(0, 9)} miles from the {there}."


def _question(rng: Random) -> str:
    person, place = rng.choice(PEOPLE), rng.choice(PLACES)
    return rng.choice(
        (
            f"who {rng.choice(DID)} {rng.choice(THINGS)} {place}?",
            f"where was {person} {rng.choice(TIMES)}?",
            f"where is {person}?",
            f"have you seen {rng.choice(THINGS)} {place}?",
            f"was {person} {place} {rng.choice(TIMES)}?",
        )
    )


def _exclamation(rng: Random) -> str:
    if rng.random() < 0.3:
        return f"what a {rng.choice(LOVELY)} {rng.choice(SEEN)}!"
    return f"look, {_deed(rng)}!"


def _answer(rng: Random) -> str:
    answer, person = rng.choice(("yes", "no")), rng.choice(PEOPLE)
    return f"{answer}, {person} was {rng.choice(PLACES)}{_maybe(rng, 0.5, TIMES)}."


def _deed(rng: Random) -> str:
    return f"{rng.choice(PEOPLE)} {rng.choice(DID)} {rng.choice(THINGS)}"


def _maybe(rng: Random, chance: float, phrases: tuple[str, ...]) -> str:
    return f" {rng.choice(phrases)}" if rng.random() < chance else ""


def _number(rng: Random) -> str:
    if rng.random() < 0.4:
        return rng.choice(DIGITS[2:] + TEENS)
    tens = rng.choice(TENS)
    return f"{tens} {rng.choice(DIGITS[1:])}" if rng.random() < 0.7 else tens
