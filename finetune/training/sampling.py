"""Sentences spoken with the weights of a step, kept beside those of the other steps."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from engines.base import Sound, Trainable
from engines.errors import DiskFullError, EngineError, StudioError
from finetune.jobs.events import Event, Said, Sampled
from finetune.training import memory, randomness
from finetune.training.judging import Judge
from voices import files

TABLE = "samples.json"
Say = Callable[[Event], None]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Spoken:
    """A sentence, how it sounded and how it was judged. `number` is its place among all."""

    number: int
    text: str
    sound: Sound
    similarity: float | None
    character_errors: float | None

    @property
    def file(self) -> str:
        return f"{self.number:02}.flac"

    def row(self, seed: int) -> dict[str, Any]:
        return {
            "text": self.text,
            "file": self.file,
            "seconds": round(self.sound.seconds, 3),
            "similarity": self.similarity,
            "character_errors": self.character_errors,
            "seed": seed,
        }


class _OutOfMemory(Exception):
    """There was no memory left to speak a sentence with."""


def speak_samples(
    trainable: Trainable,
    sentences: Sequence[str],
    language: str,
    reference: Sound,
    seed: int,
    folder: Path,
    step: int,
    judge: Judge,
    say: Say,
    stop: Callable[[], bool],
    told: Callable[[int], None] = lambda done: None,
) -> list[Sampled]:
    """
    Speak each sentence, keep it in `folder` and tell of it; the training is not changed by it.

    `told` is called with how many are spoken.

    What was spoken for the step before is left as it is and told again. When memory runs out or
    `stop` says so, what was spoken until then is kept; a sentence that fails is left out; on a full
    disk there are none.
    """
    target = folder / f"step-{step:06}"
    if not files.exists(target):
        with undisturbed(trainable.network):
            spoken = list(
                _speak_all(trainable, sentences, language, reference, seed, judge, say, stop, told)
            )
        if not spoken:
            return []
        try:
            _keep(spoken, len(sentences), seed, step, target)
        except DiskFullError as error:
            say(Said(f"The samples of step {step} could not be kept. {error.what} {error.fix}"))
            return []
    found = _read(target, step)
    for sample in found:
        say(sample)
    return found


@contextmanager
def undisturbed(network: Any) -> Iterator[None]:
    """Let a network speak, and leave it and every random generator as they were."""
    learning = {module: module.training for module in network.modules()}
    with randomness.untouched():
        try:
            network.eval()
            # Not inference mode: what a network keeps from it could never be learned through again.
            with torch.no_grad():
                yield
        finally:
            for module, was in learning.items():
                module.training = was


def flac(sound: Sound) -> bytes:
    return encoded(sound, "FLAC")


def encoded(sound: Sound, format: str) -> bytes:
    """A sound as the content of a file of 16 bit: FLAC or WAV."""
    import soundfile

    # In whole numbers: soundfile reads them as parts of 32,768 and writes parts of 32,767.
    whole = np.rint(sound.samples * np.float32(32768)).clip(-32768, 32767).astype(np.int16)
    file = io.BytesIO()  # on the disk, libsndfile would not say that there is no room
    soundfile.write(file, whole, sound.rate, format=format, subtype="PCM_16")
    return file.getvalue()


def spoken(trainable: Trainable, text: str, language: str, reference: Sound, seed: int) -> Sound:
    """Speak one sentence, and raise EngineError for what is no sound."""
    sound = trainable.speak(text, language, reference, seed)
    if not len(sound.samples):
        raise EngineError("Nothing was said.", "The weights may be damaged by training.")
    if not np.isfinite(sound.samples).all():
        raise EngineError(
            "What was said is not a sound: it holds invalid numbers.",
            "The weights may be damaged by training: a lower learning rate may help.",
        )
    return sound


def _speak_all(
    trainable: Trainable,
    sentences: Sequence[str],
    language: str,
    reference: Sound,
    seed: int,
    judge: Judge,
    say: Say,
    stop: Callable[[], bool],
    told: Callable[[int], None],
) -> Iterator[_Spoken]:
    for number, text in enumerate(sentences):
        if stop():
            return
        try:
            sound = _speak(trainable, text, language, reference, seed, say)
        except _OutOfMemory:
            say(
                Said(
                    "Memory ran out while samples were spoken, so the rest of them is missing for"
                    " this step. The training goes on."
                )
            )
            return
        if sound is not None:
            alike = judge.similarity(sound)
            yield _Spoken(number, text, sound, alike, judge.character_errors(sound, text, language))
        told(number + 1)


def _speak(
    trainable: Trainable, text: str, language: str, reference: Sound, seed: int, say: Say
) -> Sound | None:
    """Speak a sentence; None, and the cause is told, when the engine fails at it."""
    try:
        return spoken(trainable, text, language, reference, seed)
    except Exception as error:  # whatever it is, the training is worth more than a sample
        out_of_memory = memory.is_out_of_memory(error)
        if not out_of_memory:
            _log.exception("A sample could not be spoken: %s", text)
            say(Said(f"“{_excerpt(text)}” could not be spoken: {cause_of(error)}"))
    if out_of_memory:
        memory.free()  # here, where the error no longer holds what the engine had in memory
        raise _OutOfMemory
    return None


def cause_of(error: Exception) -> str:
    """An error in a sentence."""
    if isinstance(error, StudioError):
        return f"{error.what} {error.fix}"
    said = " ".join(str(error).split()).rstrip(".")
    return f"{type(error).__name__}: {said}." if said else f"{type(error).__name__}."


def _excerpt(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def _keep(spoken: Sequence[_Spoken], wanted: int, seed: int, step: int, target: Path) -> None:
    if not target.parent.exists():
        files.make_folder(target.parent)
    with files.new_folder(target) as new:
        for each in spoken:
            (new / each.file).write_bytes(flac(each.sound))
        rows = [each.row(seed) for each in spoken]
        files.write_json(new / TABLE, {"v": 1, "step": step, "sentences": wanted, "samples": rows})


def _read(target: Path, step: int) -> list[Sampled]:
    table = json.loads((target / TABLE).read_text("utf-8"))
    inside = f"{target.parent.name}/{target.name}"
    return [
        Sampled(
            step,
            row["text"],
            f"{inside}/{row['file']}",
            row["seconds"],
            row["similarity"],
            row["character_errors"],
        )
        for row in table["samples"]
    ]
