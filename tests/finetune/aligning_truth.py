"""How far the aligner is off, where a synthesiser has told when each sound begins."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

import numpy as np

from engines.pocket.facts import HOP, PAUSE, PHONES, RATE
from engines.pocket.phones import PAUSE_NUMBER
from finetune import aligning
from finetune.following import NOBODYS, follow, track_of
from tests.whisper.voices import Utterance, utter

# flite's names for what the dictionary writes otherwise.
SAME = {"axr": "er", "ix": "ih", "dx": "t"}


def phone_errors(texts: Iterable[str], voice: str = "rms") -> list[float]:
    """
    Seconds by which the beginnings of sounds are found too late (or, below zero, too early).

    Of the sounds that the text and the synthesiser have in common; rms has taught no base.
    """
    return [error for text in texts for error in errors_of(utter(text, voice))]


def errors_of(said: Utterance) -> list[float]:
    found = sounds_found(said.samples, said.text)
    true = [(SAME.get(p.name, p.name), p.start) for p in said.phones if p.name != PAUSE]
    matcher = SequenceMatcher(None, [name for name, _ in true], [n for n, _ in found], False)
    return [
        found[block.b + at][1] - true[block.a + at][1]
        for block in matcher.get_matching_blocks()
        for at in range(block.size)
    ]


def sounds_found(samples: np.ndarray, text: str) -> list[tuple[str, float]]:
    """Each sound of a text and when it begins."""
    heard = aligning.hear_take(samples, RATE).heard
    track = track_of([token.sounds for token in aligning.tokens_of([(1, text)])])
    states = follow(heard, track)
    begins = np.flatnonzero(np.diff(states, prepend=-1))
    return [
        (PHONES[track.sounds[state]], float(frame) * HOP / RATE)
        for frame, state in zip(begins, states[begins], strict=True)
        if track.words[state] != NOBODYS and track.sounds[state] != PAUSE_NUMBER
    ]
