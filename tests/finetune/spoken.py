"""Speech made up as levels, so that the truth is known: where each word and each pause lies."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np

from finetune.quiet import Levels
from finetune.words import Word

SPEECH_DB = -20.0


@dataclass
class Spoken:
    """A made-up recording: what is true, what can be measured, and what Whisper would say."""

    true: list[tuple[float, float]] = field(default_factory=list)
    heard: Levels = field(default_factory=lambda: np.zeros(0, np.float32))
    words: list[Word] = field(default_factory=list)
    seconds: float = 0.0


def speak(seed: int, sentences: int = 20, noise_db: float = 40.0, pauses: bool = True) -> Spoken:
    """Speak sentences with pauses of 0.1 to 2 s between them, over noise so far below speech.

    A tenth of the sentences runs on for 30 to 60 words, longer than any clip may be.
    """
    chance = random.Random(seed)
    texts, gaps = _script(chance, sentences, pauses)
    made, time = Spoken(), chance.uniform(0, 1)
    for text, gap in zip(texts, gaps, strict=True):
        length = max(0.12, 0.065 * len(text) * chance.uniform(0.8, 1.3))
        made.true.append((time, time + length))
        time += length + gap
    made.seconds = made.true[-1][1] + chance.uniform(0, 1)
    made.heard = _levels(chance, made, noise_db)
    made.words = _whispered(chance, texts, made)
    return made


def _script(chance: random.Random, sentences: int, pauses: bool) -> tuple[list[str], list[float]]:
    texts: list[str] = []
    gaps: list[float] = []
    for _ in range(sentences):
        count = chance.randint(30, 60) if chance.random() < 0.1 else chance.randint(1, 18)
        for place in range(count):
            text = "".join(chance.choices("aeiourstn", k=chance.randint(2, 9)))
            last, comma = place == count - 1, chance.random() < 0.12
            texts.append(f" {text}{chance.choice('..?!') if last else ',' if comma else ''}")
            gaps.append(_gap(chance, last, comma) if pauses else 0.0)
    return texts, gaps


def _gap(chance: random.Random, last: bool, comma: bool) -> float:
    if last:
        return chance.uniform(0.1, 2.0)
    # Inside a phrase words run into each other; some speakers set them apart by a few hundredths.
    return chance.uniform(0.1, 0.5) if comma else max(0.0, chance.uniform(-0.04, 0.04))


def _levels(chance: random.Random, made: Spoken, noise_db: float) -> Levels:
    """Syllables as humps, with the silence before a "t" inside words and soft ends."""
    floor = SPEECH_DB - noise_db
    steps = np.full(int(made.seconds * 100) + 1, -100.0)
    for start, end in made.true:
        first, last = round(start * 100), max(round(end * 100), round(start * 100) + 3)
        count = last - first
        humps = np.abs(np.sin(np.linspace(0.15, np.pi * max(1, count // 18) - 0.15, count)))
        word = SPEECH_DB + chance.uniform(-4, 4) + 12 * (humps - 0.75)
        if count > 24 and chance.random() < 0.3:
            stop = chance.randint(6, count - 14)
            word[stop : stop + chance.randint(3, 8)] = -60.0
        if count > 20 and chance.random() < 0.25:
            word[-8:] = SPEECH_DB - 16
        word[-3:] -= np.array([3.0, 6.0, 10.0])
        room = steps[first:last]
        np.maximum(room, word[: len(room)], out=room)
    grain = np.random.default_rng(chance.getrandbits(32)).normal(0, 0.6, len(steps))
    return (10 * np.log10(10 ** (steps / 10) + 10 ** ((floor + grain) / 10))).astype(np.float32)


def _whispered(chance: random.Random, texts: list[str], made: Spoken) -> list[Word]:
    """Times as Whisper gives them: off by 50 ms, in steps of 20 ms, pauses swallowed by a word."""
    words: list[Word] = []
    for index, (text, (start, end)) in enumerate(zip(texts, made.true, strict=True)):
        heard_start, heard_end = start + chance.gauss(0, 0.05), end + chance.gauss(0, 0.05)
        swallows = chance.random()
        if swallows < 0.3 and words:
            heard_start = words[-1].end
        elif swallows > 0.9 and index + 1 < len(texts):
            heard_end = made.true[index + 1][0]
        heard_start, heard_end = (round(max(0.0, t) * 50) / 50 for t in (heard_start, heard_end))
        if words:
            heard_start = max(heard_start, words[-1].end)
        words.append(Word(text, heard_start, max(heard_start, heard_end), chance.uniform(0.6, 1)))
    return words
