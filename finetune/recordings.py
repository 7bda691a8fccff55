"""The recordings of a project: what came in, each content once, with what is known of its sound."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict, dataclass

from engines.errors import NotFoundError
from finetune.media.decoded import Decoded, decoded_from
from voices.database import Database
from voices.workspace import now


@dataclass(frozen=True, slots=True)
class Recording:
    """What a person gave, as the project keeps it."""

    id: str
    name: str
    """As it came, with the folders below the one that was chosen: "day 1/talk.mp3"."""
    added_at: str
    sha256: str
    original: str
    """Its file in recordings/."""
    decoded: Decoded
    language: str = ""
    """As chosen or as heard; empty until then."""
    trashed: bool = False

    @property
    def seconds(self) -> float:
        return self.decoded.seconds


class Recordings:
    """The table of recordings."""

    def __init__(self, store: Database) -> None:
        self._store = store

    def next_place(self) -> int:
        """The place behind the last one."""
        row = self._store.row("SELECT coalesce(max(place), 0) + 1 FROM recordings")
        return int(row[0]) if row else 1

    def add(
        self,
        recording_id: str,
        name: str,
        sha256: str,
        original: str,
        decoded: Decoded,
        place: int | None = None,
    ) -> Recording:
        """Register a recording whose original and working copy are on the disk."""
        added = Recording(recording_id, name, now(), sha256, original, decoded)
        with self._store.change() as store:
            store.execute(
                "INSERT INTO recordings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0)",
                (
                    *(
                        added.id,
                        place or self.next_place(),
                        added.name,
                        added.seconds,
                        added.added_at,
                        added.sha256,
                    ),
                    *(added.original, json.dumps(asdict(decoded)), added.language),
                ),
            )
        return added

    def all(self, trashed: bool = False) -> list[Recording]:
        """List those that are not in the trash, or those that are, in their order."""
        return [each for each in self.ever() if each.trashed == trashed]

    def ever(self) -> list[Recording]:
        """List those in the trash too: a dataset that was frozen before may hold them."""
        rows = self._store.rows("SELECT * FROM recordings ORDER BY place, id")
        return [_recording(row) for row in rows]

    def find(self, recording_id: str) -> Recording:
        row = self._store.row("SELECT * FROM recordings WHERE id = ?", recording_id)
        if row is None:
            raise NotFoundError(
                f"There is no recording {recording_id}.", "`dataset show` lists those there are."
            )
        return _recording(row)

    def with_content(self, sha256: str) -> Recording | None:
        """The recording with exactly this content, if it came before, in the trash or not."""
        row = self._store.row("SELECT * FROM recordings WHERE sha256 = ?", sha256)
        return _recording(row) if row else None

    def set_language(self, recording_id: str, language: str) -> None:
        with self._store.change() as store:
            store.execute(
                "UPDATE recordings SET language = ? WHERE id = ?", (language, recording_id)
            )

    def trash(self, recording_id: str, trashed: bool = True) -> None:
        """Put it into the trash with its clips, or take it back: nothing of it is lost there."""
        with self._store.change() as store:
            found = store.execute(
                "UPDATE recordings SET trashed = ? WHERE id = ? AND trashed != ?",
                (trashed, recording_id, trashed),
            )
            if found.rowcount:  # so that who lists what changed sees its clips go and come
                store.execute(
                    "UPDATE clips SET revision = (SELECT max(revision) + 1 FROM clips)"
                    " WHERE recording = ?",
                    (recording_id,),
                )


def _recording(row: sqlite3.Row) -> Recording:
    decoded = decoded_from(json.loads(row["decoded"]))
    return Recording(
        *(row["id"], row["name"], row["added_at"], row["sha256"], row["original"]),
        decoded,
        row["language"],
        bool(row["trashed"]),
    )
