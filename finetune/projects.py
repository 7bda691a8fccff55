"""Projects: each a folder with its recordings and its transcript."""

from __future__ import annotations

from pathlib import Path

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
    files.make_folder(folder / "recordings")
    Transcript(transcript_path(workspace, project_id)).close()
    files.sync_folder(folder)
    return shelf(workspace).add(cleaned, project_id)


def transcript(workspace: Workspace, project: Item) -> Transcript:
    """Open a project's transcript; close it when done."""
    return Transcript(transcript_path(workspace, project.id))


def transcript_path(workspace: Workspace, project_id: str) -> Path:
    return workspace.projects / project_id / "project.db"


def unlisted(workspace: Workspace) -> list[Path]:
    """Folders that were begun and never listed, because making them was interrupted."""
    listed = {row["id"] for row in workspace.store.rows("SELECT id FROM projects")}
    return [path for path in workspace.projects.iterdir() if path.name not in listed]
