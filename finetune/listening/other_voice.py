"""Another voice than the rest: which clips of a project were spoken by somebody else."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from finetune.checks import FEWEST_CLIPS, GOOD, LOOK, MENTION, Finding

Floats = NDArray[np.float32]

# Measured with 60 clips of one voice and 3 of another, 2-8 s long, over all pairs of eight people
# (telephone prompts of 6 languages) and of ten synthetic voices (six are eSpeak with other settings).
# Above 0.17: 100 % of the strangers of the people clean, 98 % at 20 dB of noise, 0.4 % of the own;
# synthetic 90 and 89 %, 0.2 % of the own. Above 0.21: 98 and 88 %, 0.2 % of the own; synthetic 86
# and 86 %, none of the own. Means and spreads of cepstra, without a learned encoder, found 78 % and
# 67 % of the people's strangers at 1 %. Where a third of the recordings are band-limited like a
# telephone, those look like another voice, and only half of the strangers stand out at 1 %.
MAYBE, SURELY = 0.17, 0.21
# A larger share of clips that stand apart is not a guest.
_TWO_VOICES = 0.25
_ROUNDS = 4


def judge(prints: Sequence[Floats]) -> list[Finding]:
    """Compare each clip's voice with the voice most clips have."""
    if len(prints) < FEWEST_CLIPS:
        few = "Too few clips to say whether all are one voice."
        return [Finding("voice", 0.0, few, GOOD) for _ in prints]
    apart = distances(np.asarray(prints, np.float32))
    two = float(np.mean(apart > SURELY)) > _TWO_VOICES
    return [_finding(each, two) for each in apart.tolist()]


def distances(prints: Floats) -> Floats:
    """Measure how far each print lies from the common voice: 0 is the same, 1 is unrelated."""
    centre = _centre(prints)
    apart: Floats = np.clip(1 - prints @ centre, 0, 2).astype(np.float32)
    # What has no voice in it (a print of zeros) is no evidence of another.
    apart[~prints.any(axis=1)] = 0
    return apart


def _centre(prints: Floats) -> Floats:
    """The mean of the nearer half, again and again: a few strangers do not move it."""
    near = prints
    for _ in range(_ROUNDS):
        centre: Floats = near.mean(axis=0)
        centre /= max(float(np.linalg.norm(centre)), 1e-9)
        alike = prints @ centre
        near = prints[alike >= np.median(alike)]
    return centre


def _finding(apart: float, two: bool) -> Finding:
    if apart <= MAYBE:
        return Finding("voice", apart, "The same voice as the rest.", GOOD)
    if two:
        sentence = (
            "There seem to be two voices in these clips; this is the rarer one, or a mixture."
        )
        return Finding("voice", apart, sentence, LOOK)
    if apart > SURELY:
        return Finding("voice", apart, "Probably another voice than the rest.", LOOK)
    return Finding("voice", apart, "It may be another voice than the rest.", MENTION)
