"""What the tiny Whisper is trained on: thousands of sentences said by every voice."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import numpy as np

from tests.whisper import grammar
from tests.whisper.voices import (
    VOICES,
    Phone,
    SynthesiserMissing,
    Utterance,
    Word,
    installed,
    utter,
)


def gathered(folder: Path, count: int, seed: int) -> list[Utterance]:
    """The corpus kept in the folder; said now, with some minutes' patience, where there is none."""
    facts, sound = folder / "corpus.json", folder / "corpus.npy"
    if not facts.exists():
        folder.mkdir(parents=True, exist_ok=True)
        _keep(say(count, seed), facts, sound)
    return _kept(facts, sound)


def say(count: int, seed: int) -> list[Utterance]:
    """Say random sentences, at paces and pitches as people differ."""
    if not installed():
        raise SynthesiserMissing
    # The programs do the work, in processes of their own: threads are enough to keep two cores busy.
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda number: _say_one(number, seed), range(count)))


def _say_one(number: int, seed: int) -> Utterance:
    rng = Random(f"{seed}-{number}")
    text = grammar.sentence(rng, held_out=False)
    # Half are said as the voice is, the way it speaks when nobody asks for anything else.
    if rng.random() < 0.5:
        return utter(text, VOICES[number % len(VOICES)])
    return utter(text, VOICES[number % len(VOICES)], rng.uniform(0.85, 1.2), rng.random())


def _keep(corpus: list[Utterance], facts: Path, sound: Path) -> None:
    whole = np.concatenate([said.samples for said in corpus])
    np.save(sound, (np.clip(whole, -1, 1) * 32767).astype(np.int16))
    entries = [
        {
            "text": said.text,
            "voice": said.voice,
            "length": len(said.samples),
            "words": said.words,
            "phones": said.phones,
        }
        for said in corpus
    ]
    # Written last: the facts are there only when the sound is complete.
    facts.write_text(json.dumps(entries), encoding="utf-8")


def _kept(facts: Path, sound: Path) -> list[Utterance]:
    whole, at, corpus = np.load(sound), 0, []
    for entry in json.loads(facts.read_text(encoding="utf-8")):
        samples = whole[at : at + entry["length"]].astype(np.float32) / 32767
        at += entry["length"]
        words = [Word(*word) for word in entry["words"]]
        phones = [Phone(*phone) for phone in entry["phones"]]
        corpus.append(Utterance(entry["text"], entry["voice"], samples, words, phones))
    return corpus
