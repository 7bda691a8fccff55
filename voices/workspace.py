"""The workspace: the one folder where everything of a person lives, and its list of what is there."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from engines.errors import WorkspaceError
from voices import files
from voices.database import Database

# studio.db. Append only: a script that has shipped is never changed, a new one follows it.
MIGRATIONS = (
    """
    CREATE TABLE projects (
        id TEXT PRIMARY KEY, name TEXT NOT NULL, name_key TEXT NOT NULL,
        created_at TEXT NOT NULL, trashed_at TEXT
    );
    CREATE UNIQUE INDEX one_project_of_a_name ON projects (name_key) WHERE trashed_at IS NULL;

    CREATE TABLE voices (
        id TEXT PRIMARY KEY, name TEXT NOT NULL, name_key TEXT NOT NULL,
        created_at TEXT NOT NULL, trashed_at TEXT,
        tags TEXT NOT NULL DEFAULT '',  -- with commas between
        favourite INTEGER NOT NULL DEFAULT 0,
        whose TEXT NOT NULL DEFAULT '', -- whose voice it is
        agreed INTEGER                  -- whether its owner agrees; NULL: nobody was asked
    );
    CREATE UNIQUE INDEX one_voice_of_a_name ON voices (name_key) WHERE trashed_at IS NULL;

    CREATE TABLE jobs (
        id TEXT PRIMARY KEY,
        place INTEGER NOT NULL,  -- order in the queue
        needs TEXT NOT NULL,     -- what only one job at a time can have: "gpu-0", "cpu", or ""
        once TEXT NOT NULL,      -- two jobs with the same word here never wait or run together
        state TEXT NOT NULL,     -- waiting, started or ended; what a started job does is in its folder
        keeper TEXT NOT NULL,    -- the process that stays beside it, as JSON
        queued_at TEXT NOT NULL
    );
    CREATE UNIQUE INDEX one_job_at_once ON jobs (once) WHERE once != '' AND state != 'ended';
    """,
)


@dataclass(frozen=True, slots=True)
class Workspace:
    """Where things live on disk. Names on disk are ids; people's names are in the store."""

    root: Path
    store: Database

    @property
    def projects(self) -> Path:
        return self.root / "projects"

    @property
    def jobs(self) -> Path:
        return self.root / "jobs"

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    @property
    def voices(self) -> Path:
        return self.root / "voices"

    @property
    def cache(self) -> Path:
        """Can be deleted at any time."""
        return self.root / "cache"

    @property
    def folders(self) -> tuple[Path, ...]:
        others = (self.root / name for name in ("models", "spoken", "comparisons"))
        return self.projects, self.jobs, self.runs, self.voices, *others, self.cache

    def written_in(self) -> Iterator[Path]:
        """Every folder that something is written in whole: where an interruption leaves a part."""
        yield self.root
        for folder in self.folders:
            yield folder
            for path in folder.iterdir():
                if path.is_dir():
                    yield path
                    yield from (inside for inside in path.iterdir() if inside.is_dir())

    def close(self) -> None:
        self.store.close()


def home(chosen: str | None, environment: Mapping[str, str], beside: Path) -> Path:
    """The workspace's folder: `--home`, else TIMBRE_HOME, else `workspace/` beside launch.py."""
    named = chosen or environment.get("TIMBRE_HOME")
    try:
        return (Path(named) if named else beside / "workspace").expanduser().absolute()
    except RuntimeError as error:
        raise WorkspaceError(
            f"{named} is not a folder ({error}).", "Name another one with --home."
        ) from error


def open_workspace(root: Path) -> Workspace:
    """Open the workspace in a folder, making what is missing."""
    try:
        # For nobody else on a shared computer: recordings of voices are private.
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        workspace = Workspace(root, Database(root / "studio.db", MIGRATIONS))
        for folder in workspace.folders:
            folder.mkdir(exist_ok=True)
        for folder in (root, root.parent):
            files.sync_folder(folder)
    except OSError as error:
        raise unusable(root, error) from error
    return workspace


def unusable(root: Path, error: OSError) -> WorkspaceError:
    """The error for a folder that cannot be made or written in."""
    return WorkspaceError(
        f"The workspace {root} cannot be used ({os.strerror(error.errno or 0)}).",
        "Choose a folder you may write to with --home.",
    )


def now() -> str:
    """The time for people to read. Nothing is ordered by it: clocks jump."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
