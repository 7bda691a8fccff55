"""
What a run told while it learned, as it is drawn: kept up to date by reading only what is new.

The whole curve is always there: whoever asks, and whenever, gets the same.
"""

from __future__ import annotations

import json
import math
import threading
from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from finetune.best import Heard
from finetune.jobs.events import Chosen, Measured, Planned, Said, Sampled, Saved, Step, from_line
from finetune.jobs.folder import read_lines
from finetune.runs import RunFolder

BUCKETS = 256
"""Stretches of a curve, each drawn by its least and its most."""
_KEPT = 12
_SAID = 200
Point = tuple[int, float, float]
"""A step, its loss, its learning rate."""


@dataclass
class Told:
    """Everything a run told of learning; of a step done again after a resume, the later counts."""

    at: int = 0
    """Where in its history the next reading begins."""
    points: dict[int, Point] = field(default_factory=dict)
    measured: dict[int, Measured] = field(default_factory=dict)
    sampled: dict[tuple[int, str], Sampled] = field(default_factory=dict)
    saved: dict[int, Saved] = field(default_factory=dict)
    planned: Planned | None = None
    chosen: Chosen | None = None
    said: deque[str] = field(default_factory=lambda: deque(maxlen=_SAID))
    """The sentences it said last."""

    _last_line: str = ""
    _drawn: list[Point] | None = None

    def take(self, line: str) -> None:
        """Take one line of a history; what cannot be read is left out."""
        # Nearly all of them are steps, and reading one whole takes ten times as long.
        if point := _point_of(line):
            self.points[point[0]] = point
            self._last_line, self._drawn = line, None
            return
        match event := from_line(line):
            case Measured():
                self.measured[event.step] = event
            case Sampled():
                self.sampled[event.step, event.path] = event
            case Saved():
                self.saved[event.step] = event
            case Planned():
                self.planned = event
            case Chosen():
                self.chosen = event
            case Said(text):
                self.said.append(text)

    @property
    def last(self) -> Step | None:
        """The newest step."""
        event = from_line(self._last_line)
        return event if isinstance(event, Step) else None

    @property
    def curve(self) -> list[Point]:
        if self._drawn is None:
            self._drawn = thinned([self.points[step] for step in sorted(self.points)])
        return self._drawn

    @property
    def checks(self) -> list[tuple[int, float]]:
        """Steps and the loss of clips that were never learned from."""
        return [(step, self.measured[step].loss) for step in sorted(self.measured)]

    @property
    def samples(self) -> list[tuple[str, list[Sampled]]]:
        """Each sentence, and how it was spoken at each hearing, the newest first."""
        spoken: dict[str, list[Sampled]] = {}
        for key in sorted(self.sampled, key=lambda each: (-each[0], each[1])):
            spoken.setdefault(self.sampled[key].text, []).append(self.sampled[key])
        return list(spoken.items())

    @property
    def heard(self) -> list[Heard]:
        """What is known of the weights of each hearing, as the best is chosen by."""
        spoken: dict[int, list[Sampled]] = {}
        for each in list(self.sampled.values()):  # another thread may read on meanwhile
            spoken.setdefault(each.step, []).append(each)
        every = sorted({*list(self.measured), *spoken})
        return [self._heard_at(step, spoken.get(step, ())) for step in every]

    def _heard_at(self, step: int, spoken: Sequence[Sampled]) -> Heard:
        loss = self.measured[step].loss if step in self.measured else None
        return Heard(
            step,
            loss,
            _mean(each.similarity for each in spoken),
            _mean(each.character_errors for each in spoken),
        )


class Histories:
    """The histories of the runs that were asked for last, each read on from where it was."""

    def __init__(self) -> None:
        self._known: OrderedDict[Path, Told] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, run: RunFolder) -> Told:
        with self._lock:
            told = self._known.pop(run.history_path, Told())
            if _size(run.history_path) < told.at:  # somebody put another one there
                told = Told()
            lines, told.at = read_lines(run.history_path, told.at)
            for line in lines:
                told.take(line)
            self._known[run.history_path] = told
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
            return told


def thinned(points: Sequence[Point], buckets: int = BUCKETS) -> list[Point]:
    """
    Enough of a curve to draw it: of each stretch the least and the most loss, and both ends.

    A stretch is so many steps long, doubled as the run grows, so that what is drawn stays in place.
    """
    if len(points) <= 2 * buckets:
        return list(points)
    length = 1
    while (points[-1][0] - points[0][0]) // length >= buckets:
        length *= 2
    found: dict[int, list[Point]] = {}
    for point in points:
        both = found.setdefault(point[0] // length, [point, point])
        if point[1] < both[0][1]:
            both[0] = point
        elif point[1] > both[1][1]:
            both[1] = point
    kept = {*(point for both in found.values() for point in both), points[0], points[-1]}
    return sorted(kept)


def facts_of_sample(sample: Sampled) -> dict[str, Any]:
    """A spoken sentence for programs: where its sound lies is told by step and file."""
    return {
        "step": sample.step,
        "file": sample.path.rpartition("/")[2],
        "seconds": sample.seconds,
        "similarity": sample.similarity,
        "errors": sample.character_errors,
    }


def _point_of(line: str) -> Point | None:
    """What is drawn of a step; None when the line is something else."""
    try:
        said = json.loads(line)
        if said["kind"] != "Step" or not isinstance(said["step"], int):
            return None
        point = (said["step"], float(said["loss"]), float(said["rate"]))
    except (ValueError, KeyError, TypeError):
        return None
    return point if math.isfinite(point[1] + point[2]) else None


def _mean(values: Iterable[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return fmean(known) if known else None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
