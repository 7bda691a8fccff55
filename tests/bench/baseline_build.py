"""
A dataset made the way the fine-tuning studios before make it, to compare with.

From its description alone: the recording is decoded, voice detection divides it, each part is
written to disk and read by Whisper in a call of its own, the words are cut by the rule of
`baseline_cut`, each clip is written to disk, and each is read by Whisper a second time to validate
it. The model and the voice detection are those of the build it is compared with.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from faster_whisper import WhisperModel, decode_audio

from finetune.words import Word, join_words
from tests.bench.baseline_cut import baseline_cut
from tests.bench.dataset_scores import Clip
from tests.whisper import hearing
from tests.whisper.voices import RATE

# Those studios set no more than these; the rest is what faster-whisper does unless told otherwise.
OPTIONS = {"language": "en", "beam_size": 5, "word_timestamps": True}


@dataclass
class BaselineBuild:
    """What came out, and how long each phase took."""

    clips: list[Clip] = field(default_factory=list)
    validated: list[str] = field(default_factory=list)
    """What the second pass understood of each clip."""
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def took(self) -> float:
        return sum(self.seconds.values())

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count the time of a block towards a phase."""
        began = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - began


def build(recordings: Iterable[Path], folder: Path, model: Path = hearing.MODEL) -> BaselineBuild:
    """Make clips of recordings, one after the other; they and the parts are left in the folder."""
    made = BaselineBuild()
    with made.phase("load"):
        # As many threads as faster-whisper takes by itself, and numbers as small.
        whisper = WhisperModel(str(model), device="cpu", compute_type="int8")
    for number, recording in enumerate(recordings):
        work = folder / f"{number:03d}"
        work.mkdir(parents=True)
        _build_one(made, whisper, recording, work)
    return made


def _build_one(made: BaselineBuild, whisper: WhisperModel, recording: Path, work: Path) -> None:
    with made.phase("decode"):
        samples = decode_audio(str(recording), sampling_rate=RATE)
    with made.phase("detect"):
        spans = hearing.speech_spans(samples)
    words: list[Word] = []
    for number, span in enumerate(spans):
        part = work / f"part-{number:04d}.wav"
        with made.phase("write"):
            _write(part, samples, span["start"], span["end"])
        with made.phase("transcribe"):
            words += _words(whisper, part, span["start"])
    clips = clips_of(recording.name, words, len(samples) / RATE)
    for number, clip in enumerate(clips):
        file = work / f"clip-{number:04d}.wav"
        with made.phase("write"):
            _write(file, samples, clip.start, clip.end)
        with made.phase("validate"):
            made.validated.append(_text(_words(whisper, file, 0.0)))
    made.clips += clips


def clips_of(name: str, words: Sequence[Word], seconds: float) -> list[Clip]:
    """Cut recognised words, whoever recognised them, by that rule."""
    return [
        Clip(name, clip.start, clip.end, _text(words[clip.first : clip.last + 1]))
        for clip in baseline_cut(words, seconds)
    ]


def _text(words: Sequence[Word]) -> str:
    return join_words([word.text for word in words])


def _write(path: Path, samples: np.ndarray, start: float, end: float) -> None:
    soundfile.write(path, samples[round(start * RATE) : round(end * RATE)], RATE, subtype="PCM_16")


def _words(whisper: WhisperModel, file: Path, shift: float) -> list[Word]:
    options: dict[str, Any] = OPTIONS
    segments, _ = whisper.transcribe(str(file), **options)
    return [
        Word(word.word, word.start + shift, word.end + shift, word.probability)
        for segment in segments
        for word in segment.words or ()
    ]
