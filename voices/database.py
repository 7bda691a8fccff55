"""One SQLite file: opened safely, brought up to date with a backup first, changed in transactions."""

from __future__ import annotations

import sqlite3
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engines.errors import StoreDamagedError, StoreTooNewError, WorkspaceError
from voices import files

# Marks the file as ours: "Timb".
_APPLICATION_ID = 0x54696D62
_BUSY_SECONDS = 5.0


class Database:
    """
    A file with numbered migrations: `migrations[n]` brings format n to n + 1.

    A change is on the disk (WAL, synchronous=FULL) when `change()` ends without an error.
    Threads of one process share the connection; other processes wait for each other.
    """

    def __init__(self, path: Path, migrations: Sequence[str]) -> None:
        self.path = path
        self._lock = threading.RLock()
        with _in_words(path):
            self._connection = sqlite3.connect(
                path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._connection.row_factory = sqlite3.Row
            try:
                self._open(migrations)
            except BaseException:
                self._connection.close()
                raise

    @contextmanager
    def change(self) -> Iterator[sqlite3.Connection]:
        """Do several statements as one: all of them are kept, or none."""
        with self._lock, _in_words(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                # SQLite has rolled back by itself after a full disk or an I/O error.
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def rows(self, sql: str, *values: Any) -> list[sqlite3.Row]:
        """Read what a query finds."""
        with self._lock, _in_words(self.path):
            return self._connection.execute(sql, values).fetchall()

    def row(self, sql: str, *values: Any) -> sqlite3.Row | None:
        """Read the first row a query finds."""
        found = self.rows(sql, *values)
        return found[0] if found else None

    def copy_to(self, path: Path) -> None:
        """Keep a copy of the file as it is now, whole or not at all."""
        with self._lock, _in_words(self.path), files.new_file(path) as file:
            target = sqlite3.connect(file.name)
            try:
                self._connection.backup(target)
            finally:
                target.close()

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _open(self, migrations: Sequence[str]) -> None:
        self._check_whose_it_is(newest=len(migrations))
        pragmas = ["journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"]
        if sys.platform == "darwin":  # there a plain fsync stops at the disk's own cache
            pragmas += ["fullfsync=ON", "checkpoint_fullfsync=ON"]
        for pragma in pragmas:
            self._set(pragma)
        # A file that cannot be written SQLite opens for reading, without a word, and even begins
        # a change: write something and take it back.
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.execute(f"PRAGMA user_version={self._pragma('user_version')}")
        self._connection.execute("ROLLBACK")
        self._migrate(migrations)

    def _set(self, pragma: str) -> None:
        """Set something; for the journal SQLite does not wait by itself, when two make a file."""
        deadline = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                self._connection.execute(f"PRAGMA {pragma}")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def _check_whose_it_is(self, newest: int) -> None:
        # In one transaction: another process may be making the file at this moment.
        self._connection.execute("BEGIN")
        version, mark = self._pragma("user_version"), self._pragma("application_id")
        tables = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        self._connection.execute("COMMIT")
        if tables and mark != _APPLICATION_ID:
            raise StoreDamagedError(
                f"{self.path} was not made by Timbre.", "Move it away and start again."
            )
        if version > newest:
            raise StoreTooNewError(
                f"{self.path.name} was written by a newer Timbre"
                f" (format {version}; this one knows {newest}).",
                "Update Timbre, or choose another workspace with --home. Nothing was changed.",
            )
        found = self._connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise _damaged(self.path, found)

    def _migrate(self, migrations: Sequence[str]) -> None:
        if 0 < self._pragma("user_version") < len(migrations):
            self._back_up()
        while (version := self._pragma("user_version")) < len(migrations):
            # A second process may be migrating too: whoever comes later finds it done.
            with self.change() as connection:
                if self._pragma("user_version") != version:
                    continue
                for statement in _statements(migrations[version]):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id={_APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version={version + 1}")

    def _back_up(self) -> None:
        """Copy the file to `<name>.before-<format>`."""
        version = self._pragma("user_version")
        self.copy_to(self.path.with_name(f"{self.path.name}.before-{version}"))

    def _pragma(self, name: str) -> int:
        return int(self._connection.execute(f"PRAGMA {name}").fetchone()[0])


def _statements(script: str) -> Iterator[str]:
    """Split a script at its semicolons; `executescript` would commit half-way."""
    *pieces, statement = script.split(";")
    whole = ""
    for piece in pieces:
        whole += f"{piece};"
        if sqlite3.complete_statement(whole):
            yield whole
            whole = ""
    statement = whole + statement
    if statement.strip():
        raise ValueError(f"A migration ends in the middle of a statement: {statement!r}")


@contextmanager
def _in_words(path: Path) -> Iterator[None]:
    """Turn what SQLite says into what a person can do about it."""
    try:
        yield
    except sqlite3.IntegrityError:
        raise  # a rule of ours was broken: the caller knows which and says it better
    except sqlite3.DatabaseError as error:
        said = str(error)
        if "disk is full" in said or files.is_full(path):
            raise files.disk_full(path) from error
        if "malformed" in said or "not a database" in said:
            raise _damaged(path, said) from error
        if isinstance(error, sqlite3.OperationalError):
            raise WorkspaceError(
                f"{path} could not be read or written ({said}).",
                "See that the disk is connected, writable and not used by another program,"
                " then try again. What was saved before is unchanged.",
            ) from error
        raise


def _damaged(path: Path, said: str) -> StoreDamagedError:
    copies = [*path.parent.glob(f"{path.name}.before-*"), *path.parent.glob(f"{path.name}.kept")]
    newest = max(copies, key=lambda copy: copy.stat().st_mtime, default=None)
    fix = (
        f"Copy the whole folder first, then put {newest.name}, a copy from before, in its place."
        if newest
        else "Copy the whole folder first, then move the file away."
    )
    return StoreDamagedError(f"{path} is damaged ({said}).", fix)
