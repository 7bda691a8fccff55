"""How long a text usually takes a voice, learned from sentences that it spoke well."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from statistics import median

from engines.base import Sound
from voices.speaking.voiced import end_drop, levels, span

# About how many syllables a letter is. Letters tell the length of English sentences better than
# its vowels do (5 voices, 40 sentences: 6 % off against 10 %). What is wrong in all of a language is
# put right by the pace itself.
_BY_LETTER = (
    (0x0000, 0x058F, 0.4),  # Latin, Greek, Cyrillic, Armenian
    (0x0590, 0x08FF, 0.5),  # Hebrew and Arabic, which write few vowels
    (0x0900, 0x0DFF, 0.75),  # the scripts of India
    (0x0E00, 0x0EFF, 0.5),  # Thai and Lao
)
_BREATHS = re.compile(r"[,;:…—–、，；：،।.!?](?=.*\w)", re.DOTALL)
_DIGIT, _BREATH = 1.5, 2.0
# Every text costs this beside its syllables: the last one is always drawn out.
_ENDING = 1.5
# Five syllables a second, give or take much: what holds for a voice nobody has heard yet.
_ANY_SYLLABLE_S, _ANY_SPREAD = 0.2, 0.3
_LEAST_SPREAD = 0.08
_ABRUPT_DB, _ANY_ABRUPT_DB, _MOST_ABRUPT_DB, _NEARER_DB = 14.0, 8.0, 4.0, 2.0
# With fewer sentences the spread itself is not known well.
_ENOUGH = 8


@dataclass(frozen=True, slots=True)
class Pace:
    """What is usual: seconds for a syllable, and how far sentences are from it."""

    syllable_s: float = _ANY_SYLLABLE_S
    spread: float = _ANY_SPREAD
    """Of the natural logarithm of how long a sentence takes, as a standard deviation."""
    abrupt_db: float = _ANY_ABRUPT_DB
    """A voice that stops nearer than this to its full strength is cut off."""

    @staticmethod
    def of(pairs: Iterable[tuple[str, Sound]]) -> Pace:
        """Learn from sentences as they were said; from none, what holds for any voice."""
        found = [(text, voiced_seconds(sound), end_drop(levels(sound))) for text, sound in pairs]
        if not found:
            return Pace()
        pace = Pace.of_seconds((text, seconds) for text, seconds, _ in found)
        nearest = min(drop for _, _, drop in found)
        # Some voices always stop short; as one bad sentence may be among them, not without end.
        abrupt = min(_ABRUPT_DB, max(_MOST_ABRUPT_DB, nearest - _NEARER_DB))
        return replace(pace, abrupt_db=abrupt)

    @staticmethod
    def of_seconds(pairs: Iterable[tuple[str, float]]) -> Pace:
        """Learn from how long each text took, from the beginning of the voice to its end."""
        found = [seconds / _size(text) for text, seconds in pairs if seconds > 0]
        if not found:
            return Pace()
        middle = median(found)
        # The median distance tells the spread though some of the sentences were not good at all.
        far = 1.4826 * median(abs(math.log(each / middle)) for each in found)
        share = min(1.0, len(found) / _ENOUGH)
        spread = math.sqrt(share * max(_LEAST_SPREAD, far) ** 2 + (1 - share) * _ANY_SPREAD**2)
        return Pace(middle, spread)

    def seconds(self, text: str) -> float:
        """How long a text takes, from the beginning of the voice to its end."""
        return self.syllable_s * _size(text)


def voiced_seconds(sound: Sound) -> float:
    first, last = span(sound)
    return (last - first) / sound.rate


def syllables(text: str) -> float:
    """About how many syllables a text has, whatever its script."""
    return sum(_of_sign(sign) for sign in unicodedata.normalize("NFC", text) if sign.isalnum())


def _of_sign(sign: str) -> float:
    if sign.isdigit():
        return _DIGIT
    return next((size for low, high, size in _BY_LETTER if low <= ord(sign) <= high), 1.0)


def _size(text: str) -> float:
    return syllables(text) + _ENDING + _BREATH * len(_BREATHS.findall(text))
