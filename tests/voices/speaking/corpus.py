"""Sentences spoken well and wrongly, hundreds of each, made from the speech kept with the tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import soxr

from engines.base import Sound
from tests.speech import RATE, bundled, pink_noise
from voices.speaking.pace import Pace
from voices.speaking.saying import said

GOOD = 200
BAD = 200
KINDS = ("cut", "silent", "looped", "babble")


@dataclass(frozen=True)
class Case:
    """A sentence as somebody said it, and what is wrong with it; "" where nothing is."""

    text: str
    voice: str
    sound: Sound
    wrong: str = ""


@cache
def bundle() -> list[Case]:
    """The forty sentences kept with the tests: five voices, eight of each."""
    return [
        Case(said(each.text, "en"), each.voice, Sound(each.samples, RATE)) for each in bundled()
    ]


@cache
def paces() -> dict[str, Pace]:
    """What is usual for each voice, learned from its own sentences."""
    voices = {case.voice for case in bundle()}
    return {
        voice: Pace.of((case.text, case.sound) for case in bundle() if case.voice == voice)
        for voice in voices
    }


@cache
def good() -> list[Case]:
    """Sentences alone and in pairs, each time a little quicker or slower, louder, noisier."""
    rng = np.random.default_rng(1)
    plain = [*bundle(), *pairs(rng, 60)]
    return [varied(plain[at % len(plain)], rng) for at in range(GOOD)]


@cache
def bad() -> list[Case]:
    """Other sentences, each spoilt in one of the ways in which models go wrong."""
    return made(every_way(), BAD, 2)


def every_way() -> list[str]:
    """All ways in which models go wrong, as often as `bad` has them."""
    return [way for kind in KINDS for way in _ways(kind)]


def _ways(kind: str) -> list[str]:
    """All ways of a kind, so often that each kind comes as often as the others."""
    ways = [way for way in WAYS if way.split(":")[0] == kind]
    return ways * (2 // len(ways))


def made(ways: list[str], count: int, seed: int) -> list[Case]:
    """Spoil sentences in each of the ways in turn."""
    rng = np.random.default_rng(seed)
    plain = [*bundle(), *pairs(rng, 60)]
    return [
        spoilt(varied(plain[rng.integers(len(plain))], rng), ways[at % len(ways)], rng)
        for at in range(count)
    ]


def pairs(rng: np.random.Generator, count: int) -> list[Case]:
    """Two sentences of one voice with a breath between them, as one long sentence."""
    found = []
    for _ in range(count):
        first = bundle()[rng.integers(len(bundle()))]
        same = [case for case in bundle() if case.voice == first.voice and case is not first]
        second = same[rng.integers(len(same))]
        breath = np.zeros(round(rng.uniform(0.05, 0.3) * RATE), np.float32)
        samples = np.concatenate((first.sound.samples, breath, second.sound.samples))
        text = f"{first.text.rstrip('.!?')}, {second.text}"
        found.append(Case(text, first.voice, Sound(samples, RATE)))
    return found


def varied(case: Case, rng: np.random.Generator) -> Case:
    """As the same voice might say it another time."""
    pace = rng.uniform(0.92, 1.08)
    samples = soxr.resample(case.sound.samples, RATE * pace, RATE).astype(np.float32)
    silences = rng.uniform(0, 0.4, 2) * RATE * rng.integers(0, 2)
    samples = np.pad(samples, [round(each) for each in silences]) * 10 ** (rng.uniform(-12, 3) / 20)
    hiss = pink_noise(len(samples), rng) * 10 ** (rng.uniform(-80, -60) / 20) * rng.integers(0, 2)
    return Case(case.text, case.voice, Sound((samples + hiss).astype(np.float32), RATE))


def spoilt(
    case: Case, way: str, rng: np.random.Generator, among: Sequence[Case] | None = None
) -> Case:
    """Spoil a sentence in one way; `among` are those that its voice also said."""
    said = bundle() if among is None else among
    others = [
        each.sound.samples for each in said if each.voice == case.voice and each.text != case.text
    ]
    samples = (WAYS | OTHERS)[way](case.sound.samples, others, rng)
    return Case(case.text, case.voice, Sound(samples.astype(np.float32), RATE), way.split(":")[0])


def _speech(samples: np.ndarray) -> tuple[int, int]:
    loud = np.flatnonzero(np.abs(samples) > 0.05 * np.abs(samples).max())
    return int(loud[0]), int(loud[-1])


def _cut(samples, others, rng):
    """The end is missing, as when the most tokens are reached."""
    first, last = _speech(samples)
    return samples[: first + int((last - first) * rng.uniform(0.15, 0.75))]


def _cut_faded(samples, others, rng):
    """Half of the words are missing, and the last one said dies away."""
    kept = _cut(samples, others, rng)[: int(len(samples) * 0.6)]
    fade = min(len(kept), RATE // 50)
    kept = kept.copy()
    kept[-fade:] *= np.linspace(1, 0, fade)
    return np.pad(kept, (0, RATE // 10))


def _silent(samples, others, rng):
    return pink_noise(len(samples), rng) * 10 ** (rng.uniform(-110, -70) / 20)


def _mostly_silent(samples, others, rng):
    first, last = _speech(samples)
    quiet = samples.copy()
    start = first + int((last - first) * rng.uniform(0.05, 0.25))
    quiet[start : start + int((last - first) * rng.uniform(0.72, 0.9))] *= 1e-4
    return quiet


def _looped(samples, others, rng):
    """A stretch is said two to five times, never quite the same way."""
    first, last = _speech(samples)
    length = int(min(rng.uniform(0.35, 1.4) * RATE, (last - first) * 0.8))
    start = first + int(rng.uniform(0, last - first - length))
    stretch = samples[start : start + length]
    again = [_alike(stretch, rng) for _ in range(rng.integers(1, 5))]
    return np.concatenate([samples[: start + length], *again, samples[start + length :]])


def _alike(stretch, rng):
    other = soxr.resample(stretch, RATE * rng.uniform(0.97, 1.03), RATE) * rng.uniform(0.7, 1.2)
    return other + pink_noise(len(other), rng) * np.sqrt(np.mean(stretch**2)) * 0.03


def _babble(samples, others, rng):
    """After the text other speech goes on, at once or after a breath."""
    first, last = _speech(samples)
    other = np.concatenate([others[at] for at in rng.permutation(len(others))])
    other = other[:: rng.choice([-1, 1])]
    length = int(max(1.0 * RATE, (last - first) * rng.uniform(0.5, 1.5)))
    gap = np.zeros(int(rng.uniform(0, 0.8) * RATE))
    return np.concatenate((samples, gap, other[:length] * rng.uniform(0.5, 1)))


def _noise(samples, others, rng):
    hiss = rng.standard_normal(len(samples))
    return hiss * 10 ** (rng.uniform(-35, -15) / 20)


def _hum(samples, others, rng):
    t = np.arange(len(samples)) / RATE
    return sum(np.sin(2 * np.pi * rng.uniform(60, 200) * k * t) / k for k in (1, 2, 3)) * 0.1


def _clipped(samples, others, rng):
    return np.clip(samples / np.abs(samples).max() * rng.uniform(6, 20), -1, 1)


def _no_numbers(samples, others, rng):
    broken = samples.copy()
    broken[rng.integers(len(broken))] = rng.choice([np.nan, np.inf])
    return broken


Way = Callable[[np.ndarray, list[np.ndarray], np.random.Generator], np.ndarray]
WAYS: dict[str, Way] = {
    "cut": _cut,
    "cut:faded": _cut_faded,
    "silent": _silent,
    "silent:mostly": _mostly_silent,
    "looped": _looped,
    "babble": _babble,
}
OTHERS: dict[str, Way] = {
    "noise": _noise,
    "noise:hum": _hum,
    "clipped": _clipped,
    "no numbers": _no_numbers,
}
