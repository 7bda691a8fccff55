"""What pocket learns of a clip: its sounds with their frames, and how its voice is. No torch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engines.base import Features
from engines.pocket.facts import BANDS, FULL_SCALE, HOP
from engines.pocket.phones import Rows
from engines.pocket.sound import Floats, Pitch, mels, pitch


def features_of(samples: Floats, rows: Rows, durations: NDArray[np.int64]) -> Features:
    """Of levelled samples in whole frames, and sounds that fill those frames."""
    bands, melody = mels(samples), pitch(samples)
    return {
        "rows": rows.astype(np.int16),
        "durations": durations.astype(np.int16),
        "mels": bands.astype(np.float16),
        "pitch": melody.logarithms,
        "voiced": melody.voiced,
        "samples": np.round(samples[: len(bands) * HOP] * FULL_SCALE).astype(np.int16),
        "manner": manner(bands, melody),
    }


def manner(bands: Floats, melody: Pitch) -> Floats:
    """
    How a voice sounds, in 163 numbers: its mean spectrum and its spread, its pitch and its spread.

    A network that is told these of another clip of the same person begins near that person.
    """
    loudness = bands.mean(1)
    # In silence the mean may be rounded to above every frame.
    louder = loudness >= min(loudness.mean(), loudness.max()) if len(bands) else slice(0)
    speech = bands[louder] if len(bands) else np.zeros((1, BANDS), np.float32)
    heights = melody.logarithms[melody.voiced]
    if not len(heights):
        heights = melody.logarithms[:1] if len(melody.logarithms) else np.zeros(1, np.float32)
    rest = (heights.mean(), heights.std(), melody.voiced.mean() if len(melody.voiced) else 0.0)
    found = np.concatenate([speech.mean(0), speech.std(0), rest])
    return np.asarray(found, np.float32)
