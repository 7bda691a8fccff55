"""What the speaker and its owner say to each other: a line of JSON, and behind it perhaps sound."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np

from engines.base import Sound

# A text of 100,000 signs is a line of 1.2 MB where each is written as two escapes.
LONGEST_LINE = 8 * 1024 * 1024
# Twelve minutes at 24,000 samples a second; a sentence has seconds.
MOST_SOUND = 64 * 1024 * 1024
HIGHEST_RATE = 384_000
_SAMPLE = np.dtype("<f4")


class TornError(Exception):
    """What came is no message: it was cut off, or somebody else wrote it."""


@dataclass(frozen=True, slots=True)
class Message:
    """One thing said."""

    kind: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    sound: Sound | None = None


def write(stream: BinaryIO, message: Message) -> None:
    """Say one thing; what reads it has it at once."""
    stream.write(packed(message))
    stream.flush()


def packed(message: Message) -> bytes:
    """A message as it goes through a pipe."""
    said = {**message.facts, "kind": message.kind}
    content = b""
    if message.sound is not None:
        content = np.asarray(message.sound.samples, _SAMPLE).tobytes()
        said |= {"rate": message.sound.rate, "bytes": len(content)}
    return json.dumps(said).encode() + b"\n" + content


def read(stream: BinaryIO) -> Message | None:
    """Take in the next message, or None where the other has ended; raise TornError for no message."""
    line = stream.readline(LONGEST_LINE + 1)
    if not line:
        return None
    if not line.endswith(b"\n"):
        raise TornError("its line has no end" if len(line) <= LONGEST_LINE else "its line is long")
    said = _facts(line)
    kind = said.pop("kind", None)
    if not isinstance(kind, str):
        raise TornError("it does not say what it is")
    return Message(kind, said, _sound(stream, said) if "bytes" in said else None)


def _facts(line: bytes) -> dict[str, Any]:
    try:
        said = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise TornError(f"its line is no JSON ({error})") from error
    if not isinstance(said, dict):
        raise TornError("its line says nothing by name")
    return said


def _sound(stream: BinaryIO, said: dict[str, Any]) -> Sound:
    count, rate = _whole(said, "bytes", MOST_SOUND), _whole(said, "rate", HIGHEST_RATE)
    if count % _SAMPLE.itemsize or not rate:
        raise TornError("its sound has no whole samples, or no rate")
    content = _exactly(stream, count)
    return Sound(np.frombuffer(content, _SAMPLE).astype(np.float32, copy=False), rate)


def _exactly(stream: BinaryIO, count: int) -> bytes:
    """Read so many bytes; a pipe may give them in pieces."""
    pieces, left = [], count
    while left:
        piece = stream.read(left)
        if not piece:
            raise TornError("its sound ends too early")
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _whole(said: dict[str, Any], name: str, most: int) -> int:
    number = said.pop(name, None)
    if type(number) is not int or not 0 <= number <= most:
        raise TornError(f"its {name} is no number from 0 to {most:,}")
    return number
