"""Spectrograms of natural and of spoken sentences, side by side as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from engines.base import Sound
from engines.pocket.facts import HOP, RATE
from engines.pocket.sound import at_rate, levelled, spoken_part
from tests.bench.pocket_scores import Floats, spectra

_QUIETEST_DB, _LOUDEST_DB = -50.0, 35.0
_INCHES, _DOTS = (10.0, 3.6), 110
_FLOOR = 1e-7


def draw(pairs: Sequence[tuple[str, Sound]], text: str, path: Path) -> None:
    """Draw sounds with their titles, all on the same scales."""
    from matplotlib.figure import Figure

    figure = Figure(_INCHES, _DOTS, layout="constrained")
    places = figure.subplots(1, len(pairs), sharey=True)
    longest = max(len(_trimmed(sound)) for _, sound in pairs) / RATE
    for place, (title, sound) in zip(places, pairs, strict=True):
        image = _decibels(_trimmed(sound))
        place.imshow(
            image.T, origin="lower", aspect="auto", cmap="magma", interpolation="nearest",
            extent=(0, len(image) * HOP / RATE, 0, RATE / 2000),
            vmin=_QUIETEST_DB, vmax=_LOUDEST_DB,
        )  # fmt: skip
        place.set(title=title, xlabel="s", xlim=(0, longest))
    places[0].set_ylabel("kHz")
    figure.suptitle(text)
    figure.savefig(path)


def _trimmed(sound: Sound) -> Floats:
    samples = levelled(at_rate(sound))
    start, end = spoken_part(samples)
    return samples[start:end]


def _decibels(samples: Floats) -> Floats:
    found: Floats = 20 * np.log10(spectra(samples) + _FLOOR)
    return found
