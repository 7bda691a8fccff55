"""Projects: each a folder with its recordings and its transcript."""

from __future__ import annotations

import shutil
from pathlib import Path

from engines.errors import NameProblem
from finetune.transcript import Transcript
from voices import files, names
from voices.shelf import Item, Shelf
from voices.workspace import Workspace


def shelf(workspace: Workspace) -> Shelf:
    """The projects as named things: list, find, rename, trash, restore."""
    return Shelf(workspace, "projects", "project")


def create(workspace: Workspace, name: str) -> Item:
    """Make a project. It is listed last, so that a listed one is complete."""
    cleaned, project_id = names.clean(name), names.new_id()
    folder = workspace.projects / project_id
    files.make_folder(folder)
    try:
        files.make_folder(folder / "recordings")
        Transcript(transcript_path(workspace, project_id)).close()
        files.sync_folder(folder)
        return shelf(workspace).add(cleaned, project_id)
    except NameProblem:
        shutil.rmtree(folder)
        raise


def transcript(workspace: Workspace, project: Item) -> Transcript:
    """Open a project's transcript; close it when done."""
    return Transcript(transcript_path(workspace, project.id))


def transcript_path(workspace: Workspace, project_id: str) -> Path:
    return workspace.projects / project_id / "project.db"


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
    transcript = Transcript(store)
    try:
        return bool(transcript.clips())
    finally:
        transcript.close()
