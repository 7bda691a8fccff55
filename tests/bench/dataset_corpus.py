"""Recordings of 500 sentences of known truth: every voice, pauses, noise, music, two speakers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

import soundfile
import soxr

from tests import speech
from tests.bench.record import CannotMeasure
from tests.whisper.voices import utter
from voices import files

SENTENCES = 500
SEED = 3
PAUSES_S = (0.1, 2.0)
_EDITION = 1  # raised when what is made changes, so that what a cache holds is made anew
_TRUTH = "truth.json"


@dataclass(frozen=True, slots=True)
class Condition:
    """How one recording sounds."""

    name: str
    voices: tuple[str, ...]
    noise_db: float | None
    """How far pink noise lies below the speech; None: there is none."""
    music: bool
    rate: int
    file: str


@dataclass(frozen=True, slots=True)
class Spoken:
    """A recording on disk, and the truth about it."""

    condition: Condition
    path: Path
    sentences: tuple[speech.Sentence, ...]
    seconds: float

    @property
    def words(self) -> list[speech.Word]:
        return [word for sentence in self.sentences for word in sentence.words]


def conditions() -> list[Condition]:
    """One voice at four levels of noise, three of each; music beneath; two who take turns."""
    found: list[Condition] = []

    def add(voices: tuple[str, ...], noise_db: float | None, music: bool = False) -> None:
        kind = "music" if music else "clean" if noise_db is None else f"{noise_db:.0f}-dB"
        number = len(found)
        rate, suffix = ((22_050, "flac"), (16_000, "wav"), (44_100, "flac"))[number % 3]
        name = f"{kind}-{'-'.join(voices)}"
        found.append(
            Condition(name, voices, noise_db, music, rate, f"{number:02d}-{name}.{suffix}")
        )

    for noise_db in (None, 30.0, 20.0, 10.0):
        for _ in range(3):
            add((speech.VOICES[len(found) % len(speech.VOICES)],), noise_db)
    add(("slt",), None, music=True)
    add(("espeak",), 30.0, music=True)
    add(("rms", "slt"), None)
    add(("awb", "espeak"), 20.0)
    return found


def texts(count: int = SENTENCES, seed: int = SEED) -> list[str]:
    """Different sentences, none of which the tiny Whisper was trained on."""
    chance, found = Random(f"texts {seed}"), dict[str, None]()
    while len(found) < count:
        found[speech.sentence(chance)] = None
    return list(found)


def gathered(
    cache: Path, count: int = SENTENCES, seed: int = SEED, only: Sequence[Condition] | None = None
) -> list[Spoken]:
    """The recordings kept in a folder; spoken now, in half a minute, where they are not there."""
    wanted = conditions() if only is None else list(only)
    shares = [texts(count, seed)[number :: len(wanted)] for number in range(len(wanted))]
    return [
        _gathered(cache, condition, share, seed)
        for condition, share in zip(wanted, shares, strict=True)
    ]


def _gathered(cache: Path, condition: Condition, share: Sequence[str], seed: int) -> Spoken:
    folder = cache / f"{condition.name}-{len(share)}-{seed}-{_EDITION}"
    if not files.exists(folder):
        cache.mkdir(parents=True, exist_ok=True)
        # Another process may have spoken the same meanwhile: theirs is as good.
        with suppress(FileExistsError), files.new_folder(folder) as new:
            _speak(new, condition, share, seed)
    return _read(folder, condition)


def _speak(folder: Path, condition: Condition, share: Sequence[str], seed: int) -> None:
    if not speech.installed():
        raise CannotMeasure(str(speech.SynthesiserMissing()))
    chance = Random(f"{condition.name} {seed}")
    gaps = [chance.uniform(*PAUSES_S) for _ in share]
    voices = [condition.voices[number % len(condition.voices)] for number in range(len(share))]
    # The programs do the work, in processes of their own: threads keep two cores busy.
    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(utter, share, voices))
    noise = chance.getrandbits(32)
    samples, truth = speech.joined(said, gaps, condition.noise_db, condition.music, noise)
    if condition.rate != speech.RATE:
        samples = soxr.resample(samples, speech.RATE, condition.rate)
    soundfile.write(folder / condition.file, samples, condition.rate, subtype="PCM_16")
    (folder / _TRUTH).write_text(json.dumps([_as_json(one) for one in truth]), encoding="utf-8")


def _as_json(sentence: speech.Sentence) -> dict[str, object]:
    return {"text": sentence.text, "voice": sentence.voice, "words": sentence.words}


def _read(folder: Path, condition: Condition) -> Spoken:
    path = folder / condition.file
    sentences = []
    for entry in json.loads((folder / _TRUTH).read_text(encoding="utf-8")):
        words = [speech.Word(*word) for word in entry["words"]]
        sentences.append(
            speech.Sentence(entry["text"], entry["voice"], words[0].start, words[-1].end, words)
        )
    return Spoken(condition, path, tuple(sentences), soundfile.info(path).duration)
