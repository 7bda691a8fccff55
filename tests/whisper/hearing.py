"""What the tiny Whisper makes of a recording, and how far that is from the truth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from pathlib import Path

import numpy as np
from faster_whisper import WhisperModel
from faster_whisper.transcribe import Segment
from faster_whisper.vad import VadOptions, get_speech_timestamps

from tests.speech import RATE, Sentence, Word

MODEL = Path(__file__).parent / "model"
VAD = {"min_silence_duration_ms": 400, "speech_pad_ms": 150}
"""The sentences of a recording come apart; faster-whisper's own two seconds keep them together."""
OPTIONS = {
    "language": "en",
    "word_timestamps": True,
    "condition_on_previous_text": False,
    "temperature": 0,
}
"""It knows no other language, each sentence stands for itself, and nothing is left to chance."""


def load(folder: Path = MODEL) -> WhisperModel:
    return WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=1)


def words_of(segments: Iterable[Segment]) -> list[Word]:
    """The words with their times; Whisper's own come in pieces: "3.5" is " 3" and ".5"."""
    words: list[Word] = []
    for piece in (word for segment in segments for word in segment.words or ()):
        if piece.word.startswith(" ") or not words:
            words.append(Word(piece.word.strip(), piece.start, piece.end))
        else:
            before = words.pop()
            words.append(Word(before.text + piece.word, before.start, piece.end))
    return words


def true_words(truth: Sequence[Sentence]) -> list[Word]:
    return [word for sentence in truth for word in sentence.words]


def bare(word: str) -> str:
    return word.strip(".,?!").lower()


def word_errors(reference: Sequence[str], heard: Sequence[str]) -> int:
    """How many words are wrong, missing or too many, without regard to signs and capitals."""
    row = list(range(len(heard) + 1))
    for count, word in enumerate(reference, 1):
        diagonal, row[0] = row[0], count
        for at, other in enumerate(heard, 1):
            cost = min(row[at] + 1, row[at - 1] + 1, diagonal + (bare(word) != bare(other)))
            diagonal, row[at] = row[at], cost
    return row[-1]


def error_rate(truth: Sequence[Sentence], words: Sequence[Word]) -> float:
    reference = [word.text for word in true_words(truth)]
    return word_errors(reference, [word.text for word in words]) / len(reference)


def matched(truth: Sequence[Sentence], words: Sequence[Word]) -> list[tuple[Word, Word, Sentence]]:
    """The words heard right, each with the true one and the sentence that has it."""
    true = [(word, sentence) for sentence in truth for word in sentence.words]
    texts = [bare(word.text) for word, _ in true], [bare(word.text) for word in words]
    blocks = SequenceMatcher(None, *texts, autojunk=False).get_matching_blocks()
    return [
        (words[block.b + at], *true[block.a + at]) for block in blocks for at in range(block.size)
    ]


def speech_spans(samples: np.ndarray) -> list[dict[str, float]]:
    """Where faster-whisper's own voice detection hears speech, in seconds."""
    spans = get_speech_timestamps(samples, VadOptions(**VAD))
    return [{"start": span["start"] / RATE, "end": span["end"] / RATE} for span in spans]
