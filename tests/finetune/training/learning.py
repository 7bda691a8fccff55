"""A run of the small engine, small enough to be done a hundred times."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from finetune.best import Heard
from finetune.jobs.events import Event, Said, Saved, Step
from finetune.runs import RunFolder
from finetune.settings import TrainSettings
from finetune.training import checkpoints, devices, settling
from finetune.training.features import Source, Store, gather
from finetune.training.loop import Lessons, Loop
from tests import learner

CLIPS = 22
SETTINGS = TrainSettings(epochs=3, batch=5, micro_batch=2, save_every=4, listen_every=1000)


def never(wish: str) -> bool:
    return False


@dataclass
class Lesson:
    """A run of the small engine, its parts at hand."""

    folder: Path
    settings: TrainSettings = SETTINGS
    engine_settings: learner.LearnerSettings = field(
        default_factory=lambda: learner.LearnerSettings(draws=True)
    )
    clips: int = CLIPS
    wishes: Callable[[str], bool] = never
    listen: Callable[[int], Heard] = field(default=Heard)
    events: list[Event] = field(default_factory=list)
    trainable: Any = None
    loop: Any = None

    def __post_init__(self) -> None:
        self.run = RunFolder(self.folder / "run")
        for each in (self.run.path, self.run.checkpoints, self.run.best):
            each.mkdir(parents=True, exist_ok=True)
        self.trainable = self.trainable or learner.LearnerModel(self.engine_settings)
        self.trainable.network.train()

    def make(self) -> Loop:
        store = store_of(self.trainable, self.clips, self.folder / "cache")
        settled = settling.settle(self.settings, learner.ENGINE.advised, self.clips, self.clips)
        names = [f"clip {number}" for number in range(self.clips)]
        lessons = Lessons(store, self.clips, names, digest=f"{self.clips} clips")
        self.loop = Loop(
            *(self.run, self.trainable, lessons, settled),
            devices.accelerator_for("cpu", "fp32"),
            *(lambda step: self.listen(step), self.events.append, lambda wish: self.wishes(wish)),
        )
        return self.loop

    def learn(self) -> Lesson:
        self.make().run()
        return self

    @property
    def steps(self) -> list[Step]:
        return [each for each in self.events if isinstance(each, Step)]

    @property
    def said(self) -> str:
        return "\n".join(each.text for each in self.events if isinstance(each, Said))

    @property
    def saved(self) -> list[int]:
        return [each.step for each in self.events if isinstance(each, Saved)]

    @property
    def weights(self) -> dict[str, torch.Tensor]:
        return {n: v.clone() for n, v in self.trainable.network.state_dict().items()}

    def newest(self) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
        """State and weights of the newest checkpoint."""
        folder = sorted(self.run.checkpoints.glob("step-*"))[-1]
        return json.loads((folder / "state.json").read_text()), load_file(
            folder / "weights.safetensors"
        )


def store_of(trainable: Any, clips: int, folder: Path) -> Store:
    sources = [
        Source(f"{number:08x}", f"clip {number}", lambda number=number: learner.clip(number))
        for number in range(clips)
    ]
    return gather(trainable, sources, folder, lambda event: None, lambda: False)


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    """Whether weights are equal, bit for bit."""
    return one.keys() == other.keys() and all(torch.equal(one[n], other[n]) for n in one)


__all__ = ["CLIPS", "SETTINGS", "Lesson", "checkpoints", "never", "same", "store_of"]
