"""A frozen dataset as clips to learn from, to check with, and to hear the real voice in."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from engines.base import Clip, Engine, Sound
from engines.errors import DatasetError
from finetune.datasets import Example
from finetune.importing import make_working_again
from finetune.media.reading import read
from finetune.projects import Project, open_project
from finetune.recordings import Recording
from finetune.texts.records import excerpt
from finetune.training.features import Source


@dataclass(frozen=True, slots=True)
class Material:
    """One version of one project's dataset. It reads working copies, and asks no store any more."""

    train: tuple[Example, ...]
    check: tuple[Example, ...]
    rate: int
    recordings: dict[str, Recording]
    working: dict[str, Path]

    @property
    def language(self) -> str:
        """What is spoken in most of it."""
        seconds: dict[str, float] = defaultdict(float)
        for example in self.train:
            seconds[self._language(example)] += example.seconds
        return max(seconds, key=lambda language: seconds[language])

    def sources(self, examples: Sequence[Example]) -> list[Source]:
        """Clips as features are made of them, each loaded when it is wanted."""
        return [
            Source(self._key(each), f"clip {each.clip_id} {excerpt(each.text)}",
                   partial(self.clip, each))
            for each in examples
        ]  # fmt: skip

    def clip(self, example: Example) -> Clip:
        return Clip(self.sound(example), example.text, self._language(example))

    def sound(self, example: Example) -> Sound:
        return read(self.working[example.recording], example.start, example.end, self.rate)

    def _language(self, example: Example) -> str:
        return self.recordings[example.recording].language

    def _key(self, example: Example) -> str:
        """What a clip is, wherever it lies: the same in every project."""
        content = (
            self.recordings[example.recording].sha256,
            *(example.start, example.end, example.text, self._language(example), self.rate),
        )
        return hashlib.sha256(json.dumps(content).encode("utf-8", "surrogatepass")).hexdigest()


def of_project(folder: Path, version: int, engine: Engine, stop: Callable[[], bool]) -> Material:
    """Look up a version; what was cleared of its working copies is decoded again."""
    with open_project(folder) as project:
        dataset = project.versions.find(version).dataset
        if not dataset.train:
            raise DatasetError(
                f"Dataset version {version} has no clips to learn from.", "Freeze another one."
            )
        used = {each.recording for each in dataset.examples}
        recordings = {each: project.recordings.find(each) for each in used}
        for each in recordings.values():
            make_working_again(project, each, lambda done, total: None, stop)
        return Material(
            dataset.train,
            dataset.check,
            engine.sample_rate,
            recordings,
            {each: _working(project, each) for each in used},
        )


def _working(project: Project, recording: str) -> Path:
    return project.working_of(recording).absolute()
