"""
Sentences joined to one stream of sound: known silences between them, and no click.

Only one sentence is in memory at a time, and its sound is given on before the next one is asked
for: a listener hears the first while the second is being spoken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from engines.base import Sound
from engines.errors import AudioError
from voices.speaking.voiced import Floats, span

BLOCK_S = 1.0
"""The longest block of silence."""
# What is kept around the voice, where breath begins and dies away; with less there, silence fills.
BEFORE_S, AFTER_S = 0.03, 0.06
# Long enough that a fade changes less from sample to sample than speech does, and too short to hear.
_FADE_S = 0.01


@dataclass(frozen=True, slots=True)
class Said:
    """A spoken piece and how long to be silent after it."""

    sound: Sound
    pause_after_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Timed:
    """A spoken piece and when it begins, in seconds from the start."""

    sound: Sound
    at_s: float


def joined(parts: Iterable[Said]) -> Iterator[Sound]:
    """
    Join sentences to blocks of sound, the pause being from the end of a voice to the next voice.

    Raise AudioError for a sentence with another sample rate than the first.
    """
    rate, pause, number = 0, 0.0, 0
    for part in parts:
        number += 1  # noqa: SIM113  # enumerate would hold on to the part it gave last
        rate = _one_rate(rate, part.sound.rate, number)
        if number > 1:
            yield from silence(max(0.0, pause - BEFORE_S - AFTER_S), rate)
        yield Sound(bounded(part.sound), rate)
        pause = part.pause_after_s
        del part  # else it is still there while the next one is spoken


def at_times(parts: Iterable[Timed]) -> Iterator[Sound]:
    """Lay sounds where they belong in time; one that comes before its neighbour's end waits."""
    rate, at, number = 0, 0, 0
    for part in parts:
        number += 1  # noqa: SIM113  # as above
        rate = _one_rate(rate, part.sound.rate, number)
        wait = round(max(0.0, part.at_s - BEFORE_S) * rate) - at
        yield from _zeros(max(0, wait), rate)
        samples = bounded(part.sound)
        at += max(0, wait) + len(samples)
        yield Sound(samples, rate)
        del part, samples


def bounded(sound: Sound) -> Floats:
    """Cut the silence at both ends to a known length, and let both begin and end at nothing."""
    first, last = span(sound)
    if first == last:
        return np.zeros(0, np.float32)
    before, after = round(BEFORE_S * sound.rate), round(AFTER_S * sound.rate)
    kept = sound.samples[max(0, first - before) : last + after]
    kept = np.nan_to_num(kept, nan=0.0, posinf=0.0, neginf=0.0).astype(np.float32)
    lacks = max(0, before - first), max(0, last + after - len(sound.samples))
    return np.pad(_faded(kept, sound.rate), lacks)


def _faded(samples: Floats, rate: int) -> Floats:
    """Let a sound come and go within a hundredth of a second."""
    count = min(round(_FADE_S * rate), len(samples) // 2)
    slope = (0.5 - 0.5 * np.cos(np.pi * np.arange(count) / max(1, count))).astype(np.float32)
    faded = samples.copy()
    faded[:count] *= slope
    faded[len(faded) - count :] *= slope[::-1]
    return faded


def silence(seconds: float, rate: int) -> Iterator[Sound]:
    """Give blocks without sound, none of them long."""
    yield from _zeros(round(seconds * rate), rate)


def _zeros(count: int, rate: int) -> Iterator[Sound]:
    longest = round(BLOCK_S * rate)
    while count > 0:
        yield Sound(np.zeros(min(count, longest), np.float32), rate)
        count -= longest


def _one_rate(rate: int, found: int, number: int) -> int:
    if rate and found != rate:
        raise AudioError(
            f"Part {number} has {found} samples a second and those before it have {rate}.",
            "Speak all of it with voices of one engine, or each into a file of its own.",
        )
    return found
