"""
A project's transcript: clips as spans of recordings, and every edit ever made to them.

A clip is (recording, start, end, text): trimming, splitting, merging and undoing change values,
never audio. Each action is one transaction and one row of history, so that it can be undone and
redone after a restart. Clips carry the revision they were changed at; a change names the one it
saw, and is refused, with both texts, when somebody else was faster.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

from engines.errors import ConflictError, NotFoundError
from voices.database import Database
from voices.workspace import now

PERSON = "person"
"""Who an action is by, unless the studio did it. What a person did is never done over."""
CHECKS = "checks"
_ORDER = {"done": "DESC", "undone": "ASC"}
"""What was done last is undone first, and what was undone last is done again first."""
_TRIES = 5
Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Values:
    """What an edit can change of a clip. Seconds count from the start of its recording."""

    recording: str
    start: float
    end: float
    text: str
    included: bool = True
    reason: str = ""
    """Why it is marked or left out, in words."""
    gone: bool = False


@dataclass(frozen=True, slots=True)
class Clip:
    id: int
    revision: int
    values: Values


@dataclass(frozen=True, slots=True)
class Edit:
    """One clip's part of an action. `saw` is the revision the editor looked at."""

    clip_id: int
    saw: int
    values: Values


@dataclass(frozen=True, slots=True)
class Action:
    """One thing a person did, as the history lists it."""

    id: int
    label: str
    at: str
    state: str


class EditConflict(ConflictError):
    """Both versions of a clip that two editors changed; nothing was written."""

    def __init__(self, yours: Values, theirs: Clip) -> None:
        super().__init__(
            f"This clip was changed elsewhere meanwhile: {theirs.values.text!r}."
            f" Yours, {yours.text!r}, is not saved.",
            "Keep one of the two, or write a third.",
        )
        self.yours = yours
        self.theirs = theirs


def on_conflict_again(attempt: Callable[[], None]) -> None:
    """Do what looks at clips and changes them; when somebody was faster, look again."""
    for _ in range(_TRIES):
        with suppress(EditConflict):
            attempt()
            return
    attempt()


class Transcript:
    """The clips of one project and their history."""

    def __init__(self, store: Database) -> None:
        self._store = store

    def clips(self, since_revision: int = -1) -> list[Clip]:
        """List clips in spoken order; after a revision: what changed since, also what is gone."""
        found = self._store.rows(
            'SELECT clips.id, recording, start, "end", text, included, reason, revision,'
            " (clips.gone OR recordings.trashed) AS gone"
            " FROM clips JOIN recordings ON recordings.id = clips.recording"
            " WHERE clips.revision > ? AND (NOT clips.gone AND NOT recordings.trashed OR ? >= 0)"
            " ORDER BY recordings.place, recordings.id, start, clips.id",
            since_revision,
            since_revision,
        )
        return [_clip(row) for row in found]

    def clips_of(self, recording: str) -> list[Clip]:
        """List the clips of one recording in spoken order."""
        found = self._store.rows(
            "SELECT * FROM clips WHERE recording = ? AND NOT gone ORDER BY start, id", recording
        )
        return [_clip(row) for row in found]

    def clip(self, clip_id: int) -> Clip:
        """Read one clip, also one that is gone."""
        return _found(self._store.row("SELECT * FROM clips WHERE id = ?", clip_id), clip_id)

    def revision(self) -> int:
        """The newest revision: what a reader has seen after reading everything."""
        return _newest_revision(self._store.rows("SELECT max(revision) FROM clips")[0])

    def edit(
        self,
        label: str,
        edits: Sequence[Edit] = (),
        new: Sequence[Values] = (),
        by: str = PERSON,
    ) -> list[Clip]:
        """Do one undoable action; on return it is on the disk. Returns the clips as they are now."""
        with self._store.change() as store:
            action = _begin_action(store, label, by)
            added = [_insert(store, values) for values in new]
            for edit in edits:
                _refuse_if_stale(_read(store, edit.clip_id), edit)
            changes = [(_read(store, edit.clip_id), edit.values) for edit in edits]
            changes += [(clip, replace(clip.values, gone=False)) for clip in added]
            return [_write(store, action, clip, values) for clip, values in changes]

    def undo(self) -> Action | None:
        """
        Take back the newest action, or return None when there is none.

        What the checks did is passed over: the next ones would do it again. So are the first clips
        of a recording: without them there is nothing to edit.
        """
        return self._turn("done", to="undone", write="before")

    def redo(self) -> Action | None:
        """Do again what was undone last, or return None."""
        return self._turn("undone", to="done", write="after")

    def to_undo(self) -> Action | None:
        """Find what `undo` would take back."""
        return self._next("done")

    def to_redo(self) -> Action | None:
        """Find what `redo` would do again."""
        return self._next("undone")

    def cut_by(self, recording: str) -> str:
        """Whose words a recording's clips were last cut from; empty when they never were."""
        row = self._store.row(
            "SELECT actions.by FROM actions JOIN edits ON edits.action = actions.id"
            " JOIN clips ON clips.id = edits.clip"
            " WHERE clips.recording = ? AND actions.state = 'done'"
            " AND actions.by NOT IN (?, ?) ORDER BY actions.id DESC LIMIT 1",
            recording,
            PERSON,
            CHECKS,
        )
        return str(row["by"]) if row else ""

    def touched(self, recording: str, kind: str = "whisper") -> dict[int, Span]:
        """
        The clips of a recording that a person made or changed, by id: all that they ever covered.

        To a whisper, clips of a person's text are touched too; to another text they are not.
        """
        found = self._store.rows(
            "SELECT clips.id, min(min(json_extract(edits.before, '$.start'), json_extract(edits.after, '$.start'))) AS first,"
            " max(max(json_extract(edits.before, '$.end'), json_extract(edits.after, '$.end'))) AS last"
            " FROM clips JOIN edits ON edits.clip = clips.id"
            " JOIN actions ON actions.id = edits.action"
            " WHERE clips.recording = ? AND actions.state = 'done'"
            " AND (actions.by = ? OR actions.by LIKE ?) GROUP BY clips.id",
            recording,
            PERSON,
            "text %" if kind == "whisper" else "",
        )
        return {row["id"]: (row["first"], row["last"]) for row in found}

    def decided(self) -> set[int]:
        """The ids of the clips that a person took in or left out: the checks do so no more."""
        found = self._store.rows(
            "SELECT DISTINCT edits.clip FROM edits JOIN actions ON actions.id = edits.action"
            " WHERE actions.state = 'done' AND actions.by = ? AND (edits.before = edits.after"
            " OR json_extract(edits.before, '$.included') != json_extract(edits.after, '$.included')"
            " OR json_extract(edits.before, '$.reason') != json_extract(edits.after, '$.reason')"
            " OR (json_extract(edits.before, '$.gone') AND NOT json_extract(edits.after, '$.included')))",
            PERSON,
        )
        return {row["clip"] for row in found}

    def history(self) -> list[Action]:
        """List every action, the newest first."""
        return [*map(_action, self._store.rows("SELECT * FROM actions ORDER BY id DESC"))]

    def _next(self, state: str) -> Action | None:
        row = self._store.row(
            "SELECT * FROM actions WHERE state = ? AND (by = ? OR by != ? AND EXISTS"
            " (SELECT 1 FROM edits WHERE action = actions.id"
            f" AND NOT json_extract(before, '$.gone'))) ORDER BY id {_ORDER[state]} LIMIT 1",
            state,
            PERSON,
            CHECKS,
        )
        return _action(row) if row else None

    def _turn(self, state: str, *, to: str, write: str) -> Action | None:
        with self._store.change() as store:
            action = self._next(state)
            if action is None:
                return None
            revision = _next_revision(store)
            edits = store.execute("SELECT * FROM edits WHERE action = ?", (action.id,)).fetchall()
            for edit in edits:
                _update(store, edit["clip"], Values(**json.loads(edit[write])), revision)
            store.execute("UPDATE actions SET state = ? WHERE id = ?", (to, action.id))
            return replace(action, state=to)


def _begin_action(store: sqlite3.Connection, label: str, by: str) -> int:
    # What was undone can no longer be redone once something else is done; its rows stay.
    if by != CHECKS:
        store.execute("UPDATE actions SET state = 'passed' WHERE state = 'undone'")
    cursor = store.execute(
        "INSERT INTO actions (label, at, state, by) VALUES (?, ?, 'done', ?)", (label, now(), by)
    )
    return int(cursor.lastrowid or 0)


def _refuse_if_stale(found: Clip, edit: Edit) -> None:
    if found.revision != edit.saw:
        raise EditConflict(edit.values, found)


def _insert(store: sqlite3.Connection, values: Values) -> Clip:
    """Add a clip that is not there yet: its first edit makes it appear, undoing that hides it."""
    unborn = replace(values, gone=True)
    cursor = store.execute(
        'INSERT INTO clips (recording, start, "end", text, included, reason, gone, revision)'
        " VALUES (:recording, :start, :end, :text, :included, :reason, :gone, 0)",
        asdict(unborn),
    )
    return Clip(int(cursor.lastrowid or 0), 0, unborn)


def _write(store: sqlite3.Connection, action: int, before: Clip, after: Values) -> Clip:
    store.execute(
        "INSERT INTO edits VALUES (?, ?, ?, ?)",
        (action, before.id, _json(before.values), _json(after)),
    )
    return _update(store, before.id, after, _next_revision(store))


def _update(store: sqlite3.Connection, clip_id: int, values: Values, revision: int) -> Clip:
    store.execute(
        'UPDATE clips SET recording = :recording, start = :start, "end" = :end, text = :text,'
        " included = :included, reason = :reason, gone = :gone, revision = :revision"
        " WHERE id = :id",
        {**asdict(values), "id": clip_id, "revision": revision},
    )
    return Clip(clip_id, revision, values)


def _read(store: sqlite3.Connection, clip_id: int) -> Clip:
    return _found(store.execute("SELECT * FROM clips WHERE id = ?", (clip_id,)).fetchone(), clip_id)


def _found(row: sqlite3.Row | None, clip_id: int) -> Clip:
    if row is None:
        raise NotFoundError(
            f"There is no clip {clip_id}.",
            "Look at the list again: it may have been merged or undone.",
        )
    return _clip(row)


def _next_revision(store: sqlite3.Connection) -> int:
    return _newest_revision(store.execute("SELECT max(revision) FROM clips").fetchone()) + 1


def _newest_revision(row: sqlite3.Row) -> int:
    return int(row[0] or 0)


def _json(values: Values) -> str:
    return json.dumps(asdict(values), ensure_ascii=False)


def _action(row: sqlite3.Row) -> Action:
    return Action(row["id"], row["label"], row["at"], row["state"])


def _clip(row: sqlite3.Row) -> Clip:
    fields: dict[str, Any] = {name: row[name] for name in Values.__dataclass_fields__}
    fields["included"], fields["gone"] = bool(row["included"]), bool(row["gone"])
    return Clip(row["id"], row["revision"], Values(**fields))
