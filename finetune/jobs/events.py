"""
What a job says while it works: one JSON object a line, appended to its `events.jsonl`.

A new kind of event is a new dataclass here and a name added to `Event`. A reader leaves out the
kinds and fields it does not know, so that an older studio can follow a newer job.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, fields
from typing import Any

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


Event = Progress | Said | Finished | Stopped | Failed
_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (Progress, Said, Finished, Stopped, Failed)
}


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
        case Failed(cause, what, fix):
            return all(isinstance(text, str) for text in (cause, what, fix))
        case Said(text) | Finished(text) | Stopped(text):
            return isinstance(text, str)
