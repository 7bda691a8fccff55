"""voices/database.py on a disk that fails at each of its operations, SQLite's own among them."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import ClassVar

import pytest

from engines.errors import StudioError
from tests.faults import (
    Outcome,
    Scenario,
    acknowledge,
    assert_told,
    enumerate_faults,
    enumerate_power_loss,
    needs_linux,
)
from voices import files
from voices.database import Database

pytestmark = needs_linux

FIRST = "CREATE TABLE words (word TEXT NOT NULL);\nCREATE INDEX by_word ON words (word);"
SECOND = "ALTER TABLE words ADD COLUMN language TEXT;\nUPDATE words SET language = 'en';"
THIRD = "CREATE TABLE seconds (word TEXT, seconds REAL);\nINSERT INTO seconds VALUES ('old', 1.5);"
OLD = ["old " * 500, "older"]

left_open: list[Database] = []


class Promise(Scenario):
    """What holds for everything here: errors in words, an openable store, acknowledged words."""

    migrations: ClassVar = [FIRST]

    def prepare(self, folder: Path) -> None:
        store = Database(folder / "db", [FIRST])
        say(store, *OLD)
        store.close()

    def check(self, folder: Path, outcome: Outcome) -> None:
        assert_told(outcome)
        files.sweep(folder)
        self.before_opening(folder)
        store = Database(folder / "db", self.migrations)
        assert store.rows("PRAGMA integrity_check")[0][0] == "ok"
        self.holds(store, [word for word in outcome.acknowledged if word != "opened"])
        say(store, "and life goes on")
        store.close()
        left = {path.name for path in folder.iterdir()}
        assert left <= {"db", "db.before-1", "db.before-2"}, f"also there: {left}"

    def before_opening(self, folder: Path) -> None:
        """Look at the files first, where there is something to see."""

    def holds(self, store: Database, acknowledged: list[str]) -> None:
        assert words(store) in possible(self.said(), acknowledged)

    def said(self) -> list[str]:
        """The words the act adds, in order."""
        return []


class FirstChanges(Promise):
    """Making the store, and its very first words."""

    def prepare(self, folder: Path) -> None:
        pass

    def act(self, folder: Path) -> None:
        store = Database(folder / "db", self.migrations)
        acknowledge("opened")
        for word in self.said():
            say(store, word)
            acknowledge(word)
        store.close()

    def said(self) -> list[str]:
        return ["one", "two " * 3000]

    def holds(self, store: Database, acknowledged: list[str]) -> None:
        assert words(store) in [self.said()[:n] for n in reach(self.said(), acknowledged)]


class ChangeAfterKill(FirstChanges):
    """Its owner was killed: the last words are in the log only."""

    def prepare(self, folder: Path) -> None:
        store = Database(folder / "db", [FIRST])
        say(store, *OLD)
        left_open.append(store)  # the process ends without closing it

    holds = Promise.holds


class AllOrNothing(Promise):
    def act(self, folder: Path) -> None:
        store = Database(folder / "db", self.migrations)
        with store.change() as connection:
            for word in ("one", "two " * 3000):
                connection.execute("INSERT INTO words (word) VALUES (?)", (word,))
            connection.execute("DELETE FROM words WHERE word = 'older'")
        acknowledge("all")
        store.close()

    def holds(self, store: Database, acknowledged: list[str]) -> None:
        new = [OLD[0], "one", "two " * 3000]
        assert words(store) in ([new] if acknowledged else [OLD, new])


class TryAgain(Promise):
    """After a fault that passes, the same open store takes the same words."""

    def act(self, folder: Path) -> None:
        store = Database(folder / "db", self.migrations)
        acknowledge("opened")
        try:
            say(store, "again")
        except (StudioError, OSError):
            if "again" not in words(store):
                say(store, "again")
        acknowledge("again")
        store.close()

    def check(self, folder: Path, outcome: Outcome) -> None:
        if "opened" in outcome.acknowledged and outcome.fault.endswith("once"):
            assert "again" in outcome.acknowledged, f"a second try did not help: {outcome}"
        super().check(folder, outcome)

    def said(self) -> list[str]:
        return ["again"]


class Migrate(Promise):
    """From format 1, left by a kill, to 3; format 1 is kept beside it before anything changes."""

    prepare = ChangeAfterKill.prepare

    migrations: ClassVar = [FIRST, SECOND, THIRD]

    def act(self, folder: Path) -> None:
        Database(folder / "db", self.migrations).close()
        acknowledge("opened")

    def before_opening(self, folder: Path) -> None:
        connection = sqlite3.connect(folder / "db")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        connection.close()
        backup = folder / "db.before-1"
        assert backup.exists() or version == 1, f"format {version} without a backup"
        if backup.exists():
            older = Database(backup, [FIRST])
            assert words(older) == OLD
            older.close()

    def holds(self, store: Database, acknowledged: list[str]) -> None:
        assert words(store) == OLD
        assert [row[0] for row in store.rows("SELECT language FROM words")] == ["en", "en"]
        assert [tuple(row) for row in store.rows("SELECT * FROM seconds")] == [("old", 1.5)]


def say(store: Database, *said: str) -> None:
    for word in said:
        with store.change() as connection:
            connection.execute("INSERT INTO words (word) VALUES (?)", (word,))


def words(store: Database) -> list[str]:
    return [row["word"] for row in store.rows("SELECT word FROM words ORDER BY rowid")]


def possible(said: list[str], acknowledged: list[str]) -> list[list[str]]:
    """All that was acknowledged, and perhaps the one that was being said."""
    return [[*OLD, *said[:count]] for count in reach(said, acknowledged)]


def reach(said: list[str], acknowledged: list[str]) -> range:
    return range(len(acknowledged), min(len(acknowledged) + 1, len(said)) + 1)


SCENARIOS = [FirstChanges, ChangeAfterKill, AllOrNothing, TryAgain, Migrate]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_whatever_fails_and_whenever_the_store_opens_with_every_acknowledged_word(
    scenario, tmp_path
):
    enumerate_faults(scenario, tmp_path)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_whenever_the_power_goes_the_store_opens_with_every_acknowledged_word(scenario, tmp_path):
    enumerate_power_loss(scenario, tmp_path)
