"""
A long text spoken as a job does it: its first sound, its memory, its joins, and a stop within it.

`python -m tests.bench.speaking_text TASK.json TOLD.json`: the process that speaks.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import psutil
import soundfile

from engines.base import Sound
from finetune import speaking
from finetune.jobs.folder import JobFolder
from finetune.jobs.worker import Job
from finetune.speaking import SpeakWish
from finetune.wishes import REPORT
from tests import finished
from tests.bench import speaking_scores as scores
from tests.bench.progress import Progress
from tests.bench.record import Measured, Settings
from tests.bench.speaking_travel import in_process
from tests.bench.timing import alternate
from voices import library
from voices.library import Voice
from voices.speaking import formats, joining
from voices.speaking.formats import Loudness, Written
from voices.speaking.narrator import Narrator
from voices.workspace import open_workspace

TEXT = Path(__file__).with_name("speaking_text.txt")
"""Its longest sentence is in its first tenth: later ones need no more memory than that."""
FIRST_ROUNDS = 40
STOPS = 12
_FIRST_STOP_S, _LAST_STOP_S = 0.2, 2.0


def measure(work: Path, settings: Settings, progress: Progress) -> Measured:
    """Speak the text in a process that does nothing else."""
    with closing(open_workspace(work / "home")) as workspace:
        voice = library.keep(workspace, finished.voice(work / "made"), "Ada")
    wish = SpeakWish(str(work / "home"), voice.id, str(TEXT), str(work / "spoken.flac"))
    speaking.write_wish(wish, work / "wish.json")
    in_process("tests.bench.speaking_text", work / "wish.json", work / "told.json")
    return Measured(json.loads((work / "told.json").read_bytes()))


# ---- In the process ------------------------------------------------------------------------------


def main(wish_path: Path, told_path: Path) -> int:
    wish = speaking.read_wish(wish_path)
    figures = _as_a_job(wish, told_path.parent / "job")
    with closing(open_workspace(Path(wish.workspace))) as workspace:
        voice = library.find(workspace, wish.voice)
    figures |= _first_sound(_narrator(voice)) | _stops(_narrator(voice))
    told_path.write_text(json.dumps(figures), encoding="utf-8")
    return 0


def _narrator(voice: Voice) -> Narrator:
    return Narrator(voice.folder, voice.facts)


@dataclass
class _Watched:
    """What was seen of the blocks that a file was written of."""

    lengths: list[int] = field(default_factory=list)
    held_mb: list[float] = field(default_factory=list)
    """The most that the process has held by the time of each."""
    took_s: float = 0.0

    def write(self, path: Path, blocks: Iterable[Sound], loudness: Loudness | None) -> Written:
        began = time.perf_counter()
        written = _WRITE(path, self._watched(blocks), loudness)
        self.took_s = time.perf_counter() - began
        self.held_mb.append(peak_mb())
        return written

    def _watched(self, blocks: Iterable[Sound]) -> Iterator[Sound]:
        for block in blocks:
            self.lengths.append(len(block.samples))
            self.held_mb.append(peak_mb())
            yield block
            del block


_WRITE = formats.write


def _as_a_job(wish: SpeakWish, path: Path) -> dict[str, float]:
    """Speak all of it once, as `python -m finetune.speaking` does."""
    folder, watched = JobFolder(path), _Watched()
    (path / "control").mkdir(parents=True)
    with patch.object(formats, "write", watched.write):
        speaking.work(Job(folder), wish)
    [file] = json.loads((path / REPORT).read_bytes())["files"]
    samples, rate = soundfile.read(wish.target, dtype="float32")
    blocks = [each for each in np.split(samples, np.cumsum(watched.lengths)[:-1]) if len(each)]
    return {
        "characters": len(TEXT.read_text(encoding="utf-8")),
        "sentences": len(file["sentences"]),
        "spoken_s": file["seconds"],
        "speaking_rtf": watched.took_s / file["seconds"],
        "said_again": sum(each["tries"] > 1 for each in file["sentences"]),
        "memory_growth_mb": scores.growth(watched.held_mb),
        "memory_peak_mb": max(watched.held_mb),
        "joins": len(blocks) - 1,
        "clicks": scores.clicks(blocks, rate),
    }


def peak_mb() -> float:
    """The most this process has held so far; where the system keeps no count, what it holds."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(each for each in status.read_text().splitlines() if each.startswith("VmHWM"))
        return int(line.split()[1]) * 1024 / 1e6
    memory: Any = psutil.Process().memory_info()
    return float(getattr(memory, "peak_wset", memory.rss)) / 1e6


def _first_sound(narrator: Narrator) -> dict[str, float]:
    """Hear the first sound of the whole text, and its first sentence alone, in turn."""
    text = TEXT.read_text(encoding="utf-8")
    first = next(narrator.sentences(text)).spoken

    def alone() -> float:
        began = time.perf_counter()
        narrator.say(first)
        return time.perf_counter() - began

    def of_all() -> float:
        began = time.perf_counter()
        next(_blocks(narrator, text))
        return time.perf_counter() - began

    pairs = alternate(alone, of_all, range(FIRST_ROUNDS + 1))[1:]
    return {"first_sound_ratio": statistics.median(all_of / one for one, all_of in pairs)}


def _blocks(narrator: Narrator, text: str) -> Iterator[Sound]:
    told = narrator.tell(narrator.sentences(text), lambda: False)
    return joining.joined(
        joining.Said(each.spoken.sound, each.sentence.pause_after_s) for each in told
    )


def _stops(narrator: Narrator) -> dict[str, float]:
    """Ask a narrator to stop at any moment, again and again; the longest until it does."""
    luck, text = random.Random(0), TEXT.read_text(encoding="utf-8")
    return {"stop_s": max(_stopped(narrator, text, luck) for _ in range(STOPS))}


def _stopped(narrator: Narrator, text: str, luck: random.Random) -> float:
    asked, at = threading.Event(), [0.0]

    def ask() -> None:
        at[0] = time.perf_counter()
        asked.set()

    timer = threading.Timer(luck.uniform(_FIRST_STOP_S, _LAST_STOP_S), ask)
    timer.start()
    for _ in narrator.tell(narrator.sentences(text), asked.is_set):
        pass
    assert asked.is_set(), "the text was over before it was asked"
    return time.perf_counter() - at[0]


if __name__ == "__main__":
    raise SystemExit(main(*map(Path, sys.argv[1:])))
