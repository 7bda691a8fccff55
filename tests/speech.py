"""Recordings of known truth for the tests: who said which word when, to the millisecond."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
import soundfile

from tests.whisper import grammar
from tests.whisper.voices import (
    LOUDNESS,
    RATE,
    VOICES,
    SynthesiserMissing,
    Utterance,
    Word,
    installed,
    utter,
)

__all__ = [
    "RATE",
    "VOICES",
    "Sentence",
    "SynthesiserMissing",
    "Utterance",
    "Word",
    "bundled",
    "installed",
    "joined",
    "recording",
    "sentence",
    "speak",
]

BUNDLE = Path(__file__).parent / "whisper" / "speech"
MUSIC_DB = 15  # how far the music bed lies below the speech


@dataclass(frozen=True)
class Sentence:
    """A sentence of a recording: what was said, by whom, and when, in seconds."""

    text: str
    voice: str
    start: float
    end: float
    words: list[Word]


def sentence(rng: Random) -> str:
    """A sentence the tiny Whisper knows the words of and has never heard."""
    return grammar.sentence(rng, held_out=True)


def speak(text: str, voice: str) -> tuple[np.ndarray, list[Word]]:
    """Say a sentence of the grammar: samples at 16 kHz, and when each word is said."""
    said = utter(text, voice)
    return said.samples, said.words


def recording(
    sentences: Sequence[str],
    gaps: Sequence[float],
    noise_db: float | None = None,
    voices: Sequence[str] = VOICES,
    music: bool = False,
    seed: int = 0,
) -> tuple[np.ndarray, list[Sentence]]:
    """Say the sentences one after another, each voice in its turn; see `joined`."""
    said = [utter(text, voices[at % len(voices)]) for at, text in enumerate(sentences)]
    return joined(said, gaps, noise_db, music, seed)


def joined(
    utterances: Sequence[Utterance],
    gaps: Sequence[float],
    noise_db: float | None = None,
    music: bool = False,
    seed: int = 0,
) -> tuple[np.ndarray, list[Sentence]]:
    """Lay sentences one after another; a gap is the exact silence from word to word.

    `noise_db` is how far pink noise lies below the speech; None adds none.
    Silence of one second comes first and last; gaps are used again when they run out.
    """
    truth: list[Sentence] = []
    at = 1.0
    for number, said in enumerate(utterances):
        shift = at - said.words[0].start
        words = [Word(w.text, w.start + shift, w.end + shift) for w in said.words]
        truth.append(Sentence(said.text, said.voice, words[0].start, words[-1].end, words))
        at = words[-1].end + gaps[number % len(gaps)]
    samples = np.zeros(round((truth[-1].end + 1.0) * RATE), np.float32)
    for said, place in zip(utterances, truth, strict=True):
        first = round((place.start - said.words[0].start) * RATE)
        samples[first : first + len(said.samples)] += said.samples
    rng = np.random.default_rng(seed)
    if music:
        samples += chords(len(samples), rng) * LOUDNESS * 10 ** (-MUSIC_DB / 20)
    if noise_db is not None:
        samples += pink_noise(len(samples), rng) * LOUDNESS * 10 ** (-noise_db / 20)
    return np.clip(samples, -1, 1).astype(np.float32), truth


def pink_noise(count: int, rng: np.random.Generator) -> np.ndarray:
    """Noise with equal power in every octave, of root mean square 1."""
    spectrum = np.fft.rfft(rng.standard_normal(count))
    noise = np.fft.irfft(spectrum / np.sqrt(np.arange(1, len(spectrum) + 1)), count)
    return (noise / np.sqrt(np.mean(noise**2))).astype(np.float32)


def chords(count: int, rng: np.random.Generator) -> np.ndarray:
    """Soft major and minor chords that change every second and a half, of root mean square 1."""
    length = round(1.5 * RATE)
    t = np.arange(length) / RATE
    envelope = np.minimum(1, t / 0.05) * np.exp(-t)
    bars = []
    for _ in range(count // length + 1):
        root = 110 * 2 ** (rng.integers(0, 12) / 12)
        steps = (0, rng.integers(3, 5), 7, 12)
        tones = [np.sin(2 * np.pi * root * 2 ** (step / 12) * t) for step in steps]
        bars.append(envelope * sum(tones))
    music = np.concatenate(bars)[:count]
    return (music / np.sqrt(np.mean(music**2))).astype(np.float32)


def bundled() -> list[Utterance]:
    """The sentences kept with the tests, so that most of them need no synthesiser."""
    said = []
    for entry in json.loads((BUNDLE / "truth.json").read_text(encoding="utf-8")):
        samples, rate = soundfile.read(BUNDLE / entry["file"], dtype="float32")
        assert rate == RATE
        words = [Word(text, start, end) for text, start, end in entry["words"]]
        said.append(Utterance(entry["text"], entry["voice"], samples, words, []))
    return said


def keep_bundle(count: int, seed: int, folder: Path = BUNDLE) -> None:
    """Say sentences by every voice in turn and keep them as the bundle."""
    folder.mkdir(parents=True, exist_ok=True)
    rng, entries, texts = Random(seed), [], set()
    while len(entries) < count:
        text, voice = sentence(rng), VOICES[len(entries) % len(VOICES)]
        if text in texts:
            continue
        texts.add(text)
        said = utter(text, voice)
        name = f"{len(entries):02d}-{voice}.flac"
        soundfile.write(folder / name, said.samples, RATE, subtype="PCM_16")
        words = [[word.text, round(word.start, 4), round(word.end, 4)] for word in said.words]
        entries.append({"file": name, "voice": voice, "text": text, "words": words})
    lines = ",\n".join(json.dumps(entry) for entry in entries)
    (folder / "truth.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
