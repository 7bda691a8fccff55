"""How well a voice speaks, in numbers: words understood, likeness, buzz."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from engines.pocket.facts import HOP, RATE, WINDOW
from tests.bench import dataset_scores

Floats = NDArray[np.floating]
Item = TypeVar("Item")

DRAWS = 1000
SEED = 20261121


# ---- Words understood ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Understood:
    """One sentence as somebody understood it."""

    errors: int
    words: int


def words_of(text: str) -> list[str]:
    """Lower case, letters and apostrophes only: what nobody hears makes no difference."""
    return re.findall(r"[a-z']+", text.lower())


def understood(text: str, heard: str) -> Understood:
    words = words_of(text)
    return Understood(dataset_scores.errors(words_of(heard), words), len(words))


def word_error(sentences: Sequence[Understood]) -> float:
    """Errors of all sentences to all their words."""
    return sum(each.errors for each in sentences) / sum(each.words for each in sentences)


def word_error_gap(pairs: Sequence[tuple[Understood, Understood]]) -> float:
    """How much more of the same sentences was misunderstood of the second than of the first."""
    return word_error([second for _, second in pairs]) - word_error([first for first, _ in pairs])


def standard_error(sample: Sequence[Item], of: Callable[[Sequence[Item]], float]) -> float:
    """How far a figure would be off with other sentences: they are drawn anew, with repeats."""
    chance = np.random.default_rng(SEED)
    draws = chance.integers(len(sample), size=(DRAWS, len(sample)))
    found = [of([sample[place] for place in draw]) for draw in draws.tolist()]
    return float(np.std(found, ddof=1))


# ---- Likeness ------------------------------------------------------------------------------------


def centroid(prints: Floats) -> Floats:
    """The direction in which the prints of one voice lie."""
    middle: Floats = prints.mean(0)
    return middle / np.linalg.norm(middle)


def likeness(prints: Floats, middle: Floats) -> float:
    """Mean cosine to the middle of a voice."""
    lengths = np.linalg.norm(prints, axis=1)
    return float(np.mean(prints @ middle / lengths))


def most_alike(prints: Floats, voices: Mapping[str, Floats]) -> tuple[str, float]:
    """The voice that the prints are most like, of those with these middles, and how much."""
    found = {name: likeness(prints, middle) for name, middle in voices.items()}
    name = max(found, key=lambda each: found[each])
    return name, found[name]


# ---- Spectra -------------------------------------------------------------------------------------

_LOW_HZ, _HIGH_HZ = 4000.0, 7500.0
_SHARP_HZ = 4000.0
_FLOOR = 1e-7


def spectra(samples: Floats) -> Floats:
    """Magnitudes, 64 ms around the start of each hop of 16 ms: a row for each."""
    padded = np.pad(samples, (WINDOW // 2, WINDOW))
    windows = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)
    windows = windows[: len(samples) // HOP * HOP : HOP]
    return np.abs(np.fft.rfft(windows * np.hanning(WINDOW), axis=1))


def sharpness_db(samples: Floats) -> float:
    """The energy above 4 kHz beside all of it."""
    power = np.abs(np.fft.rfft(samples)) ** 2
    above = np.fft.rfftfreq(len(samples), 1 / RATE) > _SHARP_HZ
    return 10 * float(np.log10((power[above].sum() + _FLOOR) / (power.sum() + _FLOOR)))


def lines_db(samples: Floats, hertz: Floats, voiced: NDArray[np.bool_]) -> Floats:
    """
    How far the spectrum from 4 to 7.5 kHz stands higher at multiples of the pitch than between.

    For each voiced frame: twice the size of the wave that the decibels draw along the spectrum,
    once for each harmonic. Where exactly the harmonics lie need not be known, so that a pitch that
    is 1 % off at the fiftieth does no harm; pure noise comes to about 2 dB.
    """
    frequencies = np.fft.rfftfreq(WINDOW, 1 / RATE)
    band = (frequencies >= _LOW_HZ) & (frequencies <= _HIGH_HZ)
    decibels = 20 * np.log10(spectra(samples)[voiced][:, band] + _FLOOR)
    taper = np.hanning(band.sum())
    taper /= taper.sum()
    decibels = decibels - (decibels @ taper)[:, None]
    waves = np.exp(-2j * np.pi * frequencies[band] / hertz[voiced][:, None])
    # A wave of size 1 gives a half here, and goes from -1 to 1.
    found: Floats = 4 * np.abs((decibels * taper * waves).sum(1))
    return found
