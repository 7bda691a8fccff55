"""What is to be told of a training before it is begun, as a job: kept in a file, and its report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from finetune import runs
from finetune.runs import Plan
from voices import files


@dataclass(frozen=True)
class Card:
    """A GPU that is not at hand."""

    gib: float
    capability: tuple[int, int] = (8, 6)
    """Of a card of the last years, where nobody says."""


@dataclass(frozen=True)
class ForecastWish:
    """A training that may be begun, and where."""

    workspace: str
    plan: Plan
    card: Card | None = None
    """None: this computer, where it is measured."""
    devices: int = 1
    search: bool = False
    """Whether the largest micro-batch is found by trying, not by a fit."""


def write_wish(wish: ForecastWish, path: Path) -> None:
    files.write_json(path, {"v": 1, **asdict(wish)})


def read_wish(path: Path) -> ForecastWish:
    said: dict[str, Any] = json.loads(path.read_bytes())
    return ForecastWish(
        said["workspace"],
        runs.plan_from(said["plan"]),
        _card(said["card"]) if said["card"] else None,
        said["devices"],
        said["search"],
    )


def _card(said: Mapping[str, Any]) -> Card:
    major, minor = said["capability"]
    return Card(said["gib"], (major, minor))
