"""A narrator that stays: it begins each text as if it had said none before, at any pace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from engines.base import Sound
from engines.errors import TextError
from voices.speaking.joining import Said, joined
from voices.speaking.narrator import Narrator, Told
from voices.speaking.stretching import stretched

SPEED = "speed"


class Resident(Narrator):
    """Keeps a voice open from text to text."""

    _rest = 1.0

    def begin(self, seed: int, manners: Mapping[str, float], pace: float) -> None:
        """Be as one that was just opened: what it learned of the last text's pace is forgotten."""
        self._known = []
        own, self._rest = shared(pace, manners, self._voice.manners)
        self._seed, self._manners = seed, own

    def blocks(self, told: Iterator[Told]) -> Iterator[Sound]:
        """What is told as one stream of sound."""
        rest = self._rest
        parts = (
            Said(stretched(each.spoken.sound, rest), each.sentence.pause_after_s / rest)
            for each in told
        )
        said = False
        for block in joined(parts):
            said = True
            yield block
        if not said:
            raise TextError("There is nothing in it that can be said.", "Write it in words.")


def shared(
    pace: float, manners: Mapping[str, float], known: Mapping[str, tuple[float, float, float]]
) -> tuple[dict[str, float], float]:
    """
    Divide a pace between the voice itself, which does it best, and stretching what it said.

    Return the manners with what the voice does of it, and the rest.
    """
    if pace == 1 or SPEED not in known:
        return dict(manners), pace
    low, usual, high = known[SPEED]
    before = manners.get(SPEED, usual)
    own = min(max(before * pace, low), high)
    return {**manners, SPEED: own}, before * pace / own
