"""
What a job says while it works: one JSON object a line, appended to its `events.jsonl`.

A new kind of event is a new dataclass here and a name added to `Event`. A reader leaves out the
kinds and fields it does not know, so that an older studio can follow a newer job.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, fields
from typing import Any, get_args

VERSION = 1


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the work is."""

    done: float
    total: float
    unit: str
    seconds_left: float | None = None
    """None until there is a rate to tell it from."""
    per_second: float | None = None
    """How many units are done in a second."""


@dataclass(frozen=True, slots=True)
class Said:
    """Something the person should know, in a sentence."""

    text: str


@dataclass(frozen=True, slots=True)
class Step:
    """One change of the weights in a training."""

    step: int
    total: int
    epoch: int
    loss: float
    parts: dict[str, float]
    """What the loss is made of, by name."""
    rate: float
    """The learning rate."""
    norm: float
    """How long the gradient was, before it was cut."""
    clips_per_second: float
    padding: float
    """Share of the batches that is nothing but padding."""
    ms: dict[str, float]
    """Time of a step, averaged: data, forward, backward, optimizer."""
    memory_mb: dict[str, float]
    """The most memory of the GPU in each of these, and "reserved"; empty without one."""
    seconds_left: float | None = None
    retries: int = 0
    """How often torch had to give all its free memory back before it found room."""


@dataclass(frozen=True, slots=True)
class Planned:
    """How a training computes on this device from a step on, and the memory that it will take."""

    step: int
    micro_batch: int
    accumulation: int
    recompute: bool
    precision: str
    peaks_mb: dict[str, float]
    """The most that tensors hold in each phase of a step."""
    taken_mb: float
    """What the whole process takes at most."""
    budget_mb: float
    """What it may take: what was free, less what is left to others."""
    clips_per_second: float | None
    reasons: list[str]


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a training learns with from a step on: all that was left open is settled."""

    step: int
    settings: dict[str, Any]
    reasons: list[str]
    """Of what nobody chose."""


@dataclass(frozen=True, slots=True)
class Measured:
    """How the weights of a step do on clips they never learned from."""

    step: int
    loss: float
    parts: dict[str, float]


@dataclass(frozen=True, slots=True)
class Sampled:
    """One sentence, spoken with the weights of a step. `path` is relative to the run's folder."""

    step: int
    text: str
    path: str
    seconds: float
    similarity: float | None = None
    """To held-out clips of the real voice, -1 to 1; None when it could not be told."""
    character_errors: float | None = None
    """Share of characters that a transcriber hears otherwise; None without a transcriber."""


@dataclass(frozen=True, slots=True)
class Saved:
    """A checkpoint is on the disk."""

    step: int
    path: str
    mb: float
    seconds: float
    best: str = ""
    """Why it is the best so far; empty when it is not."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The work is done and on the disk. Written before the process takes itself down."""

    text: str = ""


@dataclass(frozen=True, slots=True)
class Stopped:
    """Ended because somebody asked, with everything saved."""

    text: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """Ended by a fault. `cause` is one of outcome.CAUSES."""

    cause: str
    what: str
    fix: str


OfLearning = Planned | Chosen | Step | Measured | Sampled | Saved
"""What a run's own history keeps."""
Event = Progress | Said | OfLearning | Finished | Stopped | Failed
_KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in get_args(Event)}


def to_line(event: Event) -> str:
    return json.dumps({"v": VERSION, "kind": type(event).__name__, **asdict(event)})


def from_line(line: str) -> Event | None:
    """Read one line back; anything that is not an event we know is None."""
    try:
        said = json.loads(line)
        kind = _KINDS[said["kind"]]
        known = {field.name for field in fields(kind)} & said.keys()
        event: Event = kind(**{name: said[name] for name in known})
        return event if _makes_sense(event) else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _makes_sense(event: Event) -> bool:
    """Whether what reads it can do so without looking twice: a rate of 0 gives an endless rest."""
    match event:
        case Progress(done, total, unit, seconds_left, per_second):
            numbers = (done, total, seconds_left or 0.0, per_second or 0.0)
            return all(map(math.isfinite, numbers)) and isinstance(unit, str)
        case Chosen(settings=settings, reasons=reasons):
            return isinstance(settings, dict) and isinstance(reasons, list) and _finite(settings)
        case Planned() | Step() | Measured() | Sampled() | Saved():
            return _finite(asdict(event))
        case Failed(cause, what, fix):
            return all(isinstance(text, str) for text in (cause, what, fix))
        case Said(text) | Finished(text) | Stopped(text):
            return isinstance(text, str)


def _finite(value: Any) -> bool:
    """Whether every number in there can be drawn."""
    if isinstance(value, dict):
        return all(map(_finite, value.values()))
    return not isinstance(value, float) or math.isfinite(value)
