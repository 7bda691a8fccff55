"""The datasets of a project: frozen selections of clips, numbered, never changed."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict, dataclass

from engines.errors import NotFoundError
from finetune.datasets import Dataset, Example
from voices.database import Database
from voices.workspace import now


@dataclass(frozen=True, slots=True)
class Version:
    """One dataset, and when and why it was frozen."""

    number: int
    frozen_at: str
    note: str
    dataset: Dataset


class Versions:
    """The table of datasets."""

    def __init__(self, store: Database) -> None:
        self._store = store

    def freeze(self, dataset: Dataset, note: str = "") -> Version:
        """Keep a dataset as the next version; the same one as the newest is no new version."""
        newest = self.newest()
        if newest and newest.dataset == dataset:
            return newest
        content = json.dumps(asdict(dataset), ensure_ascii=False)
        with self._store.change() as store:
            number = store.execute("SELECT coalesce(max(version), 0) + 1 FROM datasets").fetchone()[
                0
            ]
            version = Version(number, now(), note, dataset)
            store.execute(
                "INSERT INTO datasets VALUES (?, ?, ?, ?)",
                (version.number, version.frozen_at, note, content),
            )
        return version

    def numbers(self) -> list[int]:
        """The versions there are, the newest last."""
        return [
            row["version"] for row in self._store.rows("SELECT version FROM datasets ORDER BY 1")
        ]

    def newest(self) -> Version | None:
        numbers = self.numbers()
        return self.find(numbers[-1]) if numbers else None

    def find(self, number: int) -> Version:
        row = self._store.row("SELECT * FROM datasets WHERE version = ?", number)
        if row is None:
            there = ", ".join(map(str, self.numbers())) or "none yet"
            raise NotFoundError(f"There is no version {number}.", f"Versions there are: {there}.")
        return _version(row)


def _version(row: sqlite3.Row) -> Version:
    said = json.loads(row["dataset"])
    train, check = (tuple(Example(**each) for each in said[part]) for part in ("train", "check"))
    dataset = Dataset(train, check, said["seed"])
    return Version(row["version"], row["frozen_at"], row["note"], dataset)
