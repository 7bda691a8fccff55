"""Our loop at work, by itself or in a whole run: `python -m tests.bench.trainer_ours TASK ANSWER`."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import soundfile
import torch

import engines
from engines.base import Clip, Item, Sound
from engines.xtts.settings import XttsSettings
from finetune import bases
from finetune.best import Heard
from finetune.jobs.events import Event, Said, Step
from finetune.runs import RunFolder
from finetune.settings import TrainSettings
from finetune.training import devices, settling
from finetune.training.features import Source, Store, gather, place_for
from finetune.training.loop import Lessons, Loop
from finetune.training.recompute import forget_activations
from tests.bench import trainer_clips
from tests.bench.trainer_clips import Clock, Rows
from tests.bench.trainer_task import Found, Task

ENGINE = engines.find("xtts")


def main(arguments: list[str]) -> int:
    task = Task.read(Path(arguments[0]))
    trainer_clips.refuse_network()
    learn(task).write(Path(arguments[1]))
    return 0


def learn(task: Task) -> Found:
    """Train for one epoch, then for as many as the task says, and tell how fast those were."""
    work = Path(task.work)
    settings = _settings(task)
    accelerator = devices.accelerator_for(task.device, _precision(task.device))
    devices.set_threads(task.threads, task.device)
    trainable = _load(task, work)
    began = time.perf_counter()
    store = _placed(gather(trainable, _sources(task), _shelf(task), _ignore, _never), task)
    feature_s = time.perf_counter() - began
    trainable.forget_features()
    trainable.network.to(accelerator.device)
    trainable.network.train()
    if task.recompute:
        forget_activations(trainable.blocks())
    names = [path.stem for path, _ in trainer_clips.read(Path(task.clips))]
    settled = settling.settle(settings, ENGINE.advised, len(store), len(store))
    watched = _Watched(store, len(store), names, "bench")
    window = watched.window = _Window(trainable, settled.steps_per_epoch, settled.total, task)
    _lay_out(run := RunFolder(work / "run"))
    Loop(
        *(run, trainable, watched, settled, accelerator),
        *(window.listen, window.hear, _never_wished),
    ).run()
    missing, twice = trainer_clips.over(window.epochs(), len(store))
    return replace(window.found(), feature_s=feature_s, missing=missing, twice=twice)


def _settings(task: Task) -> TrainSettings:
    """As Coqui's trainer is set up by its demo: no warm-up, nothing cut, no average."""
    return TrainSettings(
        epochs=1 + task.epochs,
        batch=task.batch,
        learning_rate=task.rate,
        warmup_share=0.0,
        decay="constant",
        weight_decay=0.01,
        clip_norm=0.0,
        recompute="yes" if task.recompute else "no",
        device=task.device,
        threads=task.threads,
        listen_every=10**9,
        save_every=10**9,
    )


def _precision(device: str) -> str:
    return devices.choose_precision("auto", device, devices.capability(device)).value


def _load(task: Task, work: Path) -> Any:
    """The base, converted by whoever comes first, learning by Coqui's rules."""
    models = Path(task.base).parent / "models"
    models.mkdir(exist_ok=True)
    converted = bases.converted(ENGINE, Path(task.base), models, _ignore)
    chosen = XttsSettings(conditioning="same", masking="upstream", lora_rank=task.lora_rank)
    return ENGINE.load(converted, chosen)


def _sources(task: Task) -> list[Source]:
    return [
        Source(path.stem, path.stem, lambda path=path, text=text: clip(path, text))
        for path, text in trainer_clips.read(Path(task.clips))
    ]


def clip(path: Path, text: str) -> Clip:
    samples, rate = soundfile.read(path, dtype="float32")
    return Clip(Sound(samples, rate), text, trainer_clips.LANGUAGE)


def _placed(store: Store, task: Task) -> Store:
    """Let features wait where a run would have them wait."""
    free_gpu = torch.cuda.mem_get_info()[0] if task.device == "cuda" else None
    free = psutil.virtual_memory().available
    where, _ = place_for("auto", store.bytes, free_gpu, free)
    return store.placed(where, torch.device(task.device))


def _shelf(task: Task) -> Path:
    """Where features are kept: on a GPU, where no time is told of them, for the next one too."""
    return (Path(task.base).parent if task.device == "cuda" else Path(task.work)) / "features"


def _lay_out(run: RunFolder) -> None:
    for folder in (run.path, run.checkpoints, run.best, run.samples):
        folder.mkdir(parents=True)


class _Watched(Lessons):
    """Lessons that tell which clips are asked for when: the loop is measured from outside."""

    # A dataclass that is frozen keeps nothing else; this one is handed over beside it.
    window: _Window

    def __setattr__(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def items(self, indices: Sequence[int], seed: int, epoch: int) -> list[Item]:
        self.window.begin(epoch, indices)
        items = super().items(indices, seed, epoch)
        self.window.need(items)
        return items


class _Window:
    """The steps that are measured: whole epochs, after the first one."""

    def __init__(self, trainable: Any, warm: int, total: int, task: Task) -> None:
        self._total = total
        self._clock = Clock(_wait_for_gpu)
        self._rows = Rows(trainable.blocks()[0])
        self._seen: list[tuple[int, int]] = []
        self._gpu: dict[str, float] = {}
        self._said: list[str] = []

    def begin(self, epoch: int, indices: Sequence[int]) -> None:
        if epoch == 1 and not self._clock.began:
            self._gpu.clear()
            self._clock.start()
        self._seen += [(epoch, each) for each in indices]

    def need(self, items: Sequence[Item]) -> None:
        features = [item.features for item in items]
        self._rows.need(sum(len(each["text"]) + len(each["codes"]) for each in features))

    def listen(self, step: int) -> Heard:
        if step == self._total:
            self._clock.stop()
        return Heard(step)

    def hear(self, event: Event) -> None:
        if isinstance(event, Step):
            for phase, mb in event.memory_mb.items():
                self._gpu[phase] = max(mb, self._gpu.get(phase, 0.0))
        if isinstance(event, Said) and re.match("Memory ran out|Step .* was left out", event.text):
            self._said.append(event.text)

    def epochs(self) -> list[list[int]]:
        return trainer_clips.whole_epochs(self._seen)

    def found(self) -> Found:
        # A step that ran out of memory asks for its clips again.
        measured = len({each for each in self._seen if each[0] > 0})
        reserved = self._gpu.pop("reserved", 0.0)
        return Found(
            measured / self._clock.seconds,
            measured / self._clock.cpu_seconds,
            self._rows.padding,
            trainer_clips.host_peak_mb(),
            max(self._gpu.values(), default=0.0),
            reserved,
            said=" ".join(self._said),
        )


def _wait_for_gpu() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _ignore(event: Event) -> None:
    """Nobody listens."""


def _never() -> bool:
    return False


def _never_wished(wish: str) -> bool:
    return False


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
