"""A recording of ten hours: how much memory it takes, what is told of it, stop, kill and go on."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import psutil
import soundfile

from finetune import projects
from finetune.jobs import process, queue
from finetune.jobs.events import Progress as Step
from finetune.jobs.events import from_line
from finetune.jobs.folder import JobFolder, read_lines
from finetune.settings import HearSettings
from finetune.wishes import Wish
from tests import speech
from tests.bench import dataset, studios
from tests.bench.progress import Progress
from tests.bench.record import Benchmark, CannotMeasure, Figure, Measured, Settings, together
from voices.workspace import Workspace

HOURS = 10
SHORT_HOURS = 1 / 6
GAPS_S = (0.4, 1.1, 0.2, 1.8, 0.7)
LOOK_S = 0.1
STOP_AFTER_PIECES = KILL_AFTER_PIECES = 2
PIECE_PATIENCE_S = 120.0


def measure(settings: Settings, progress: Progress) -> Measured:
    """Build from a long recording and a short one; `--rounds` is how many hours the long one has."""
    hours = settings.rounds or HOURS
    parts = {"memory": _measure_memory, "stop": _measure_stop, "kill": _measure_kill}
    wanted = [part for name, part in parts.items() if settings.wants(name)]
    return together([part(hours, progress) for part in progress.through(wanted, "parts")])


# ---- The recording -------------------------------------------------------------------------------


def write_recording(path: Path, hours: float) -> float:
    """Write so many hours of speech by repeating some minutes of it; returns its seconds."""
    samples, _ = speech.joined(speech.bundled(), GAPS_S, noise_db=30)
    left = total = round(hours * 3600 * speech.RATE)
    with soundfile.SoundFile(path, "w", speech.RATE, 1, "PCM_16", format="FLAC") as file:
        block = np.round(samples * 32767).astype(np.int16)
        while left > 0:
            file.write(block[:left])
            left -= len(block)
    return total / speech.RATE


# ---- Watching a job ------------------------------------------------------------------------------


@dataclass
class Watched:
    """What was seen of a job while it ran."""

    peak_mb: float = 0.0
    """The most that all its processes held together, keeper included."""
    longest_silence_s: float = 0.0
    """The longest time without a word of how far it is, from the start to the end."""
    took_s: float = 0.0


def watch(folder: JobFolder, done: Callable[[], object]) -> Watched:
    """Look at a job ten times a second until it is done."""
    seen, position = Watched(), 0
    began = told = time.monotonic()
    while not done():
        lines, position = read_lines(folder.events_path, position)
        now = time.monotonic()
        seen.longest_silence_s = max(seen.longest_silence_s, now - told)
        if any(isinstance(from_line(line), Step) for line in lines):
            told = now
        seen.peak_mb = max(seen.peak_mb, memory_mb(process.family(folder.id)))
        time.sleep(LOOK_S)
    seen.took_s = time.monotonic() - began
    return seen


def memory_mb(processes: Sequence[psutil.Process]) -> float:
    """What processes hold of the memory, each page that they share counted for each."""
    return sum(_resident(each) for each in processes) / 1e6


def _resident(one: psutil.Process) -> int:
    try:
        resident: int = one.memory_info().rss
    except psutil.NoSuchProcess:
        return 0
    return resident


# ---- What was done -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a recording that was gone over, and what was found in it."""

    hearing: int
    start: float
    end: float
    words: str


def pieces(workspace: Workspace) -> list[Piece]:
    """All that is kept so far in all projects, in the order of the recording."""
    return sorted(_pieces(workspace), key=lambda piece: (piece.start, piece.hearing))


def _pieces(workspace: Workspace) -> Iterator[Piece]:
    for path in workspace.projects.glob("*/project.db"):
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as store:
            for row in store.execute('SELECT hearing, start, "end", words FROM stretches'):
                yield Piece(*row)


def lost(before: Sequence[Piece], after: Sequence[Piece]) -> int:
    """How many pieces are no longer there as they were."""
    return len({*before} - {*after})


def done_twice(found: Sequence[Piece]) -> int:
    """How many pieces begin before the one before them has ended."""
    return sum(left.end > right.start + 1e-6 for left, right in pairwise(found))


# ---- The parts -----------------------------------------------------------------------------------


def _measure_memory(hours: float, progress: Progress) -> Measured:
    short, long = (_watch_whole(length) for length in (SHORT_HOURS, hours))
    return Measured(
        {
            "hours": hours,
            "build_s": long.took_s,
            "peak_mb": long.peak_mb,
            "short_peak_mb": short.peak_mb,
            "extra_peak_mb": long.peak_mb - short.peak_mb,
            "longest_silence_s": max(long.longest_silence_s, short.longest_silence_s),
        }
    )


def _watch_whole(hours: float) -> Watched:
    with studios.short_lived_workspace() as workspace:
        folder = _start(workspace, hours)
        seen = watch(folder, folder.outcome)
        _refuse_if_failed(folder)
        return seen


def _measure_stop(hours: float, progress: Progress) -> Measured:
    with studios.short_lived_workspace() as workspace:
        folder = _start(workspace, hours)
        _wait_for_pieces(workspace, folder, STOP_AFTER_PIECES)
        began = time.monotonic()
        queue.stop(workspace, folder.id)
        studios.outcome_of(folder)
        stopped = time.monotonic() - began
        return Measured({"stop_s": stopped, "strays": len(studios.wait_for_no_family(folder))})


def _measure_kill(hours: float, progress: Progress) -> Measured:
    with studios.short_lived_workspace() as workspace:
        folder = _start(workspace, SHORT_HOURS)
        _wait_for_pieces(workspace, folder, KILL_AFTER_PIECES)
        # The keeper first: it would see the end of the other and tidy up.
        studios.kill(studios.keeper_of(workspace, folder))
        process.kill(process.family(folder.id))
        before = pieces(workspace)
        again = _submit(workspace)
        watch(again, again.outcome)
        _refuse_if_failed(again)
        after = pieces(workspace)
        return Measured(
            {
                "pieces_before_kill": len(before),
                "pieces_after": len(after),
                "pieces_lost": lost(before, after),
                "pieces_done_twice": done_twice(after),
            }
        )


def _start(workspace: Workspace, hours: float) -> JobFolder:
    """Begin to build from a recording that lies beside the workspace."""
    write_recording(_recording(workspace), hours)
    projects.create(workspace, "Bench")
    return _submit(workspace)


def _submit(workspace: Workspace) -> JobFolder:
    (project,) = projects.shelf(workspace).all()
    wish = Wish(
        *(str(projects.folder_of(workspace, project)), str(workspace.root / "models")),
        sources=(str(_recording(workspace)),),
        whisper=str(dataset.MODEL),
        hear=HearSettings(language="en", window_seconds=dataset.WINDOW_S),
    )
    path = _recording(workspace).with_name("wish.json")
    return queue.submit(workspace, dataset.build_request(wish, path)).folder


def _recording(workspace: Workspace) -> Path:
    return workspace.projects.parents[1] / "long.flac"


def _wait_for_pieces(workspace: Workspace, folder: JobFolder, count: int) -> None:
    def there() -> bool:
        return len(pieces(workspace)) >= count or folder.outcome() is not None

    if not studios.wait_for(there, PIECE_PATIENCE_S) or folder.outcome() is not None:
        raise CannotMeasure(f"the job ended or kept nothing: {folder.log_tail()}")


def _refuse_if_failed(folder: JobFolder) -> None:
    outcome = folder.outcome()
    if outcome is None or outcome.cause != "finished":
        raise CannotMeasure(f"the job did not finish: {folder.log_tail()}")


BENCHMARK = Benchmark(
    name="long",
    about="A recording of ten hours: memory, progress, stop, and going on after kill -9.",
    figures=(
        Figure("hours", "of speech in one recording"),
        Figure("build_s", "how long the whole build took"),
        Figure("peak_mb", "the most memory its processes held together"),
        Figure("short_peak_mb", "the same for ten minutes"),
        Figure("extra_peak_mb", "more than for ten minutes", "<= 300"),
        Figure("longest_silence_s", "longest time without a word of how far it is", "<= 5"),
        Figure("stop_s", "from the wish to stop to the end", "< 5"),
        Figure("strays", "processes left after that", "== 0"),
        Figure("pieces_before_kill", "finished when it was killed"),
        Figure("pieces_after", "finished at the end, after it was started again"),
        Figure("pieces_lost", "of those from before, not there as they were", "== 0"),
        Figure("pieces_done_twice", "gone over a second time", "== 0"),
    ),
    measure=measure,
    parts=("memory", "stop", "kill"),
)
