"""A shelf of named things — projects, voices: made, found by name, renamed, put in the trash."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from engines.errors import NameProblem, NotFoundError
from voices import names
from voices.workspace import Workspace, now


@dataclass(frozen=True, slots=True)
class Item:
    """One named thing. `id` is its folder's name on disk."""

    id: str
    name: str
    created_at: str
    trashed: bool


@dataclass(frozen=True, slots=True)
class Shelf:
    """The named things of one kind in a workspace."""

    workspace: Workspace
    table: str
    one: str
    """What a person calls one of them: "project"."""

    def add(self, name: str, new_id: str | None = None) -> Item:
        """Keep a new one. Its folder, if it has one, is made first: what is listed is there."""
        made = Item(new_id or names.new_id(), names.clean(name), now(), trashed=False)
        with self.workspace.store.change() as store, self._only_one_of(made.name):
            store.execute(
                f"INSERT INTO {self.table} (id, name, name_key, created_at) VALUES (?, ?, ?, ?)",
                (made.id, made.name, names.key(made.name), made.created_at),
            )
        return made

    def all(self, *, trashed: bool = False) -> list[Item]:
        """List them, the newest first."""
        found = self.workspace.store.rows(
            f"SELECT * FROM {self.table} WHERE (trashed_at IS NOT NULL) = ? ORDER BY rowid DESC",
            trashed,
        )
        return [_item(row) for row in found]

    def find(self, name_or_id: str) -> Item:
        """Find one by its name, however it is capitalised, or by its id."""
        wanted = names.clean(name_or_id)
        row = self.workspace.store.row(
            f"SELECT * FROM {self.table} WHERE id = ? OR (name_key = ? AND trashed_at IS NULL)"
            " ORDER BY id = ? DESC",
            wanted,
            names.key(wanted),
            wanted,
        )
        if row is None:
            raise NotFoundError(
                f"There is no {self.one} called {name_or_id!r}.",
                self._what_there_is(),
            )
        return _item(row)

    def rename(self, item_id: str, name: str) -> Item:
        """Give another name; nothing on disk moves."""
        cleaned = names.clean(name)
        if self.find(item_id).trashed:
            raise NotFoundError(
                f"This {self.one} was moved to the trash meanwhile.", "Take it back first."
            )
        with self.workspace.store.change() as store, self._only_one_of(cleaned):
            store.execute(
                f"UPDATE {self.table} SET name = ?, name_key = ? WHERE id = ?",
                (cleaned, names.key(cleaned), item_id),
            )
        return self.find(item_id)

    def trash(self, item_id: str) -> Item:
        """Put one out of sight. Nothing is deleted."""
        with self.workspace.store.change() as store:
            store.execute(f"UPDATE {self.table} SET trashed_at = ? WHERE id = ?", (now(), item_id))
        return self.find(item_id)

    def restore(self, item_id: str) -> Item:
        """Take one back from the trash, with a number when its name was given again meanwhile."""
        name = self._free(self.find(item_id).name)
        with self.workspace.store.change() as store, self._only_one_of(name):
            store.execute(
                f"UPDATE {self.table} SET trashed_at = NULL, name = ?, name_key = ? WHERE id = ?",
                (name, names.key(name), item_id),
            )
        return self.find(item_id)

    def _free(self, name: str) -> str:
        taken = {names.key(item.name) for item in self.all()}
        numbered = (f"{name[:240]} ({number})" for number in range(2, len(taken) + 3))
        return next(each for each in (name, *numbered) if names.key(each) not in taken)

    @contextmanager
    def _only_one_of(self, name: str) -> Iterator[None]:
        """Say that a name is taken where the store's unique index finds out."""
        try:
            yield
        except sqlite3.IntegrityError as error:
            there = self.find(name).name
            raise NameProblem(
                f"There is a {self.one} called {there!r} already.", "Choose another name."
            ) from error

    def _what_there_is(self) -> str:
        known = [item.name for item in self.all()[:5]]
        return f"There is: {', '.join(known)}." if known else f"There is no {self.one} yet."


def _item(row: sqlite3.Row) -> Item:
    return Item(row["id"], row["name"], row["created_at"], row["trashed_at"] is not None)
