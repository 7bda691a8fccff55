"""The clip a voice is shown as an example of itself: chosen by how it sounds, not by its size."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engines.base import Sound
from engines.errors import AudioError
from finetune.datasets import Example
from finetune.quiet import STEP_S, clipped_share, levels, quiet_runs

Floats = NDArray[np.float32]
Print = Callable[[Sound], Floats]
"""Makes the voice print of a clip: length 1, or zeros where there is no voice."""

# XTTS takes the voice from the first 6 s unless told otherwise, and from 30 s at most.
SHORT_SECONDS, LONG_SECONDS, MOST_SECONDS = 6.0, 12.0, 30.0
# Listening to 60 clips of 8 s takes some seconds; the next hundred would hardly bring a better one.
MOST_CANDIDATES = 60


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a clip that could be the reference."""

    seconds: float
    speech_db: float
    """How loud the voice is, below full scale."""
    noise_db: float
    """How loud it is where nobody speaks."""
    clipped: float
    """Share that stands at full scale."""
    pauses: float
    """Share in which nobody speaks."""
    characters: int
    """Of its text."""
    similarity: float | None = None
    """To the mean of the candidates' voice prints; None where there are no prints."""

    @property
    def clean_db(self) -> float:
        """How far the noise lies below the voice."""
        return self.speech_db - self.noise_db


@dataclass(frozen=True, slots=True)
class Reference:
    """The clip that was chosen, its sound, and why."""

    example: Example
    sound: Sound
    reason: str


def score(facts: Facts) -> float:
    """
    How well a clip would do, 0 to 1.

    Each fact can only take away, the first of them nearly all: no virtue makes up for clipping.
    """
    parts = (
        (0.9, _length(facts.seconds)),
        (0.9, _between(facts.clipped, 0.002, 0.0)),
        (0.8, _between(facts.clean_db, 8, 35)),
        (0.8, 1.0 if facts.similarity is None else _between(facts.similarity, 0.6, 0.92)),
        (0.4, _between(facts.pauses, 0.7, 0.25)),
        (0.3, _between(facts.speech_db, -50, -30)),
        # Slower than anybody speaks: its text is not all that is said, or it is mostly noise.
        (0.3, _between(facts.characters / max(facts.seconds, 0.1), 0.5, 2.5)),
    )
    return math.prod(1 - weight * (1 - part) for weight, part in parts)


def choose_reference(candidates: Sequence[Facts]) -> tuple[int, str]:
    """Choose the best by score, of equals the first, and say why."""
    if not candidates:
        raise AudioError(
            "There is no clip to take the voice from.", "Add recordings, or take clips in."
        )
    best = max(range(len(candidates)), key=lambda at: score(candidates[at]))
    reason = _reason(candidates[best])
    if all(each.seconds < SHORT_SECONDS for each in candidates):
        reason += f" All clips are shorter than {SHORT_SECONDS:g} s; a longer one would do better."
    return best, reason


def measure(sound: Sound, text: str) -> Facts:
    """Measure a clip by itself; how much it is like the voice takes the others too."""
    heard = levels(sound.samples, sound.rate)
    speech, noise = np.percentile(heard, (90, 5)).tolist() if len(heard) else (-100.0, -100.0)
    quiet = sum(end - start for start, end in quiet_runs(heard, 0, len(heard) * STEP_S))
    return Facts(
        seconds=sound.seconds,
        speech_db=speech,
        noise_db=noise,
        clipped=clipped_share(sound.samples),
        pauses=min(1.0, quiet / max(sound.seconds, STEP_S)),
        characters=sum(sign.isalnum() for sign in text),
    )


def likely(examples: Sequence[Example], most: int = MOST_CANDIDATES) -> list[Example]:
    """The examples worth listening to: of the best lengths, from all over the recordings."""
    ranked = sorted(examples, key=lambda each: -_length(each.seconds))
    if len(ranked) <= most:
        return ranked
    least = _length(ranked[most - 1].seconds)
    surely = [each for each in ranked if _length(each.seconds) > least]
    equal = sorted(
        (each for each in ranked if _length(each.seconds) == least),
        key=lambda each: (each.recording, each.start),
    )
    places = np.linspace(0, len(equal) - 1, most - len(surely)).round().astype(int)
    return surely + [equal[place] for place in places.tolist()]


def find_reference(
    examples: Sequence[Example],
    read: Callable[[Example], Sound],
    print_of: Print | None = None,
) -> Reference:
    """Listen to the likely examples and choose one."""
    candidates = likely(examples)
    facts: list[Facts] = []
    prints: list[Floats] = []
    for each in candidates:
        sound = read(each)
        facts.append(measure(sound, each.text))
        if print_of is not None:
            prints.append(print_of(sound))
    best, reason = choose_reference(with_likeness(facts, prints) if prints else facts)
    return Reference(candidates[best], read(candidates[best]), reason)


def with_likeness(facts: Iterable[Facts], prints: Sequence[Floats]) -> list[Facts]:
    """Add how much each is like the mean of all."""
    mean = np.mean(prints, axis=0)
    mean = mean / max(float(np.linalg.norm(mean)), 1e-9)
    alike = [float(each @ mean) for each in prints]
    return [replace(each, similarity=like) for each, like in zip(facts, alike, strict=True)]


def _length(seconds: float) -> float:
    """1 where it is ideal; a longer clip loses little, a short one soon all."""
    if seconds < SHORT_SECONDS:
        return _between(seconds, 1, SHORT_SECONDS)
    return 1 - 0.5 * _between(seconds, LONG_SECONDS, MOST_SECONDS)


def _between(value: float, worst: float, best: float) -> float:
    """Where a value lies from worst (0) to best (1); what is no number is the worst."""
    part = (value - worst) / (best - worst)
    return min(1.0, max(0.0, part)) if math.isfinite(part) else 0.0


def _reason(facts: Facts) -> str:
    parts = [f"{facts.seconds:.1f} s", f"the noise {facts.clean_db:.0f} dB below the voice"]
    parts.append("nothing clipped" if not facts.clipped else f"{facts.clipped:.2%} clipped")
    if facts.similarity is not None:
        parts.append(f"like the other clips ({facts.similarity:.2f})")
    return f"The best of the clips as an example of the voice: {', '.join(parts)}."
