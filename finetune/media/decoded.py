"""What the decoder says to the process that started it: one JSON object a line."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from finetune.media.levels import Levels


@dataclass(frozen=True, slots=True)
class Order:
    """Which file to open and where the working copy goes."""

    source: Path
    target: Path


@dataclass(frozen=True, slots=True)
class Reading:
    """How far it is. A total of 0 is not known yet."""

    seconds: float
    total: float


@dataclass(frozen=True, slots=True)
class Decoded:
    """A working copy that is whole, and what is known of the recording behind it."""

    seconds: float
    rate: int
    """Samples a second of the working copy."""
    source_rate: int
    channels: int
    """Of the recording; the working copy has one."""
    container: str
    codec: str
    levels: Levels
    lost_seconds: float
    """What could not be decoded. Silence stands in for it where its place is known."""
    notes: tuple[str, ...]
    """What a person should know about how it was read, in sentences."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Why there is no working copy."""

    what: str
    fix: str
    disk_full: bool = False


Answer = Reading | Decoded | Refused
_KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in (Reading, Decoded, Refused)}


def order_to_line(order: Order) -> bytes:
    """Names that are no text survive: JSON escapes the surrogates Python writes them with."""
    return json.dumps({"source": str(order.source), "target": str(order.target)}).encode() + b"\n"


def order_from_line(line: bytes) -> Order:
    said = json.loads(line)
    return Order(Path(said["source"]), Path(said["target"]))


def to_line(answer: Answer) -> bytes:
    return json.dumps({"kind": type(answer).__name__, **asdict(answer)}).encode() + b"\n"


def decoded_from(said: dict[str, Any]) -> Decoded:
    """Make the record again of what JSON kept of it."""
    return Decoded(**{**said, "levels": Levels(**said["levels"]), "notes": tuple(said["notes"])})


def from_line(line: bytes) -> Answer | None:
    """Read an answer; half a line, all a killed decoder could write, is None."""
    try:
        said = json.loads(line)
        kind = _KINDS[said.pop("kind")]
        answer: Answer = decoded_from(said) if kind is Decoded else kind(**said)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return answer
