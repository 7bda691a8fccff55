"""Was a sentence spoken wrongly? Told from its sound and from how long its text usually takes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from engines.base import Sound
from engines.texts.spacing import DENSE
from voices.speaking import loops
from voices.speaking.pace import Pace
from voices.speaking.voiced import FRAME_S, Floats, end_drop, heard, levels

Kind = Literal["cut", "silent", "looped", "babble", "noise", "clipped", "no numbers"]

# How many times the usual spread a sentence may be off before it is too short or too long. A
# voice that is always the same may still be off by a quarter; a short text by a little more.
_SPREADS, _LEAST_OFF = 3.5, 0.25
_SHORT_BY_S, _LONG_BY_S = 0.1, 0.3
_SILENT_SHARE = 0.5
_LONGEST_HOLE_S = 1.5
# Who counts "twenty two" says nearly the same twice. What also takes too long need not be as alike.
_ALIKE, _ALIKE_AND_LONG = 0.94, 0.9
_TAIL_GAP_S, _TAIL_S = 0.3, 0.4
_FLAT, _STEADY_DB = 0.4, 2.5
_LONG_ENOUGH_S = 0.5
_CLIPPED_SHARE = 0.01
# In words, or in signs where no spaces part words.
_TWICE = re.compile(rf"\b(\w.{{0,60}}) \1\b|([{DENSE}]{{2,60}})\2")


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong with a spoken sentence."""

    kind: Kind
    why: str
    """A sentence with what was measured."""
    weight: float
    """How bad it is beside others: of faulty tries the one with the least is kept."""


@dataclass(frozen=True, slots=True)
class _Heard:
    """A sentence and what every check looks at."""

    text: str
    sound: Sound
    levels: Floats
    first: int
    """The first frame of the voice."""
    last: int
    """The frame after its last one."""
    usual: Pace

    @property
    def seconds(self) -> float:
        return (self.last - self.first) * FRAME_S

    @property
    def expected_s(self) -> float:
        return self.usual.seconds(self.text)

    @property
    def off(self) -> float:
        """How far from usual is still good, as a natural logarithm."""
        return max(_LEAST_OFF, _SPREADS * self.usual.spread)


def judge(text: str, sound: Sound, usual: Pace) -> list[Fault]:
    """Say what is wrong with a sentence, by its text as it is said; nothing where all is well."""
    if not np.isfinite(sound.samples).all():
        broken = int(np.count_nonzero(~np.isfinite(sound.samples)))
        return [Fault("no numbers", f"{broken} of its samples are no numbers.", 100)]
    decibels = levels(sound)
    at = np.flatnonzero(heard(decibels))
    if not len(at):
        return [Fault("silent", "Nothing is heard in it.", 50)]
    found = _Heard(text, sound, decibels, int(at[0]), int(at[-1]) + 1, usual)
    return [fault for check in _CHECKS if (fault := check(found)) is not None]


def _silent(found: _Heard) -> Fault | None:
    speaks = int(np.count_nonzero(heard(found.levels))) * FRAME_S
    if speaks < _SILENT_SHARE * found.expected_s * math.exp(-found.usual.spread):
        why = f"A voice is heard for {speaks:.1f} s where the text takes {found.expected_s:.1f} s."
        return Fault("silent", why, 20 * (1 - speaks / found.expected_s))
    hole = _longest_hole(found)
    if hole > _LONGEST_HOLE_S:
        return Fault("silent", f"It is silent for {hole:.1f} s in the middle.", 5 + hole)
    return None


def _longest_hole(found: _Heard) -> float:
    at = np.flatnonzero(heard(found.levels))
    return float(np.diff(at).max(initial=1) - 1) * FRAME_S


def _cut(found: _Heard) -> Fault | None:
    shortest = found.expected_s * math.exp(-found.off) - _SHORT_BY_S
    if found.seconds < shortest:
        why = f"It ends after {found.seconds:.1f} s; the text takes {found.expected_s:.1f} s."
        return Fault("cut", why, 15 * (1 - found.seconds / found.expected_s))
    if end_drop(found.levels) < found.usual.abrupt_db:
        return Fault("cut", "It ends in the middle of a sound.", 6)
    return None


def _looped(found: _Heard) -> Fault | None:
    if _repeats_words(found.text):
        return None
    loop = loops.strongest(found.sound)
    is_long = found.seconds > found.expected_s * math.exp(1.2 * found.usual.spread)
    if loop.alike < (_ALIKE_AND_LONG if is_long else _ALIKE):
        return None
    why = f"From {loop.start_s:.1f} s, {loop.lasts_s:.1f} s of it are said twice."
    return Fault("looped", why, 8 + loop.alike)


def _repeats_words(text: str) -> bool:
    """Whether the text itself says something twice in a row: "no, no", "ha ha ha"."""
    words = " ".join(re.findall(r"\w+", text.lower()))
    return _TWICE.search(words) is not None


def _babble(found: _Heard) -> Fault | None:
    longest = found.expected_s * math.exp(found.off) + _LONG_BY_S
    tail = _after_a_gap(found)
    if found.seconds <= longest and tail < _TAIL_S:
        return None
    why = f"It goes on for {found.seconds:.1f} s; the text takes {found.expected_s:.1f} s."
    return Fault("babble", why, 8 * min(3.0, found.seconds / max(0.1, found.expected_s)))


def _after_a_gap(found: _Heard) -> float:
    """How long a voice speaks on after the text should be over and there was silence."""
    at = np.flatnonzero(heard(found.levels))
    over = found.first + found.expected_s / FRAME_S
    gaps = np.flatnonzero(np.diff(at) * FRAME_S > _TAIL_GAP_S)
    tails = [int(np.count_nonzero(at > at[gap])) for gap in gaps if at[gap + 1] > over]
    return max(tails, default=0) * FRAME_S


def _noise(found: _Heard) -> Fault | None:
    speaking = found.levels[heard(found.levels)]
    if len(speaking) * FRAME_S < _LONG_ENOUGH_S:
        return None
    if float(np.std(speaking)) < _STEADY_DB:
        return Fault("noise", "It is one steady sound, and no speech.", 30)
    if flatness(found.sound) > _FLAT:
        return Fault("noise", "It is noise, and no voice.", 30)
    return None


def flatness(sound: Sound) -> float:
    """How like noise the louder frames are: a vowel is near 0, and white noise above a half."""
    size = round(0.032 * sound.rate)
    frames = sound.samples[: len(sound.samples) // size * size].reshape(-1, size)
    if not len(frames):
        return 0.0
    powers = np.mean(frames**2, axis=1)
    loud = frames[powers >= np.median(powers)] * np.hanning(size)
    lines = np.abs(np.fft.rfft(loud, axis=1)[:, 3:]) ** 2 + 1e-12
    return float(np.median(np.exp(np.mean(np.log(lines), axis=1)) / np.mean(lines, axis=1)))


def _clipped(found: _Heard) -> Fault | None:
    sizes = np.abs(found.sound.samples)
    full = sizes >= 0.995 * sizes.max()
    share = np.count_nonzero(full[1:] & full[:-1]) / len(full)
    if share <= _CLIPPED_SHARE:
        return None
    return Fault("clipped", f"{share:.1%} of it is cut off at full strength.", 5 + share)


_CHECKS: tuple[Callable[[_Heard], Fault | None], ...] = (
    _silent, _cut, _looped, _babble, _noise, _clipped,
)  # fmt: skip
