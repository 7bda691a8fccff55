"""The tables of a project's store, project.db."""

from __future__ import annotations

from pathlib import Path

from voices.database import Database

# Append only, like studio.db's in voices/workspace.py.
MIGRATIONS = (
    """
    CREATE TABLE recordings (
        id TEXT PRIMARY KEY,
        place INTEGER NOT NULL,     -- their order, which is that of the clips
        name TEXT NOT NULL,         -- as it came, with the folders below the one that was chosen
        seconds REAL NOT NULL, added_at TEXT NOT NULL,
        sha256 TEXT NOT NULL,       -- of what was received: the same content is the same recording
        original TEXT NOT NULL,     -- its file in recordings/
        decoded TEXT NOT NULL,      -- what is known of its sound, as JSON
        language TEXT NOT NULL      -- as chosen or as heard; empty until then
    );
    CREATE UNIQUE INDEX one_recording_of_a_content ON recordings (sha256);

    CREATE TABLE hearings (         -- one going over a recording: its words, whatever they come from
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        recording TEXT NOT NULL REFERENCES recordings (id),
        kind TEXT NOT NULL,         -- whisper; text, laid over a hearing; speech, without words
        source TEXT NOT NULL,       -- what heard it and with which settings: the same one goes on
        language TEXT NOT NULL, begun_at TEXT NOT NULL,
        finished INTEGER NOT NULL
    );
    CREATE INDEX hearings_by_recording ON hearings (recording);
    CREATE TABLE stretches (        -- what of it is done: after a kill it goes on behind the last one
        hearing INTEGER NOT NULL REFERENCES hearings (id),
        start REAL NOT NULL, "end" REAL NOT NULL,
        spans TEXT NOT NULL,        -- where somebody speaks, as JSON
        words TEXT NOT NULL,        -- the words with their times, as JSON
        levels BLOB NOT NULL,       -- in 10 ms, see finetune/quiet.py
        PRIMARY KEY (hearing, start)
    ) WITHOUT ROWID;

    CREATE TABLE clips (
        id INTEGER PRIMARY KEY,
        recording TEXT NOT NULL REFERENCES recordings (id),
        start REAL NOT NULL, "end" REAL NOT NULL, text TEXT NOT NULL,
        included INTEGER NOT NULL, reason TEXT NOT NULL,
        gone INTEGER NOT NULL,      -- merged into another one or undone; kept for redo
        revision INTEGER NOT NULL   -- one count for the project: "what changed since 812" is a query
    );
    CREATE INDEX clips_by_place ON clips (recording, start);
    CREATE INDEX clips_by_revision ON clips (revision);
    CREATE TABLE actions (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        label TEXT NOT NULL, at TEXT NOT NULL,
        state TEXT NOT NULL,        -- done, undone, or passed (undone, then something else was done)
        by TEXT NOT NULL            -- person, checks, or the hearing whose words it cut: whisper 12
    );
    CREATE INDEX actions_by_whom ON actions (by);
    CREATE TABLE edits (
        action INTEGER NOT NULL REFERENCES actions (id),
        clip INTEGER NOT NULL REFERENCES clips (id),
        before TEXT NOT NULL, after TEXT NOT NULL,   -- the clip's values as JSON
        PRIMARY KEY (action, clip)
    ) WITHOUT ROWID;
    CREATE INDEX edits_by_clip ON edits (clip);

    CREATE TABLE checks (           -- what was found in a clip's sound and text; made again at will
        clip INTEGER PRIMARY KEY REFERENCES clips (id),
        start REAL NOT NULL, "end" REAL NOT NULL,  -- what was listened to
        sound TEXT NOT NULL,        -- what was found in it, as JSON
        voice BLOB NOT NULL,        -- its voice print
        text TEXT NOT NULL,         -- what was judged
        mark TEXT NOT NULL, reason TEXT NOT NULL,
        findings TEXT NOT NULL      -- as JSON
    );

    CREATE TABLE settings (         -- as last chosen for this project
        name TEXT PRIMARY KEY, chosen TEXT NOT NULL
    );

    CREATE TABLE datasets (
        version INTEGER PRIMARY KEY,
        frozen_at TEXT NOT NULL, note TEXT NOT NULL,
        dataset TEXT NOT NULL       -- its examples, as JSON
    );
    """,
    # Its clips are not listed; everything of it stays.
    "ALTER TABLE recordings ADD COLUMN trashed INTEGER NOT NULL DEFAULT 0;",
)


def open_store(path: Path) -> Database:
    return Database(path, MIGRATIONS)
