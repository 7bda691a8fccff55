"""
A whole run through the job's own entry, with seconds and memory of each phase.

`python -m tests.bench.trainer_phases TASK ANSWER`. What is measured is called from outside: each
function that is a phase is wrapped while the run goes on.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import soundfile
import torch

import engines
from finetune import bases, importing, projects, runs
from finetune.datasets import Dataset, Example
from finetune.jobs.folder import JobFolder
from finetune.jobs.worker import Job
from finetune.projects import Project
from finetune.runs import Plan
from finetune.settings import TrainSettings
from finetune.training import loop, trial, work
from finetune.training.watch import Watch
from tests.bench import trainer_clips
from tests.bench.trainer_clips import RATE
from tests.bench.trainer_task import Task
from voices.workspace import open_workspace

# One in eight checks, as a dataset of this size would have it.
_CHECK_EVERY = 8
_GAP = RATE // 2
_SENTENCES = ("The quiet woman carried a letter.", "What a terrible story!")
_HIGH_WATER = Path("/proc/self/clear_refs")


def main(arguments: list[str]) -> int:
    task = Task.read(Path(arguments[0]))
    trainer_clips.refuse_network()
    seen = Phases()
    with seen.watching():
        _run(task)
    Path(arguments[1]).write_text(json.dumps(seen.as_figures()))
    return 0


def _run(task: Task) -> None:
    with closing(open_workspace(Path(task.work) / "home")) as workspace:
        shelved = projects.create(workspace, "Bench")
        with projects.open_project(projects.folder_of(workspace, shelved)) as project:
            version = _freeze(project, Path(task.clips), Path(task.work))
        run = runs.create(workspace, _plan(task, shelved.id, version))
        folder = JobFolder(workspace.jobs / "bench")
        (folder.path / "control").mkdir(parents=True)
        work.train(Job(folder), run)


def _plan(task: Task, project: str, version: int) -> Plan:
    chosen = TrainSettings(
        epochs=task.epochs,
        batch=task.batch,
        threads=task.threads,
        device=task.device,
        listen_every=10**9,
        save_every=10**9,
    )
    return Plan("Bench", project, version, "xtts", task.base, _SENTENCES, train=chosen)


def _freeze(project: Project, clips: Path, folder: Path) -> int:
    """Make one recording of all clips, and a dataset of their spans."""
    path, spans, at = folder / "all.flac", [], 0
    with soundfile.SoundFile(path, "w", RATE, 1, "PCM_16", format="FLAC") as file:
        for clip, text in trainer_clips.read(clips):
            samples, _ = soundfile.read(clip, dtype="int16")
            file.write(np.pad(samples, (0, _GAP)))
            spans.append((at / RATE, (at + len(samples)) / RATE, text))
            at += len(samples) + _GAP
    source = importing.Source(path, path.name)
    brought = importing.bring_in(project, source, lambda done, total: None, lambda: False)
    assert brought.recording is not None
    project.recordings.set_language(brought.recording.id, trainer_clips.LANGUAGE)
    examples = [Example(n, brought.recording.id, *span) for n, span in enumerate(spans, 1)]
    check = tuple(examples[::_CHECK_EVERY])
    train = tuple(each for each in examples if each not in check)
    return project.versions.freeze(Dataset(train, check, 0)).number


# ---- Seconds and memory --------------------------------------------------------------------------


@dataclass
class _Phase:
    seconds: float = 0.0
    peak_mb: float = 0.0
    times: int = 0


@dataclass
class Phases:
    """Adds up the time of phases, and keeps the most memory of the process in each."""

    found: dict[str, _Phase] = field(default_factory=lambda: defaultdict(_Phase))
    _outer: list[str] = field(default_factory=list)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """One phase; what another phase inside it takes of the time is that one's."""
        self._settle()
        self._outer.append(name)
        began = time.perf_counter()
        children = _children_peak_mb()
        try:
            yield
        finally:
            took = time.perf_counter() - began
            self._settle(_children_peak_mb() if _children_peak_mb() > children else 0.0)
            self._outer.pop()
            self.found[name].seconds += took
            self.found[name].times += 1
            if self._outer:
                self.found[self._outer[-1]].seconds -= took

    def as_figures(self) -> dict[str, float]:
        figures: dict[str, float] = {}
        for name, phase in self.found.items():
            figures[f"phase_{name}_s"] = phase.seconds
            if phase.peak_mb:
                figures[f"phase_{name}_mb"] = phase.peak_mb
        return figures | {"phase_steps": self.found["optimizer"].times}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Wrap what the phases of a run are done by."""
        engine = type(engines.find("xtts"))
        with ExitStack() as stack:
            for owner, name, phase in (
                (engine, "convert", "convert_base"),
                (bases, "fingerprint", "convert_base"),
                (engine, "load", "load_base"),
                (work, "gather", "features"),
                (trial, "check_losses", "check"),
                (trial, "speak_samples", "sample"),
                (loop.Loop, "_save_here", "save"),
                (work.finishing, "finish", "finish"),
            ):
                wrapped = self._wrapped(getattr(owner, name), phase)
                stack.enter_context(patch.object(owner, name, wrapped))
            stack.enter_context(patch.object(Watch, "phase", self._of_step(Watch.phase)))
            yield

    def _wrapped(self, function: Callable[..., Any], phase: str) -> Callable[..., Any]:
        def wrapped(*given: Any, **named: Any) -> Any:
            with self.phase(phase):
                return function(*given, **named)

        return wrapped

    def _of_step(self, watched: Callable[..., Any]) -> Callable[..., Any]:
        phases = self

        @contextmanager
        def phase(watch: Watch, name: str) -> Iterator[None]:
            with phases.phase("save" if name == "saving" else name), watched(watch, name):
                yield
                if torch.cuda.is_available():
                    torch.cuda.synchronize()  # or its work would count for the next phase

        return phase

    def _settle(self, children_mb: float = 0.0) -> None:
        """Give the memory since the last time to the phases it was in, and begin anew."""
        peak = _peak_since_mb()
        for name in self._outer:
            self.found[name].peak_mb = max(self.found[name].peak_mb, peak + children_mb)


def _peak_since_mb() -> float:
    """The most this process held since it was asked last; 0 where the system does not tell."""
    if not _HIGH_WATER.exists():
        return 0.0
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    _HIGH_WATER.write_text("5")
    return int(line.split()[1]) * 1024 / 1e6


def _children_peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
