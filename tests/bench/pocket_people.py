"""Who speaks naturally: the voices of synthesisers, and a woman who recorded prompts."""

from __future__ import annotations

import gzip
import random
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engines.base import Sound
from engines.pocket.facts import RATE
from engines.pocket.pretrain.teachers import PACKAGES, TEACHERS, Said, Teacher, say
from tests.bench.pocket_scores import words_of
from tests.bench.record import CannotMeasure

JUDGED = Teacher("rms", "flite", "rms", 0.0)
"""Nothing that ships has learned from him."""
OTHERS = TEACHERS


def said_by(teacher: Teacher, texts: Sequence[str]) -> list[Said]:
    """Have a synthesiser say sentences."""
    with tempfile.TemporaryDirectory(prefix="timbre-bench-") as between:
        try:
            return say(teacher, texts, Path(between))
        except (subprocess.CalledProcessError, FileNotFoundError) as cause:
            raise CannotMeasure(
                f"{teacher.synthesiser} does not speak with the voice {teacher.voice}."
                f" On Debian: apt-get install {PACKAGES}"
            ) from cause


def sounds_of(said: Sequence[Said]) -> list[Sound]:
    return [Sound(each.samples, RATE) for each in said]


# ---- Allison Smith, who speaks for Asterisk (CC-BY-SA 3.0) ---------------------------------------

TRANSCRIPT = Path("/usr/share/doc/asterisk-core-sounds-en/core-sounds-en.txt.gz")
PROMPTS = Path("/usr/share/asterisk/sounds/en_US_f_Allison")
_PACKAGES = "asterisk-core-sounds-en asterisk-core-sounds-en-g722"
_BYTES_A_SECOND = 8000
_SHORTEST_S, _LONGEST_S = 1.0, 12.0
_FEWEST_WORDS, _FEWEST_JUDGED = 3, 4
# Digits, signs, names of protocols and what is no speech at all are left out.
_PLAIN = re.compile(r"[A-Za-z' ,.;:!?]+")
_CAPITALS = re.compile(r"[A-Z]{2}")


@dataclass(frozen=True, slots=True)
class Prompt:
    """One recording, and what is said in it."""

    name: str
    text: str
    seconds: float


def is_installed() -> bool:
    return TRANSCRIPT.exists() and PROMPTS.exists()


def prompts() -> list[Prompt]:
    """List the recordings that are plain English sentences."""
    if not is_installed():
        raise CannotMeasure(
            "the recordings of a human voice are not installed."
            f" On Debian: apt-get install {_PACKAGES}"
        )
    lines = gzip.decompress(TRANSCRIPT.read_bytes()).decode("utf-8", "replace").splitlines()
    found = [_prompt(*line.partition(": ")[::2]) for line in lines if not line.startswith(";")]
    return [each for each in found if each is not None and _is_plain(each)]


def _prompt(name: str, text: str) -> Prompt | None:
    path = PROMPTS / f"{name}.g722"
    if not path.is_file():
        return None
    return Prompt(name, text.strip(" ."), path.stat().st_size / _BYTES_A_SECOND)


def _is_plain(prompt: Prompt) -> bool:
    return (
        _PLAIN.fullmatch(prompt.text) is not None
        and _CAPITALS.search(prompt.text) is None
        and _SHORTEST_S <= prompt.seconds <= _LONGEST_S
        and len(words_of(prompt.text)) >= _FEWEST_WORDS
    )


def divided(
    every: Sequence[Prompt], seconds: float, seed: int
) -> tuple[list[Prompt], list[Prompt]]:
    """
    Choose by chance what is learned from, up to so many seconds; of the rest, what is judged by.

    A text is learned from or judged by, never both, and judged by once.
    """
    order = list(every)
    random.Random(seed).shuffle(order)
    taught: list[Prompt] = []
    for prompt in order:
        if sum(each.seconds for each in taught) + prompt.seconds <= seconds:
            taught.append(prompt)
    known = {_same(each) for each in taught}
    judged = {_same(each): each for each in order if _same(each) not in known}
    return taught, [each for text, each in judged.items() if len(text) >= _FEWEST_JUDGED]


def _same(prompt: Prompt) -> tuple[str, ...]:
    return tuple(words_of(prompt.text))


def recorded(prompt: Prompt) -> Sound:
    """Decode one of the recordings."""
    import av

    with av.open(str(PROMPTS / f"{prompt.name}.g722")) as container:
        frames = [frame.to_ndarray().ravel() for frame in container.decode(audio=0)]
    return Sound(np.concatenate(frames).astype(np.float32) / np.float32(32768), RATE)
