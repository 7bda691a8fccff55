"""Files on their way into a project: they lie in its folder from their arrival until they are in it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from engines.errors import AudioError, NotFoundError
from finetune import projects, submitting
from finetune.importing import sources_in
from finetune.jobs import queue
from finetune.jobs.queue import Job
from voices import files, names
from voices.shelf import Item
from voices.workspace import Workspace

_FOLDER, _JOB = "arriving", "job.json"


@dataclass(frozen=True, slots=True)
class Batch:
    """Files that came together."""

    id: str
    names: tuple[str, ...]
    job: str = ""
    """The job that brings them in; empty while they still arrive, or when that was cut off."""


def begin(workspace: Workspace, project: Item) -> str:
    """Make room for files that come together, and give it a name."""
    batch = names.new_id()
    folder = _folder(workspace, project)
    folder.mkdir(exist_ok=True)
    (folder / batch).mkdir()
    return batch


def add(workspace: Workspace, project: Item, batch: str, place: int, path: Path, name: str) -> str:
    """
    Move a file into a batch; give the name that its recording will have.

    `name` is as the person has it, with the folders below the one that was dropped. Each file lies
    in a folder of its own, numbered by its place, so that two may have the same name.
    """
    alone = _batch(workspace, project, batch) / f"{place:06d}"
    target = alone.joinpath(*_parts(name))
    target.parent.mkdir(parents=True)
    path.rename(target)
    found = sources_in([alone])
    if not found:
        shutil.rmtree(alone)
        raise AudioError(
            f"{name} is no recording.", "Sound and video of any kind will do: wav, mp3, m4a, mp4, …"
        )
    return found[0].name


def bring_in(workspace: Workspace, project: Item, batch: str) -> Job:
    """Queue the import of what has arrived; it copies, and then what arrived is discarded."""
    folder = _batch(workspace, project, batch)
    sources = tuple(str(each) for each in _alone(folder))
    if not sources:
        raise NotFoundError("None of these files has arrived.", "Choose them again.")
    wish = submitting.wish_for(workspace, project, sources=sources, make_clips=False)
    job = submitting.submit(workspace, project, wish, f"Import into {project.name}")
    files.write_json(folder / _JOB, {"v": 1, "job": job.id})
    return job


def discard(workspace: Workspace, project: Item, batch: str) -> None:
    """Forget files that arrived and are not wanted."""
    shutil.rmtree(_batch(workspace, project, batch))


def there(workspace: Workspace, project: Item) -> list[Batch]:
    """What has arrived and is not in the project yet; what was brought in is discarded."""
    folder = _folder(workspace, project)
    found = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        try:
            batch = _read(path)
        except FileNotFoundError:  # another page found it brought in, and discarded it
            continue
        if _is_in(workspace, batch):
            shutil.rmtree(path, ignore_errors=True)
        elif batch.names:
            found.append(batch)
    return found


def _is_in(workspace: Workspace, batch: Batch) -> bool:
    job = _job(workspace, batch)
    return job is not None and job.outcome is not None and job.outcome.cause == "finished"


def _job(workspace: Workspace, batch: Batch) -> Job | None:
    try:
        return queue.find(workspace, batch.job) if batch.job else None
    except NotFoundError:  # the list of jobs can be emptied
        return None


def _read(folder: Path) -> Batch:
    try:
        job = json.loads((folder / _JOB).read_bytes())["job"]
    except (FileNotFoundError, ValueError, KeyError):
        job = ""
    named = tuple(source.name for source in sources_in(_alone(folder)))
    return Batch(folder.name, named, job)


def _alone(folder: Path) -> list[Path]:
    """The folders of a batch with one file in each, in their order."""
    return sorted(path for path in folder.iterdir() if path.is_dir())


def _parts(name: str) -> Iterator[str]:
    """A person's name for a file, as parts of a path that every system has and that lead nowhere."""
    found = [names.for_disk(part) for part in re.split(r"[/\\]", name)]
    yield from [part for part in found if part] or ["recording"]


def _folder(workspace: Workspace, project: Item) -> Path:
    return projects.folder_of(workspace, project) / _FOLDER


def _batch(workspace: Workspace, project: Item, batch: str) -> Path:
    folder = _folder(workspace, project) / batch
    if not names.is_id(batch) or not folder.is_dir():
        raise NotFoundError("These files are not there any more.", "Choose them again.")
    return folder
