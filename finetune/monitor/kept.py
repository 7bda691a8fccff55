"""What was seen during a run, on the disk: a line each few seconds, read back when it is drawn."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from engines.errors import StudioError
from finetune.monitor.cards import Card, Gpus
from finetune.monitor.machine import Computer
from finetune.monitor.sampler import Reading
from voices import files

EVERY_SECONDS = 10.0
LIMIT_BYTES = 2_000_000


class Kept:
    """Writes the peak of every few seconds to a file. What cannot be written is not missed."""

    def __init__(
        self, path: Path, every_seconds: float = EVERY_SECONDS, limit_bytes: int = LIMIT_BYTES
    ) -> None:
        self._path, self._every_seconds, self._limit_bytes = path, every_seconds, limit_bytes
        self._peak: Reading | None = None
        self._written_at: float | None = None

    def note(self, reading: Reading) -> None:
        """Take a reading; write when it is time. The first is written at once."""
        if self._peak is None or reading.used_mib >= self._peak.used_mib:
            self._peak = reading
        since = self._written_at
        if since is not None and 0 <= reading.at - since < self._every_seconds:
            return
        peak, self._peak, self._written_at = self._peak, None, reading.at
        # A full disk, or the folder is gone: the run matters more.
        with suppress(OSError, StudioError):
            self._append(to_line(peak))

    def _append(self, line: str) -> None:
        with self._path.open("a+b") as file:
            if file.tell() and not _ends_a_line(file):
                line = f"\n{line}"  # behind a line that was cut off
            file.write(f"{line}\n".encode())
            size = file.tell()
        if size > self._limit_bytes:
            lines = self._path.read_bytes().splitlines(keepends=True)
            # The older half at half its detail: what is new stays as fine as it was seen.
            middle = len(lines) // 2
            files.write_bytes(self._path, b"".join([*lines[:middle:2], *lines[middle:]]))


def _ends_a_line(file: Any) -> bool:
    file.seek(-1, 2)
    return bool(file.read(1) == b"\n")


def read(path: Path) -> list[Reading]:
    """What was kept, oldest first; what cannot be read of it is left out."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return []
    return [reading for line in lines if (reading := from_line(line)) is not None]


def to_line(reading: Reading) -> str:
    """One reading as compact JSON, without notes, and without what is unknown."""
    return json.dumps(as_json(reading, whole=False), separators=(",", ":"))


def as_json(reading: Reading, *, whole: bool = True) -> dict[str, Any]:
    """One reading for programs: all of it, or only what is known."""
    gpus = _facts(reading.gpus, whole)
    for key in {"cards", "gone"} & gpus.keys():
        gpus[key] = [_card_facts(card, whole) for card in gpus[key]]
    computer = _facts(reading.computer, whole)
    if "cards" in computer:
        computer["cards"] = [_card_facts(card, whole) for card in computer["cards"]]
    return {"at": round(reading.at, 3), "gpus": gpus, "computer": computer}


def _card_facts(card: Card, whole: bool) -> dict[str, Any]:
    facts = _facts(card, whole)
    if "strangers" in facts:
        facts["strangers"] = sorted(facts["strangers"])
    return facts if whole else {key: facts[key] for key in facts if key != "notes"}


def _facts(record: Gpus | Card | Computer, whole: bool) -> dict[str, Any]:
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    if whole:
        return values
    defaults = {field.name: field.default for field in fields(record)}
    return {key: value for key, value in values.items() if value != defaults[key]}


def from_line(line: bytes) -> Reading | None:
    """Read one line back; anything that is not a reading is None."""
    try:
        said = json.loads(line)
        gpus, computer = _record(Gpus, said["gpus"]), _record(Computer, said["computer"])
        reading = Reading(float(said["at"]), gpus, computer)
        return reading if math.isfinite(reading.at) else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _record(kind: Any, said: dict[str, Any]) -> Any:
    """Make a record of what is known; fields that this version does not know are left out."""
    known = {field.name: said[field.name] for field in fields(kind) if field.name in said}
    if isinstance(cards := known.get("cards"), list):
        known["cards"] = tuple(_card(each) for each in cards)
    if isinstance(gone := known.get("gone"), list):
        known["gone"] = tuple(_card(each) for each in gone)
    return kind(**known)


def _card(said: dict[str, Any]) -> Card:
    known = {field.name: said[field.name] for field in fields(Card) if field.name in said}
    shaped: dict[str, Any] = {
        "capability": lambda value: (int(value[0]), int(value[1])),
        "held_mib": lambda value: {int(pid): mib for pid, mib in value.items()},
        "strangers": frozenset,
        "notes": tuple,
    }
    for key in shaped.keys() & known.keys():
        known[key] = None if known[key] is None else shaped[key](known[key])
    return Card(**known)
