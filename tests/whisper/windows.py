"""Training windows: sentences laid into silence and noise, and what Whisper should make of them.

A window is audio as faster-whisper cuts it (one sentence, a few, or 30 seconds with the last
sentence cut off) and the tokens that belong to it, with timestamps or without.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np

from tests.speech import chords, pink_noise
from tests.whisper.tokens import Tokens
from tests.whisper.voices import LOUDNESS, RATE, Utterance

FRAMES = 50  # of the encoder, a second
IGNORED = -100  # a label nothing is learned from


@dataclass(frozen=True)
class Shape:
    """How long the windows of a batch are, and how many sentences they take at most."""

    windows: int
    seconds: float | None  # None: as long as the longest sentence needs
    sentences: int


@dataclass
class Window:
    """One example: sound, what to predict from what, and where to look for it."""

    samples: np.ndarray
    heard_s: float
    """From here on faster-whisper sees no sound, only features of zero."""
    inputs: list[int] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)
    looks: list[tuple[int, float, float]] = field(default_factory=list)
    """(position, start, end): what is predicted there is heard between these seconds."""
    phones: list[tuple[str, float, float]] = field(default_factory=list)


@dataclass(frozen=True)
class Placed:
    said: Utterance
    at: float
    whole: bool
    """Whether all of it fits into the window."""

    @property
    def start(self) -> float:
        return self.at + self.said.words[0].start

    @property
    def end(self) -> float:
        return self.at + self.said.words[-1].end


def shape_of_step(rng: Random, progress: float) -> Shape:
    """All lengths from the start, for switching later undoes much; long ones more towards the end."""
    kind = rng.random()
    long_share = 0.12 + 0.2 * progress
    if kind < long_share:
        return Shape(4, 30.0, 10)
    if kind < long_share + 0.5:
        seconds = rng.choice((7.0, 9.0, 11.0, 14.0, 18.0))
        return Shape(max(5, int(100 / seconds)), seconds, max(2, int(seconds / 2.6)))
    return Shape(20, None, 1)


def batch_of(
    corpus: Sequence[Utterance], tokens: Tokens, shape: Shape, rng: Random
) -> list[Window]:
    noise = np.random.default_rng(rng.getrandbits(32))
    first = [rng.choice(corpus) for _ in range(shape.windows)]
    longest = max(len(said.samples) for said in first) / RATE
    seconds = shape.seconds or round(longest + 0.9, 1)
    return [_window(corpus, said, tokens, seconds, shape, rng, noise) for said in first]


def _window(corpus, first, tokens, seconds, shape, rng, noise) -> Window:
    silent = rng.random() < 0.03
    placed = [] if silent else _placed(corpus, first, seconds, shape, rng)
    with_times = rng.random() < 0.5
    if not with_times:
        placed = [place for place in placed if place.whole]
    cut_off = bool(placed) and not placed[-1].whole
    last = placed[-1].end if placed else 0.0
    heard_s = seconds if cut_off or silent else min(seconds, last + rng.uniform(0.08, 0.9))
    window = Window(_sound(placed, seconds, rng, noise), heard_s)
    _write(window, placed, tokens, with_times, _prompt(corpus, tokens, rng))
    for place in placed:
        window.phones += [(p.name, place.at + p.start, place.at + p.end) for p in place.said.phones]
    return window


def _placed(corpus, said, seconds, shape, rng) -> list[Placed]:
    """Sentences from left to right, until the window is full or has as many as it wanted."""
    at = rng.uniform(0, 0.6)
    if shape.seconds and rng.random() < 0.15:
        at = rng.uniform(0, min(3.0, seconds / 3))
    wanted, placed = max(rng.randint(1, shape.sentences) for _ in range(2)), []
    one_voice = rng.random() < 0.5
    while len(placed) < wanted:
        end = at + len(said.samples) / RATE
        if end > seconds:
            if placed and shape.sentences > 2 and at < seconds - 0.5 and rng.random() < 0.5:
                placed.append(Placed(said, at, whole=False))
            break
        placed.append(Placed(said, at, whole=True))
        at = end + rng.choice((rng.uniform(0, 0.6), rng.uniform(0, 1.9)))
        voice, said = said.voice, rng.choice(corpus)
        while one_voice and said.voice != voice:
            said = rng.choice(corpus)
    return placed


def _sound(placed, seconds, rng, noise) -> np.ndarray:
    samples = np.zeros(round(seconds * RATE), np.float32)
    for place in placed:
        first = round(place.at * RATE)
        room = samples[first : first + len(place.said.samples)]
        room += place.said.samples[: len(room)] * rng.uniform(0.6, 1.3)
    if rng.random() < 0.12:
        samples += chords(len(samples), noise) * LOUDNESS * 10 ** (-rng.uniform(10, 25) / 20)
    if rng.random() < 0.6:
        hiss = noise.standard_normal(len(samples)).astype(np.float32)
        if rng.random() < 0.6:
            hiss = pink_noise(len(samples), noise)
        return samples + hiss * LOUDNESS * 10 ** (-rng.uniform(5, 40) / 20)
    return samples + noise.standard_normal(len(samples)).astype(np.float32) * 1e-5


def _prompt(corpus, tokens, rng) -> list[int]:
    """What was said before, as Whisper is given it."""
    if rng.random() > 0.15:
        return []
    return [tokens.startofprev, *tokens.of(rng.choice(corpus).text)]


def _write(window: Window, placed, tokens: Tokens, with_times: bool, prompt: list[int]) -> None:
    """Inputs, labels and where to look; a position predicts the token after it."""
    before = [*prompt, tokens.startoftranscript]
    if not placed:
        window.inputs = [*before, tokens.nospeech]
        window.labels = [*[IGNORED] * (len(before) - 1), tokens.nospeech, tokens.endoftext]
        return
    if not with_times:
        before.append(tokens.notimestamps)
    text: list[int] = []
    # The silence at the end belongs half to the last sign and half to the end itself.
    ending = (placed[-1].end + window.heard_s) / 2
    for number, place in enumerate(placed):
        if with_times:
            text.append(tokens.timestamp(place.start))
        if not place.whole:
            break  # only its start: the next window will have all of it
        following = placed[number + 1].start if number + 1 < len(placed) else ending
        for token, start, end in _heard(place, following, tokens):
            window.looks.append((len(before) - 1 + len(text), start, end))
            text.append(token)
        if with_times:
            text.append(tokens.timestamp(place.end))
    if not with_times:
        window.looks.append((len(before) - 1 + len(text), ending, window.heard_s))
    window.inputs = [*before, *text]
    window.labels = [*[IGNORED] * (len(before) - 1), *text, tokens.endoftext]


def _heard(place: Placed, following: float, tokens: Tokens):
    """Each token with the time it is heard in; a sign is heard as the silence behind its word.

    faster-whisper takes a word's end from where the next token starts to be heard.
    """
    words = place.said.words
    starts = [place.at + word.start for word in words] + [following]
    for number, word in enumerate(words):
        ids = tokens.of(word.text)
        signs = [ids.pop()] if word.text[-1] in ".,?!" else []
        end = place.at + word.end
        edges = np.linspace(starts[number], end, len(ids) + 1).tolist()
        yield from zip(ids, edges, edges[1:], strict=False)
        for sign in signs:
            yield sign, end, starts[number + 1]
