"""
Small figures of a sample, each with what it means in words, beside the real recording if there is one.

Where two are called alike, nobody would hear them apart, or one voice differs as much from itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from engines.base import Sound
from voices.comparing.melody import melody, real_numbers
from voices.speaking.loudness import LoudnessMeter
from voices.speaking.pace import syllables, voiced_seconds
from voices.speaking.voiced import heard, levels

# From one sentence to the next a voice's pace differs by 8 % anyway (voices/speaking/pace.py);
# side by side people hear 5 % (Quené, Journal of Phonetics 35, 2007).
_PACE_ALIKE = 0.08
# Five syllables a second, give or take much, is what any voice may have (voices/speaking/pace.py).
_USUAL_PACE, _PACE_SPREAD = 5.0, 0.3
# Under 1.5 semitones few hear that two melodies differ, and under 3 it tells them nothing
# ('t Hart, Journal of the Acoustical Society of America 69, 1981).
_PITCH_ALIKE, _PITCH_NEAR = 1.5, 3.0
_OCTAVE = 12.0
# A decibel is what people hear of two sounds one after the other. -16 LUFS is what files get here.
_LEVEL_ALIKE, _USUAL_LUFS = 1.0, -16.0
# Of the demo recording, which is read calmly, 21 % is silence.
_SILENCE_ALIKE, _MUCH_SILENCE = 0.05, 0.4
# docs/performance.md, `bench pocket`: recordings of one person come to 0.958 and 0.920, voices
# taught with them to 0.948 and 0.875, other people to 0.80 and 0.70.
_SAME_PERSON, _CLOSE, _RELATED = 0.90, 0.85, 0.80
# Of a sentence, a word of twelve is 8 %, and one letter of fifty changes no word much.
_CLEAR, _A_WORD, _SOME_WORDS = 0.02, 0.08, 0.2


@dataclass(frozen=True, slots=True)
class Figure:
    """One number about a sample, and what it means."""

    name: str
    value: float
    unit: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Measured:
    """What is heard in one sound; None for what is not in it."""

    pace: float | None
    """Syllables a second, from the beginning of the voice to its end."""
    pitch: float | None
    """Hertz."""
    range: float | None
    """Semitones that nine tenths of the pitch lie in."""
    lufs: float
    silence: float
    """Share of it in which no voice is heard."""


def measure(sound: Sound, text: str = "") -> Measured:
    """Listen to a sound; its pace is known only with its text, as it is said."""
    found, frames = melody(sound), heard(levels(sound))
    seconds, count = voiced_seconds(sound), syllables(text)
    return Measured(
        count / seconds if seconds and count else None,
        found.hertz if found else None,
        found.semitones if found else None,
        _lufs(sound),
        1 - float(np.mean(frames)) if len(frames) else 1.0,
    )


def figures(
    sample: Measured,
    real: Measured | None = None,
    similarity: float | None = None,
    character_errors: float | None = None,
) -> list[Figure]:
    """Say what each number means; what is not known is left out."""
    found = [_likeness(similarity), _errors(character_errors)]
    found += [_pace(sample, real), _pitch(sample, real), _range(sample, real)]
    found += [_level(sample, real), _silence(sample, real)]
    return [each for each in found if each is not None]


# ---- One by one ----


def _likeness(similarity: float | None) -> Figure | None:
    if similarity is None:
        return None
    words = _first_reached(
        similarity,
        (_SAME_PERSON, "sounds like the same person"),
        (_CLOSE, "sounds very much like the person, not quite the same"),
        (_RELATED, "sounds a little like the person"),
        otherwise="sounds like another person",
    )
    return Figure("Likeness", similarity, "", words)


def _errors(character_errors: float | None) -> Figure | None:
    if character_errors is None:
        return None
    words = _first_reached(
        -character_errors,
        (-_CLEAR, "every word is understood"),
        (-_A_WORD, "a word may be unclear"),
        (-_SOME_WORDS, "several words are unclear"),
        otherwise="hard to understand, or other words than the text",
    )
    return Figure("Misheard", 100 * character_errors, "% of letters", words)


def _pace(sample: Measured, real: Measured | None) -> Figure | None:
    if sample.pace is None:
        return None
    if real and real.pace:
        ratio = sample.pace / real.pace
        much = f"{abs(ratio - 1):.0%} {'faster' if ratio > 1 else 'slower'} than the real recording"
        is_alike = abs(math.log(ratio)) <= _PACE_ALIKE
        words = "as fast as the real recording" if is_alike else much
    else:
        far = math.log(sample.pace / _USUAL_PACE)
        unusual = "faster than most people read" if far > 0 else "slower than most people read"
        words = "as fast as most people read" if abs(far) <= _PACE_SPREAD else unusual
    return Figure("Pace", sample.pace, "syllables/s", words)


def _pitch(sample: Measured, real: Measured | None) -> Figure | None:
    if sample.pitch is None:
        return None
    words = "half of the voice is higher, half lower"
    if real and real.pitch:
        apart = _OCTAVE * math.log2(sample.pitch / real.pitch)
        side = "higher" if apart > 0 else "lower"
        much = f"{abs(apart):.1f} semitones {side} than the real recording"
        words = "as high as the real recording" if abs(apart) <= _PITCH_ALIKE else much
    return Figure("Pitch", sample.pitch, "Hz", words)


def _range(sample: Measured, real: Measured | None) -> Figure | None:
    if sample.range is None:
        return None
    if real and real.range is not None:
        apart = sample.range - real.range
        much = f"{'livelier' if apart > 0 else 'flatter'} than the real recording"
        words = _first_reached(
            abs(apart),
            (_PITCH_NEAR, much),
            (_PITCH_ALIKE, f"a little {much}"),
            otherwise="as lively as the real recording",
        )
    else:
        words = _first_reached(
            sample.range,
            (_OCTAVE, "moves over an octave: very lively"),
            (_PITCH_NEAR, "has a melody"),
            otherwise="hardly moves: sounds flat",
        )
    return Figure("Melody", sample.range, "semitones", words)


def _level(sample: Measured, real: Measured | None) -> Figure:
    than = "the real recording" if real else f"the usual {_USUAL_LUFS:g} LUFS"
    apart = sample.lufs - (real.lufs if real else _USUAL_LUFS)
    much = f"{abs(apart):.1f} dB {'louder' if apart > 0 else 'quieter'} than {than}"
    words = f"as loud as {than}" if abs(apart) <= _LEVEL_ALIKE else much
    return Figure("Loudness", sample.lufs, "LUFS", words)


def _silence(sample: Measured, real: Measured | None) -> Figure:
    value = 100 * sample.silence
    if real:
        apart = sample.silence - real.silence
        side = "more" if apart > 0 else "less"
        words = (
            "pauses as the real recording does"
            if abs(apart) <= _SILENCE_ALIKE
            else f"{side} silence than the real recording"
        )
    else:
        words = "is mostly pauses" if sample.silence > _MUCH_SILENCE else "speaks most of the time"
    return Figure("Silence", value, "%", words)


# ---- Words ----


def _first_reached(value: float, *steps: tuple[float, str], otherwise: str) -> str:
    return next((words for least, words in steps if value >= least), otherwise)


def _lufs(sound: Sound) -> float:
    meter = LoudnessMeter(sound.rate)
    meter.feed(real_numbers(sound.samples))
    return meter.lufs()
