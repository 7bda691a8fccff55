"""Jobs that speak, asked to stop through their folders: how long until they have ended."""

from __future__ import annotations

import random
import time
from pathlib import Path

from finetune import submitting
from finetune.jobs import queue
from finetune.jobs.folder import JobFolder
from finetune.speaking import SpeakWish
from tests import finished
from tests.bench.progress import Progress
from tests.bench.record import CannotMeasure, Measured, Settings
from tests.bench.speaking_text import TEXT
from tests.bench.studios import short_lived_workspace, wait_for
from voices import library
from voices.workspace import Workspace

STOPS = 5
_MOST_SENTENCES = 12
_PATIENCE_S = 300.0


def measure(work: Path, settings: Settings, progress: Progress) -> Measured:
    """Stop jobs within sentences, and one that writes what it has spoken."""
    luck, stops = random.Random(1), settings.rounds or STOPS
    with short_lived_workspace() as workspace:
        voice = library.keep(workspace, finished.voice(work / "made"), "Ada")

        def begun(name: str) -> JobFolder:
            wish = SpeakWish(str(workspace.root), voice.id, str(TEXT), str(work / name))
            return submitting.submit_speaking(workspace, wish, "Speak", replaces=False).folder

        within = []
        for number in progress.through(range(stops), "stops"):
            folder = begun(f"{number}.flac")
            _wait_until_spoken(folder, luck.randint(1, _MOST_SENTENCES))
            time.sleep(luck.uniform(0, 0.3))
            within.append(_stopped(workspace, folder, "stopped"))
        # The encoder of an mp3 takes the longest.
        folder = begun("whole.mp3")
        _wait_until_spoken(folder, None)
        writing = _stopped(workspace, folder, "")
    return Measured(
        {"job_stop_s": max(within), "job_stop_writing_s": writing, "job_stops": stops},
    )


def _wait_until_spoken(folder: JobFolder, sentences: int | None) -> None:
    """Wait until so many sentences are spoken; None: all of them."""

    def spoken() -> bool:
        progress = folder.progress()
        wanted = sentences or (progress.total if progress else 1)
        return folder.outcome() is not None or (progress is not None and progress.done >= wanted)

    if not wait_for(spoken, _PATIENCE_S) or folder.outcome():
        raise CannotMeasure(f"a job could not be stopped in time: {folder.log_tail()}")


def _stopped(workspace: Workspace, folder: JobFolder, cause: str) -> float:
    """Ask a job to stop, and tell how long that took; `cause`: how it must have ended."""
    began = time.perf_counter()
    folder.ask_to_stop()
    outcome = wait_for(folder.outcome)
    took = time.perf_counter() - began
    if outcome is None or cause not in outcome.cause:
        raise CannotMeasure(f"a job did not stop: {outcome}")
    queue.advance(workspace)
    return took
