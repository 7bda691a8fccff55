"""What two trainers learn the same from, and what is measured of both in the same way."""

from __future__ import annotations

import math
import resource
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import psutil
import soundfile
from scipy.signal import resample_poly

from tests import speech

RATE = 22050
SHORTEST_S, LONGEST_S = 1.0, 11.0
# Clips that are cut at sentence ends are mostly short and now and then long.
_MEDIAN_S, _SPREAD = 4.5, 0.5
LIST = "metadata.csv"
LANGUAGE, SPEAKER = "en", "bench"
STRIDE = 1024
"""Samples in one code of XTTS."""
# Latents, the starts of text and codes, and the stops: in every row of every trainer.
_ALWAYS_THERE = 32 + 2 + 3


# ---- The clips -----------------------------------------------------------------------------------


def lengths(count: int, seed: int = 0) -> list[float]:
    """Draw how long clips are: log-normal, 1 to 11 s."""
    luck = Random(seed)

    drawn = [luck.lognormvariate(math.log(_MEDIAN_S), _SPREAD) for _ in range(count)]
    return [min(max(each, SHORTEST_S), LONGEST_S) for each in drawn]


def write(folder: Path, count: int, seed: int = 0) -> None:
    """Write clips and their list; the same speech on every machine, with or without a synthesiser."""
    (folder / "wavs").mkdir(parents=True)
    luck, said = Random(seed), speech.bundled()
    lines = []
    for number, seconds in enumerate(lengths(count, seed)):
        samples, text = _joined(luck.sample(said, len(said)), seconds)
        name = f"{number:04d}"
        louder = resample_poly(samples, RATE // 50, speech.RATE // 50).astype(np.float32)
        soundfile.write(folder / "wavs" / f"{name}.wav", louder, RATE, subtype="PCM_16")
        lines.append(f"{name}|{text}|{text}\n")
    (folder / LIST).write_text("".join(lines), encoding="utf-8")


def read(folder: Path) -> list[tuple[Path, str]]:
    """The clips of a folder and their texts."""
    lines = (folder / LIST).read_text(encoding="utf-8").splitlines()
    rows = [line.split("|") for line in lines]
    return [(folder / "wavs" / f"{name}.wav", text) for name, text, _ in rows]


def _joined(utterances: Sequence[speech.Utterance], seconds: float) -> tuple[np.ndarray, str]:
    """Sentences one after another until it is about so long; the last ends with a whole word."""
    parts, words, left = [], [], seconds
    for said in utterances:
        fits = [word for word in said.words if word.end <= left]
        if not fits:
            break
        whole = len(fits) == len(said.words)
        end = len(said.samples) if whole else round(fits[-1].end * speech.RATE)
        parts.append(said.samples[:end])
        words += [word.text for word in fits]
        left -= end / speech.RATE
    return np.concatenate(parts), " ".join(words)


# ---- What both measure the same way --------------------------------------------------------------


class Clock:
    """A span of wall time and of processor time, loaders included; `wait` waits for the GPU."""

    def __init__(self, wait: Callable[[], object]) -> None:
        self._wait = wait
        self.began = False
        self.seconds = self.cpu_seconds = 0.0

    def start(self) -> None:
        self.began = True
        self._at = self._now()

    def stop(self) -> None:
        (began, cpu_began), (ended, cpu_ended) = self._at, self._now()
        self.seconds, self.cpu_seconds = ended - began, cpu_ended - cpu_began

    def _now(self) -> tuple[float, float]:
        self._wait()
        return time.perf_counter(), time.process_time() + sum(map(_cpu_seconds, _loaders()))


def _loaders() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


def _cpu_seconds(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system)


class Rows:
    """Counts the positions a transformer computes, and those of them that clips need."""

    def __init__(self, first_block: Any) -> None:
        self.computed = self.needed = 0
        first_block.register_forward_pre_hook(self._see)

    def need(self, positions: int) -> None:
        """Note the texts and codes of clips that are about to be computed."""
        self.needed += positions

    @property
    def padding(self) -> float:
        return 1 - self.needed / self.computed if self.computed else 0.0

    def _see(self, block: Any, given: Sequence[Any]) -> None:
        clips, length = given[0].shape[:2]
        self.computed += clips * (length - _ALWAYS_THERE)


def codes_in(samples: int) -> int:
    return -(-samples // STRIDE)


def host_peak_mb() -> float:
    """The most memory this process ever held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def refuse_network() -> None:
    """Let nothing be fetched or told: what is measured must work from this computer alone."""

    def heed(event: str, details: tuple[Any, ...]) -> None:
        # Loaders talk to each other through sockets that have a path.
        if event == "socket.connect" and isinstance(details[1], tuple):
            raise RuntimeError(f"It wanted to reach {details[1]} over the network.")

    sys.addaudithook(heed)


def over(epochs: Sequence[Sequence[int]], clips: int) -> tuple[int, int]:
    """How many clips epochs left out and how many came more than once."""
    missing = sum(clips - len(set(epoch)) for epoch in epochs)
    twice = sum(len(epoch) - len(set(epoch)) for epoch in epochs)
    return missing, twice


def whole_epochs(seen: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Clips by the epoch they were seen in."""
    found: dict[int, list[int]] = {}
    for epoch, clip in seen:
        found.setdefault(epoch, []).append(clip)
    return [*found.values()]
