"""
An engine that learns in no time, and its training, for what stands around one: no torch is loaded.

`python -m tests.trainee train RUN_FOLDER` and `... make WISH.json` run in a job's folder, in place
of `finetune.training` and `finetune.making`.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import ClassVar

import numpy as np
import soundfile

import engines
from engines.base import Base, Manners, all_in
from engines.errors import EngineError
from engines.settings import Checked, setting
from finetune import making
from finetune.datasets import Dataset, Example
from finetune.jobs.events import Measured, Sampled, Saved, Step, to_line
from finetune.jobs.folder import JobFolder
from finetune.jobs.worker import Job, StopWork, run
from finetune.runs import RunFolder, read_plan
from tests.silent import Silent, SilentVoice
from tests.stores import add_recording
from voices import files

NAME = "trainee"
VOICE = b"voice"


@dataclass(frozen=True)
class TraineeSettings(Checked):
    """How it learns."""

    steps: int = setting(3, "Steps in a run", low=1)
    pause_ms: int = setting(0, "How long a step takes", low=0)
    lora_rank: int = setting(0, "Small additions of this rank", low=0, high=64)
    keen: bool = setting(False, "Whether it is keen")
    mood: str = setting("calm", "How it feels")


class Trainee(Silent):
    """The light half; heavy there is nothing."""

    name = NAME
    title = "Trainee"
    min_clip_seconds = 0.5
    max_clip_seconds = 10.0
    base_files = ("model.bin", "config.json")
    half_on_processors = False
    exports: ClassVar[dict[str, str]] = {}
    own_form = ""
    bases = (
        Base("first", "Learner's Licence", 12, "somebody/trainee"),
        Base("second", "Learner's Licence"),
    )
    settings = TraineeSettings
    advised = MappingProxyType({"epochs": 1.0})
    lacking = ""

    def missing(self) -> str:
        return self.lacking

    def base_in(self, folder: Path) -> list[Path]:
        return all_in(folder, self.base_files, self.title)

    def convert(self, base: Path, folder: Path) -> None:
        if b"weights" not in (base / "model.bin").read_bytes():
            raise EngineError("model.bin holds no weights.", "Choose another base.")
        (folder / "model.safetensors").write_bytes((base / "model.bin").read_bytes())

    def manners_in(self, folder: Path) -> Manners:
        return {}

    def open_voice(self, folder: Path, device: str = "cpu") -> SilentVoice:
        if (folder / "model.bin").read_bytes() != VOICE:
            raise EngineError("model.bin holds no voice.", "Open one that does.")
        return SilentVoice()


ENGINE = Trainee()


def base_in(folder: Path, content: bytes = b"weights") -> Path:
    """A base as its owners have it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.bin").write_bytes(content)
    (folder / "config.json").write_text("{}")
    return folder


def freeze(project, seconds=(2.0, 3.0, 4.0), language="en"):
    """Freeze a dataset of clips that long; the last checks."""
    recording = f"r{len(project.recordings.all())}"
    add_recording(project.store, recording, f"{recording}.wav")
    project.recordings.set_language(recording, language)
    clips = [
        Example(number, recording, number * 10.0, number * 10.0 + length, f"Clip {number}.")
        for number, length in enumerate(seconds, 1)
    ]
    return project.versions.freeze(Dataset(tuple(clips[:-1]), tuple(clips[-1:]), 0))


# ---- The training ----


def train(job: Job, folder: RunFolder) -> str:
    """Learn as the loop does, as far as others see it: steps, checkpoints, samples, a voice."""
    plan = read_plan(folder.plan_path)
    settings = TraineeSettings(**plan.engine_settings)
    for step in range(_reached(folder) + 1, settings.steps + 1):
        time.sleep(settings.pause_ms / 1000)
        tell(job, folder, step_event(step, settings.steps))
        for what in ("sample", "save"):
            if job.folder.asked(what):
                tell(job, folder, Measured(step, 0.5, {}))
                job.folder.answered(what)
        if job.stop_wanted():
            _save(folder, step)
            raise StopWork(f"Stopped after step {step}.")
    tell(job, folder, Sampled(settings.steps, "Hello.", "samples/step-3/00.flac", 1.5, 0.8))
    _save(folder, settings.steps)
    keep_best(folder, settings.steps)
    tell(job, folder, Saved(settings.steps, "checkpoints/step-3", 1.0, 0.1, "It sounds best."))
    finish(folder)
    return f"{plan.name} is made."


def step_event(step, total, loss=1.0):
    return Step(step, total, 1, loss, {"text": 0.1, "mel": 0.9}, 1e-5, 1.0, 10.0, 0.05, {}, {}, 9.0)


def tell(job, folder, event):
    job.say(event)
    write_history(folder, event)


def write_history(folder, *events):
    with folder.history_path.open("a", encoding="utf-8") as file:
        file.writelines(f"{to_line(event)}\n" for event in events)


def keep_best(folder, step, reason="It sounds best."):
    with files.new_folder(folder.best / f"best-{step:06}") as new:
        (new / "weights.safetensors").write_bytes(b"weights")
        files.write_json(new / "best.json", {"v": 1, "step": step, "reason": reason})


def finish(folder):
    """Lay a voice down, with a second of sound to speak like."""
    with files.new_folder(folder.voice) as new:
        (new / "engine").mkdir()
        (new / "engine" / "model.bin").write_bytes(VOICE)
        tone = np.sin(np.arange(22050) / 9) / 2
        soundfile.write(new / "reference.flac", tone, 22050)
        files.write_json(new / "voice.json", {"v": 1, "engine": NAME})


def _save(folder, step):
    with files.new_folder(folder.checkpoints / f"step-{step:06}") as new:
        (new / "state.json").write_text(json.dumps({"step": step}))


def _reached(folder):
    return max((int(path.name[5:]) for path in folder.checkpoints.glob("step-*")), default=0)


if __name__ == "__main__":
    engines.ENGINES[NAME] = "tests.trainee"
    what, path = sys.argv[1], Path(sys.argv[2])
    if what == "make":
        loop = ModuleType("finetune.training.work")
        loop.train = train
        sys.modules[loop.__name__] = loop
        raise SystemExit(run(JobFolder(Path.cwd()), lambda job: making.work(job, path)))
    raise SystemExit(run(JobFolder(Path.cwd()), lambda job: train(job, RunFolder(path))))
