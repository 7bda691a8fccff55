"""
The synthesisers that teach the base: what they say, and when each sound of it begins.

flite and festival, with voices that Debian ships under licences like BSD's. Both tell the times of
their sounds, in the sounds of CMU's dictionary. espeak-ng is left out: it has other sounds, tells
no times, and recognisers understand it worst of all.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile

from engines.base import Sound
from engines.errors import EngineError
from engines.pocket.sound import Floats, at_rate

PACKAGES = "flite festival festvox-us-slt-hts festvox-kdlpc16k"


@dataclass(frozen=True, slots=True)
class Teacher:
    """One voice of a synthesiser."""

    name: str
    synthesiser: str
    voice: str
    share: float
    """Of all texts."""


# Two of them are of one woman, by two ways of synthesis. rms is kept for judging.
TEACHERS = (
    Teacher("slt", "flite", "slt", 0.32),
    Teacher("awb", "flite", "awb", 0.32),
    Teacher("kal", "flite", "kal16", 0.18),
    Teacher("ked", "festival", "ked_diphone", 0.09),
    Teacher("slt-hts", "festival", "cmu_us_slt_arctic_hts", 0.09),
)
JUDGES = ("rms",)


@dataclass(frozen=True, slots=True)
class Said:
    """One sentence as it was synthesised."""

    text: str
    samples: Floats
    """At the rate of this engine."""
    phones: tuple[str, ...]
    ends: tuple[float, ...]
    """When each ends, in seconds."""


def say(teacher: Teacher, texts: Sequence[str], folder: Path) -> list[Said]:
    """Have sentences synthesised, using a folder for what is between."""
    made = _flite if teacher.synthesiser == "flite" else _festival
    return made(teacher.voice, texts, folder)


def _flite(voice: str, texts: Sequence[str], folder: Path) -> list[Said]:
    path, said = folder / "said.wav", []
    for text in texts:
        told = _told("flite", "-voice", voice, "-psdur", "-t", text, "-o", str(path))
        marks = [each.rpartition(":") for each in told.split()]
        phones, ends = tuple(mark[0] for mark in marks), tuple(float(mark[2]) for mark in marks)
        said.append(Said(text, _samples(path), phones, ends))
    return said


def _festival(voice: str, texts: Sequence[str], folder: Path) -> list[Said]:
    script = [f"(voice_{voice})"]
    for number, text in enumerate(texts):
        quoted = text.replace('"', "")
        script.append(f'(set! said (utt.synth (Utterance Text "{quoted}")))')
        script.append(f'(utt.save.wave said "{folder / str(number)}.wav" \'riff)')
        script.append(f'(utt.save.segs said "{folder / str(number)}.segs")')
    (folder / "say.scm").write_text("\n".join(script), encoding="ascii")
    _told("festival", "-b", str(folder / "say.scm"))
    return [_from_festival(text, folder / str(number)) for number, text in enumerate(texts)]


def _from_festival(text: str, path: Path) -> Said:
    lines = path.with_suffix(".segs").read_text(encoding="ascii").splitlines()
    marks = [fields for line in lines if len(fields := line.split()) == 3]
    phones, ends = tuple(mark[2] for mark in marks), tuple(float(mark[0]) for mark in marks)
    return Said(text, _samples(path.with_suffix(".wav")), phones, ends)


def _told(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except FileNotFoundError as cause:
        raise EngineError(
            f"{command[0]} is not installed, and it teaches the base.",
            f"On Debian: apt-get install {PACKAGES}",
        ) from cause
    return done.stdout


def _samples(path: Path) -> Floats:
    samples, rate = soundfile.read(path, dtype="float32")
    return at_rate(Sound(np.asarray(samples, np.float32), rate))
