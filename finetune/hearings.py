"""
The hearings of recordings: their words with times, kept stretch by stretch as they are found.

Each going over a recording is a hearing of its own, so that hearing it again with another model
loses nothing. One that was cut off goes on behind its last stretch.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from finetune.words import Word
from voices.database import Database
from voices.workspace import now

if TYPE_CHECKING:
    from finetune.quiet import Levels

Span = tuple[float, float]
Kind = Literal["whisper", "text", "speech"]
"""Recognised words, a person's text laid over them, or only where somebody speaks."""
KINDS: tuple[Kind, ...] = ("whisper", "text", "speech")


@dataclass(frozen=True, slots=True)
class Hearing:
    """One going over one recording."""

    id: int
    recording: str
    kind: Kind
    source: str
    """What heard it and with which settings, in words."""
    language: str
    finished: bool
    reached: float
    """Seconds of the recording that are done."""


@dataclass(frozen=True, slots=True)
class Heard:
    """All that a hearing found: who it is cut and checked from."""

    spans: tuple[Span, ...]
    words: tuple[Word, ...]
    levels: Levels


class Hearings:
    """The hearings of a project."""

    def __init__(self, store: Database) -> None:
        self._store = store

    def begin(
        self, recording: str, kind: Kind, source: str, language: str = "", *, times: int = 1
    ) -> Hearing:
        """
        Begin a hearing, or find the one from the same source to go on with.

        One more is begun when fewer than `times` came to their end.
        """
        same = self.from_source(recording, kind, source)
        if same and (not same[-1].finished or len(same) >= times):
            return same[-1]
        with self._store.change() as store:
            cursor = store.execute(
                "INSERT INTO hearings (recording, kind, source, language, begun_at, finished)"
                " VALUES (?, ?, ?, ?, ?, 0)",
                (recording, kind, source, language, now()),
            )
            hearing_id = int(cursor.lastrowid or 0)
        return Hearing(hearing_id, recording, kind, source, language, False, 0.0)

    def of(self, recording: str) -> list[Hearing]:
        """List the hearings of a recording, the oldest first."""
        found = self._store.rows(
            'SELECT hearings.*, coalesce(max(stretches."end"), 0) AS reached FROM hearings'
            " LEFT JOIN stretches ON stretches.hearing = hearings.id"
            " WHERE recording = ? GROUP BY hearings.id ORDER BY hearings.id",
            recording,
        )
        return [_hearing(row) for row in found]

    def from_source(self, recording: str, kind: Kind, source: str) -> list[Hearing]:
        """The hearings of a recording that are from one source, the oldest first."""
        found = self.of(recording)
        return [each for each in found if (each.kind, each.source) == (kind, source)]

    def newest(self, recording: str, *kinds: Kind) -> Hearing | None:
        """The newest hearing of these kinds, or of any, that came to its end."""
        found = reversed(self.of(recording))
        return next(
            (each for each in found if each.finished and each.kind in (kinds or KINDS)), None
        )

    def add(
        self,
        hearing: Hearing,
        end: float,
        spans: Sequence[Span],
        words: Sequence[Word],
        levels: Levels,
    ) -> Hearing:
        """Keep what was found up to a time; on return it is on the disk."""
        facts = (json.dumps(spans), _words_to_text(words), levels.astype("<f2").tobytes())
        with self._store.change() as store:
            store.execute(
                "INSERT INTO stretches VALUES (?, ?, ?, ?, ?, ?)",
                (hearing.id, hearing.reached, end, *facts),
            )
        return replace(hearing, reached=end)

    def finish(self, hearing: Hearing) -> Hearing:
        """Note that it came to its end."""
        with self._store.change() as store:
            store.execute("UPDATE hearings SET finished = 1 WHERE id = ?", (hearing.id,))
        return replace(hearing, finished=True)

    def set_language(self, hearing: Hearing, language: str) -> Hearing:
        """Note the language it hears, which is then that of the recording."""
        with self._store.change() as store:
            store.execute("UPDATE hearings SET language = ? WHERE id = ?", (language, hearing.id))
            store.execute(
                "UPDATE recordings SET language = ? WHERE id = ?",
                (language, hearing.recording),
            )
        return replace(hearing, language=language)

    def heard(self, hearing: Hearing) -> Heard:
        """Read everything it found."""
        import numpy as np  # here, because the studio reads this module and hears nothing

        rows = self._store.rows(
            "SELECT * FROM stretches WHERE hearing = ? ORDER BY start", hearing.id
        )
        levels = b"".join(row["levels"] for row in rows)
        return Heard(
            tuple((start, end) for row in rows for start, end in json.loads(row["spans"])),
            tuple(word for row in rows for word in _words_from_text(row["words"])),
            np.frombuffer(levels, "<f2").astype(np.float32),
        )


def _hearing(row: sqlite3.Row) -> Hearing:
    return Hearing(
        *(row["id"], row["recording"], row["kind"], row["source"], row["language"]),
        bool(row["finished"]),
        row["reached"],
    )


def _words_to_text(words: Sequence[Word]) -> str:
    rows = [(word.text, word.start, word.end, word.probability) for word in words]
    return json.dumps(rows, ensure_ascii=False)


def _words_from_text(text: str) -> list[Word]:
    return [Word(*row) for row in json.loads(text)]
