"""
The corpus: sentences said by every teacher, at several speeds, as features in numbered files.

A file is written whole, and one that is there is not made again.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file
from scipy.signal import resample_poly

from engines.base import Features
from engines.pocket.facts import HOP, PAUSE, RATE
from engines.pocket.features import features_of
from engines.pocket.pretrain.corpus import sentences
from engines.pocket.pretrain.labels import rows_of
from engines.pocket.pretrain.teachers import TEACHERS, Said, Teacher, say
from engines.pocket.sound import levelled, spoken_part, whole_frames

AT_ONCE = 100
"""Texts in one file."""
# Sounds of a length stretched so: pitch, size of the mouth and speed change together, and one
# person becomes seven.
SPEEDS = ((17, 20), (18, 20), (19, 20), (1, 1), (21, 20), (22, 20), (23, 20))
_AS_IT_IS = 3
_FEWEST_FRAMES, _MOST_FRAMES = 20, 480
_SOUNDS_LIKE = {
    "axr": "er",
    "ix": "ih",
    "dx": "t",
    "nx": "n",
    "hv": "hh",
    "h#": PAUSE,
    "brth": PAUSE,
}
_CHECKED_SHARE = 0.02


@dataclass(frozen=True, slots=True)
class Portion:
    """What one file holds: some sentences of one teacher."""

    number: int
    teacher: Teacher
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Taught:
    """One sentence at one speed."""

    features: Features
    voice: str
    """The teacher and the speed: who speaks."""
    is_check: bool


def portions(count: int, seed: int) -> Iterator[Portion]:
    """Deal sentences out to the teachers."""
    texts, number, dealt = sentences(count, seed), 0, 0.0
    for teacher in TEACHERS:
        first, dealt = round(dealt * count), dealt + teacher.share
        own = texts[first : round(dealt * count)]
        for start in range(0, len(own), AT_ONCE):
            yield Portion(number, teacher, tuple(own[start : start + AT_ONCE]))
            number += 1


def make(folder: Path, count: int, seed: int, workers: int) -> Iterator[tuple[int, int]]:
    """Make what is missing of the corpus; tell how many of its files are done."""
    folder.mkdir(parents=True, exist_ok=True)
    every = list(portions(count, seed))
    wanted = [each for each in every if not _path(folder, each.number).exists()]
    done = len(every) - len(wanted)
    yield done, len(every)
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        for _ in as_completed([pool.submit(_make, folder, each, seed) for each in wanted]):
            done += 1
            yield done, len(every)


def load(folder: Path, count: int, seed: int, with_samples: bool = False) -> list[Taught]:
    """All of a corpus, mapped into memory."""
    taught: list[Taught] = []
    for portion in portions(count, seed):
        taught += _unpacked(load_file(_path(folder, portion.number)), portion, with_samples)
    return taught


def _path(folder: Path, number: int) -> Path:
    return folder / f"corpus-{number:04d}.safetensors"


def _make(folder: Path, portion: Portion, seed: int) -> None:
    chance = random.Random(f"{seed} {portion.number}")
    found: list[_Found] = []
    with TemporaryDirectory() as between:
        for text, said in enumerate(say(portion.teacher, portion.texts, Path(between))):
            others = [speed for speed in range(len(SPEEDS)) if speed != _AS_IT_IS]
            for speed in (_AS_IT_IS, chance.choice(others)):
                features = taught_by(said, *SPEEDS[speed])
                found += [_Found(text, speed, features)] if features else []
    path = _path(folder, portion.number)
    part = path.with_suffix(".part")
    save_file(_packed(found), part)
    part.replace(path)


def taught_by(said: Said, up: int, down: int) -> Features | None:
    """What is learned from a sentence at a speed; None when its sounds do not fit its text."""
    phones = [_SOUNDS_LIKE.get(each, each) for each in said.phones]
    rows = rows_of(said.text, phones)
    if rows is None:
        return None
    samples = said.samples if up == down else resample_poly(said.samples, up, down)
    samples = levelled(np.asarray(samples, np.float32))
    start, end = spoken_part(samples)
    samples = whole_frames(samples[start:end])
    frames = len(samples) // HOP
    if not max(_FEWEST_FRAMES, len(rows)) <= frames <= _MOST_FRAMES:
        return None
    ends = np.array(said.ends) * up / down - start / RATE
    return features_of(samples, rows, frames_of(ends, frames))


def frames_of(ends: np.ndarray[Any, Any], frames: int) -> np.ndarray[Any, Any]:
    """How many frames each sound has, at least one, all of them together."""
    bounds = np.round(ends * RATE / HOP).astype(int)
    bounds[-1] = frames
    for place in range(len(bounds)):
        bounds[place] = max(bounds[place], bounds[place - 1] + 1 if place else 1)
    for place in range(len(bounds) - 1, -1, -1):
        bounds[place] = min(bounds[place], frames - (len(bounds) - 1 - place))
    return np.diff(bounds, prepend=0)


# ---- On disk ----

_PER_SOUND, _PER_FRAME = ("rows", "durations"), ("mels", "pitch", "voiced", "samples")


@dataclass(frozen=True, slots=True)
class _Found:
    """One sentence at one speed, before it is kept."""

    text: int
    speed: int
    features: Features


def _packed(found: list[_Found]) -> dict[str, Any]:
    every = [each.features for each in found]
    packed = {name: _joined([each[name] for each in every]) for name in (*_PER_SOUND, *_PER_FRAME)}
    packed["manner"] = np.array([each["manner"] for each in every])
    packed["texts"] = np.array([each.text for each in found], np.int64)
    packed["speeds"] = np.array([each.speed for each in found], np.int64)
    packed["sounds"] = np.array([len(each["durations"]) for each in every], np.int64)
    packed["frames"] = np.array([len(each["mels"]) for each in every], np.int64)
    return packed


def _joined(arrays: list[Any]) -> Any:
    return np.concatenate(arrays) if arrays else np.zeros(0)


def _unpacked(packed: dict[str, Any], portion: Portion, with_samples: bool) -> Iterator[Taught]:
    sounds = np.cumsum(packed["sounds"])
    frames = np.cumsum(packed["frames"])
    first_checked = int(len(portion.texts) * (1 - _CHECKED_SHARE))
    for place in range(len(sounds)):
        of_sounds = slice(sounds[place] - packed["sounds"][place], sounds[place])
        of_frames = slice(frames[place] - packed["frames"][place], frames[place])
        features = {name: packed[name][of_sounds] for name in _PER_SOUND}
        features |= {name: packed[name][of_frames] for name in ("mels", "pitch", "voiced")}
        if with_samples:
            of_samples = slice(of_frames.start * HOP, of_frames.stop * HOP)
            features["samples"] = packed["samples"][of_samples]
        voice = f"{portion.teacher.name} {packed['speeds'][place]}"
        is_check = bool(packed["texts"][place] >= first_checked)
        yield Taught({**features, "manner": packed["manner"][place]}, voice, is_check)
