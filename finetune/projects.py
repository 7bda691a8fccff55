"""Projects: each a folder with its recordings and its transcript."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TypeVar

from engines.errors import NameProblem
from engines.settings import Checked
from finetune.hearings import Hearings
from finetune.recordings import Recording, Recordings
from finetune.schema import open_store
from finetune.transcript import Transcript
from finetune.versions import Versions
from voices import files, names
from voices.database import Database
from voices.shelf import Item, Shelf
from voices.workspace import Workspace

Settings = TypeVar("Settings", bound=Checked)


@dataclass(frozen=True, slots=True)
class Project:
    """A project that is open: its folder, and what its store holds."""

    folder: Path
    store: Database

    @property
    def recordings(self) -> Recordings:
        return Recordings(self.store)

    @property
    def hearings(self) -> Hearings:
        return Hearings(self.store)

    @property
    def transcript(self) -> Transcript:
        return Transcript(self.store)

    @property
    def versions(self) -> Versions:
        """Its datasets."""
        return Versions(self.store)

    @property
    def originals(self) -> Path:
        """Recordings as they were received, never changed."""
        return self.folder / "recordings"

    @property
    def working(self) -> Path:
        """One channel of each, to work with; made again from the originals when it is gone."""
        return self.folder / "working"

    def settings(self, kind: type[Settings]) -> Settings:
        """The settings of a kind as they were last chosen for this project."""
        row = self.store.row("SELECT chosen FROM settings WHERE name = ?", kind.__name__)
        chosen = json.loads(row["chosen"]) if row else {}
        return kind(
            **{each.name: chosen[each.name] for each in fields(kind) if each.name in chosen}
        )

    def keep_settings(self, chosen: Checked) -> None:
        """Let what was chosen hold for what is done next in this project."""
        with self.store.change() as store:
            store.execute(
                "INSERT OR REPLACE INTO settings VALUES (?, ?)",
                (type(chosen).__name__, json.dumps(asdict(chosen))),
            )

    def original_of(self, recording: Recording) -> Path:
        return self.originals / recording.original

    def working_of(self, recording_id: str) -> Path:
        return self.working / f"{recording_id}.flac"


@contextmanager
def open_project(folder: Path) -> Iterator[Project]:
    """Open the project in a folder, and close it."""
    store = open_store(folder / "project.db")
    try:
        yield Project(folder, store)
    finally:
        store.close()


def shelf(workspace: Workspace) -> Shelf:
    """The projects as named things: list, find, rename, trash, restore."""
    return Shelf(workspace, "projects", "project")


def create(workspace: Workspace, name: str) -> Item:
    """Make a project. It is listed last, so that a listed one is complete."""
    cleaned, project_id = names.clean(name), names.new_id()
    folder = workspace.projects / project_id
    files.make_folder(folder)
    try:
        for inside in ("recordings", "working"):
            files.make_folder(folder / inside)
        open_store(folder / "project.db").close()
        files.sync_folder(folder)
        return shelf(workspace).add(cleaned, project_id)
    except NameProblem:
        shutil.rmtree(folder)
        raise


def folder_of(workspace: Workspace, project: Item) -> Path:
    return workspace.projects / project.id


def unlisted(workspace: Workspace) -> list[Path]:
    """Projects that are on the disk and not in the list: never finished, or the list was lost."""
    listed = {row["id"] for row in workspace.store.rows("SELECT id FROM projects")}
    found = [path for path in workspace.projects.iterdir() if names.is_id(path.name)]
    return [path for path in found if path.name not in listed]


def list_again(workspace: Workspace) -> list[Item]:
    """Put projects that hold something back into the list, under a name to be changed."""
    found = [path for path in unlisted(workspace) if holds_something(path)]
    return [shelf(workspace).add(f"Found again {path.name}", path.name) for path in found]


def holds_something(folder: Path) -> bool:
    """Whether a project's folder has recordings or clips in it."""
    recordings, store = folder / "recordings", folder / "project.db"
    if recordings.is_dir() and any(recordings.iterdir()):
        return True
    if not store.exists():
        return False
    with open_project(folder) as project:
        return bool(project.transcript.clips())
