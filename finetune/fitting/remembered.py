"""
What was measured before, kept for the next run with the same engine, card and software.

A file for each fingerprint in the cache: it may be deleted at any time, and is then measured again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from engines.errors import DiskFullError
from finetune.fitting.budget import FRAGMENTED
from finetune.fitting.peaks import Fit, Held, Point, Timed, fit
from voices import files

_VERSION = 2
# So much less than what ran out is tried the next time.
_BELOW_WHAT_RAN_OUT = 0.97


@dataclass(frozen=True, slots=True)
class Remembered:
    """The measurements of one fingerprint."""

    held: Held
    points: tuple[Point, ...]
    fragmented: float = FRAGMENTED
    ran_out_at: int | None = None
    """The least that tensors were predicted to hold when memory ran out all the same."""
    speaking: int = 0
    """What speaking a sentence takes, beside what lies there."""
    timed: tuple[Timed, ...] = ()
    """What was timed beside the points."""

    @property
    def fit(self) -> Fit:
        return fit(self.held, self.points, self.timed)

    @property
    def is_rough(self) -> bool:
        """Whether only one number of clips was measured: more of them are told to take too much."""
        return len({each.clips for each in self.points}) == 1

    @property
    def ceiling(self) -> float:
        """What tensors may hold as far as experience goes."""
        return float("inf") if self.ran_out_at is None else _BELOW_WHAT_RAN_OUT * self.ran_out_at

    def after_running_out(self, predicted: int) -> Remembered:
        """Learn that memory ran out where so much was predicted."""
        return replace(self, ran_out_at=min(predicted, self.ran_out_at or predicted))


def fingerprint(facts: Mapping[str, Any]) -> str:
    """A name for everything that memory depends on: engine, base, card, software, way."""
    return hashlib.blake2b(_as_text(facts).encode(), digest_size=12).hexdigest()


def recall(folder: Path, name: str) -> Remembered | None:
    """What is known of a fingerprint; None when nothing is, or the file is damaged."""
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        said = json.loads((folder / f"{name}.json").read_bytes())
        if said.pop("version") == _VERSION:
            return _from_plain(said)
    return None


def keep(folder: Path, name: str, what: Remembered, facts: Mapping[str, Any]) -> None:
    """Remember; without room on the disk it is measured again the next time."""
    with suppress(OSError, DiskFullError):
        folder.mkdir(parents=True, exist_ok=True)
        # The facts are for people who look into the file.
        plain = {"version": _VERSION, **asdict(what), "facts": json.loads(_as_text(facts))}
        files.write_json(folder / f"{name}.json", plain)


def _as_text(facts: Mapping[str, Any]) -> str:
    return json.dumps(dict(facts), sort_keys=True, default=str)


def _from_plain(said: dict[str, Any]) -> Remembered:
    found = Remembered(
        held=Held(**said["held"]),
        points=tuple(Point(**each) for each in said["points"]),
        fragmented=float(said["fragmented"]),
        ran_out_at=None if said["ran_out_at"] is None else int(said["ran_out_at"]),
        speaking=int(said["speaking"]),
        timed=tuple(Timed(**each) for each in said["timed"]),
    )
    if not (found.fragmented >= 1 and all(each.bytes > 0 for each in found.points)):
        raise ValueError("no such thing can be measured")
    _ = found.fit.peak(1, 1, accumulates=True)  # what cannot be fitted is no use either
    return found
