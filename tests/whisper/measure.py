"""Say how well the tiny Whisper hears: `python -m tests.whisper.measure`."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from random import Random

import numpy as np
from faster_whisper import BatchedInferencePipeline

from tests import speech
from tests.whisper import hearing


def main() -> None:
    parser = argparse.ArgumentParser(description="Say how well the tiny Whisper hears.")
    parser.add_argument("--model", type=Path, default=hearing.MODEL)
    parser.add_argument("--sentences", type=int, default=60, help="per voice")
    arguments = parser.parse_args()
    model = hearing.load(arguments.model)
    for voice in speech.VOICES:
        for noise_db in (None, 20):
            _one_voice(model, voice, noise_db, arguments.sentences)
    for noise_db, music in ((None, False), (20, False), (10, False), (20, True)):
        _two_minutes(model, noise_db, music)


def _one_voice(model, voice: str, noise_db: float | None, count: int) -> None:
    """Sentence by sentence, none of which was trained on."""
    rng = Random(f"measure {voice}")
    errors = total = signs = 0
    # Whisper gives the silence before a sentence to its first word, as every Whisper does.
    first: list[float] = []
    others: list[float] = []
    for number in range(count):
        samples, truth = speech.recording(
            [speech.sentence(rng)], [0], noise_db, [voice], seed=number
        )
        samples = samples[round(0.7 * speech.RATE) : round(-0.7 * speech.RATE)]
        words = hearing.words_of(model.transcribe(samples, **hearing.OPTIONS)[0])
        wanted = truth[0].words
        wrong = hearing.word_errors([w.text for w in wanted], [w.text for w in words])
        errors, total = errors + wrong, total + len(wanted)
        signs += bool(words) and words[-1].text[-1:] == truth[0].text[-1]
        if not wrong:
            late = [w.start + 0.7 - t.start for w, t in zip(words, wanted, strict=True)]
            first.append(late[0])
            others += late[1:]
    print(
        f"{voice:7}{_noise(noise_db)}  word error {errors / total:.3f}  sign right {signs / count:.2f}"
        f"  first words' {_starts(first)}  others' {_starts(others)}",
        flush=True,
    )


def _two_minutes(model, noise_db: float | None, music: bool) -> None:
    rng = Random("two minutes")
    texts = [speech.sentence(rng) for _ in range(33)]
    gaps = [rng.choice((0.5, 0.9, 1.4)) for _ in texts]
    samples, truth = speech.recording(texts, gaps, noise_db, music=music)
    spans = hearing.speech_spans(samples)
    flat = [edge for span in spans for edge in (span["start"], span["end"])]
    batched = BatchedInferencePipeline(model)
    ways = {
        "batched, its own VAD": lambda: batched.transcribe(
            samples, batch_size=8, vad_parameters=hearing.VAD, **hearing.OPTIONS
        ),
        "the same, 8 s at a time": lambda: batched.transcribe(
            samples, batch_size=8, chunk_length=8, vad_parameters=hearing.VAD, **hearing.OPTIONS
        ),
        "batched, our spans": lambda: batched.transcribe(
            samples, batch_size=8, vad_filter=False, clip_timestamps=spans, **hearing.OPTIONS
        ),
        "VAD filter": lambda: model.transcribe(
            samples, vad_filter=True, vad_parameters=hearing.VAD, **hearing.OPTIONS
        ),
        "clip_timestamps": lambda: model.transcribe(
            samples, clip_timestamps=flat, **hearing.OPTIONS
        ),
        "whole file": lambda: model.transcribe(samples, **hearing.OPTIONS),
    }
    length = len(samples) / speech.RATE
    print(f"{length:.0f} s{_noise(noise_db)}{' music' if music else ''}: {len(spans)} spans of 33")
    for name, way in ways.items():
        started = time.perf_counter()
        words = hearing.words_of(way()[0])
        took = time.perf_counter() - started
        rate = hearing.error_rate(truth, words)
        print(f"  {name:24} word error {rate:.3f}  {_matched(truth, words)}  {length / took:.0f} x")


def _matched(truth, words) -> str:
    """How the words heard right lie: their starts, and whether they are inside their sentence."""
    found = hearing.matched(truth, words)
    inside = [
        sentence.start <= (word.start + word.end) / 2 <= sentence.end for word, _, sentence in found
    ]
    starts = _starts([word.start - true.start for word, true, _ in found])
    return f"{starts}  inside {np.mean(inside):.3f}"


def _starts(late: list[float]) -> str:
    if not late:
        return "no word times"
    away = np.abs(late) * 1000
    return f"starts median {np.median(away):.0f} p90 {np.quantile(away, 0.9):.0f} ms"


def _noise(noise_db: float | None) -> str:
    return " clean" if noise_db is None else f" {noise_db} dB"


if __name__ == "__main__":
    main()
