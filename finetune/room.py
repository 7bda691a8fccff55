"""
What takes the room on the disk, and what of it can be freed.

Voices, runs and bases share files under several names (hard links): each byte counts once, for the
first that has it, and only what has no other name is freed by deleting.
"""

from __future__ import annotations

import itertools
import os
import secrets
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from engines.errors import JobError, NotFoundError
from finetune import projects, runs
from finetune.jobs import queue
from finetune.runs import Run
from voices import files, library
from voices.shelf import Shelf
from voices.workspace import Workspace

Kind = Literal["voice", "run", "project", "model", "job", "cache", "other"]
Freed = Literal["cache", "checkpoints", "run", "project", "voice", "model"]


# Where the cache keeps what was packed of a thing to be taken along.
_PACKED: dict[Freed, str] = {"voice": "voices", "project": "exports"}


@dataclass(frozen=True, slots=True)
class Taken:
    """One thing that takes room."""

    kind: Kind
    id: str
    name: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Freeable:
    """One thing that can be deleted when somebody agrees; what is lost differs by kind."""

    kind: Freed
    id: str
    name: str
    bytes: int
    """What the disk gains."""


@dataclass(frozen=True)
class Room:
    """All of a workspace, the largest first."""

    bytes: int = 0
    kinds: dict[Kind, int] = field(default_factory=dict)
    taken: tuple[Taken, ...] = ()
    freeable: tuple[Freeable, ...] = ()


@dataclass(frozen=True, slots=True)
class _File:
    key: tuple[int, int]
    """The same for all names of one file."""
    names: int
    bytes: int


# ---- What takes the room ----


def measure(workspace: Workspace) -> Room:
    """Look at every file of a workspace; takes seconds where there are many."""
    seen: set[tuple[int, int]] = set()
    taken = [
        Taken(kind, path.name, name, _new_bytes(path, seen))
        for kind, path, name in _things(workspace)
    ]
    rest = Taken("other", "", "", _new_bytes(workspace.root, seen))
    kinds: Counter[Kind] = Counter()
    for each in (*taken, rest):
        kinds[each.kind] += each.bytes
    return Room(
        sum(kinds.values()),
        dict(kinds),
        tuple(sorted(taken, key=lambda each: -each.bytes)),
        tuple(sorted(_freeable(workspace), key=lambda each: -each.bytes)),
    )


def _things(workspace: Workspace) -> Iterator[tuple[Kind, Path, str]]:
    """Everything with a name of its own, in the order in which shared files are counted."""
    named = {folder: _names(shelf) for folder, shelf in _shelves(workspace)}
    for path in _inside(workspace.voices):
        yield "voice", path, named[workspace.voices].get(path.name, path.name)
    there = (*runs.all(workspace), *runs.all(workspace, trashed=True))
    called = {run.id: run.plan.name for run in there}
    for path in _inside(workspace.runs):
        yield "run", path, called.get(path.name, path.name)
    for path in _inside(workspace.projects):
        yield "project", path, named[workspace.projects].get(path.name, path.name)
    for path in _inside(models_folder(workspace)):
        yield "model", path, path.name
    yield "job", workspace.jobs, ""
    yield "cache", workspace.cache, ""


def _shelves(workspace: Workspace) -> tuple[tuple[Path, Shelf], ...]:
    return (
        (workspace.voices, library.shelf(workspace)),
        (workspace.projects, projects.shelf(workspace)),
    )


def _names(shelf: Shelf) -> dict[str, str]:
    return {item.id: item.name for item in (*shelf.all(), *shelf.all(trashed=True))}


def models_folder(workspace: Workspace) -> Path:
    return workspace.root / "models"


# ---- What can be freed ----


def _freeable(workspace: Workspace) -> Iterator[Freeable]:
    yield Freeable("cache", "", "", _gained(_cached(workspace)))
    for run in runs.all(workspace, trashed=True):
        yield Freeable("run", run.id, run.plan.name, _gained([run.folder.path]))
    for run in runs.all(workspace):
        if found := _old_checkpoints(run):
            yield Freeable("checkpoints", run.id, run.plan.name, _gained(found))
    for kind, (folder, shelf) in _trash(workspace).items():
        for item in shelf.all(trashed=True):
            packed = workspace.cache / _PACKED[kind] / item.id
            there = [each for each in (folder / item.id, packed) if each.exists()]
            yield Freeable(kind, item.id, item.name, _gained(there))


def _trash(workspace: Workspace) -> dict[Freed, tuple[Path, Shelf]]:
    return dict(zip(("voice", "project"), _shelves(workspace), strict=True))


def _cached(workspace: Workspace) -> list[Path]:
    """All of the cache but what a browser has just sent: that waits to be used."""
    return [path for path in _inside(workspace.cache) if path.name != "uploads"]


def _old_checkpoints(run: Run) -> list[Path]:
    """What a run would go on from; one that has its voice does not, and keeps its best weights."""
    if run.state != "finished" or runs.newest_best(run.folder) is None:
        return []
    return [path for path in _inside(run.folder.checkpoints) if path.name.startswith("step-")]


# ---- Freeing it ----


def set_aside(workspace: Workspace, kind: Freed, thing_id: str) -> list[Path]:
    """
    Take something out of the workspace, at once and as a whole, and give what is left to delete.

    What a cut leaves of that is swept away at the next start. Raise when it is not to be freed.
    """
    if kind in ("cache", "model"):
        refuse_while_at_work(workspace)
    if kind == "cache":
        return [_aside(path) for path in _cached(workspace)]
    if kind == "checkpoints":
        run = runs.find(workspace, thing_id)
        return [_aside(path) for path in _old_checkpoints(run) or _nothing(run.plan.name)]
    if kind == "run":
        return [_aside(_trashed_run(workspace, thing_id).folder.path)]
    if kind == "model":
        found = [path for path in _inside(models_folder(workspace)) if path.name == thing_id]
        return [_aside(path) for path in found or _nothing(thing_id)]
    return _forget(workspace, kind, thing_id)


def delete(aside: Iterable[Path]) -> None:
    """Delete what was set aside."""
    for path in aside:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def refuse_while_at_work(workspace: Workspace) -> None:
    """Raise while a job may still read what would be deleted."""
    if found := queue.jobs(workspace, ended=0):
        raise JobError(
            f"{found[0].request.title} is at work or waits, and may need it.",
            "Try again when it has ended.",
        )


def _trashed_run(workspace: Workspace, thing_id: str) -> Run:
    found = [run for run in runs.all(workspace, trashed=True) if run.id == thing_id]
    if not found:
        raise NotFoundError("This run is not in the trash.", "Reload the page.")
    _refuse_used(workspace, thing_id)
    return found[0]


def _forget(workspace: Workspace, kind: Freed, thing_id: str) -> list[Path]:
    """Take a thing in the trash off its shelf; its row and its folder go together."""
    folder, shelf = _trash(workspace)[kind]
    _refuse_used(workspace, thing_id)
    with workspace.store.change() as store:
        gone = store.execute(
            f"DELETE FROM {shelf.table} WHERE id = ? AND trashed_at IS NOT NULL", (thing_id,)
        )
        if not gone.rowcount:
            raise NotFoundError(f"This {shelf.one} is not in the trash.", "Reload the page.")
        # The cache first: where it cannot be set aside, nothing is gone.
        there = (workspace.cache / _PACKED[kind] / thing_id, folder / thing_id)
        return [_aside(each) for each in there if each.exists()]


def _refuse_used(workspace: Workspace, thing_id: str) -> None:
    at_work = queue.jobs(workspace, ended=0)
    learning = [run.plan for run in runs.all(workspace) if run.state in runs.AT_WORK]
    needed = {thing for plan in learning for thing in (plan.project, plan.continues)}
    for job in at_work:
        if thing_id in needed or any(thing_id in word for word in _words(job)):
            raise JobError(f"{job.request.title} works with it.", "Try again when it has ended.")


def _words(job: queue.Job) -> tuple[str, ...]:
    return (job.request.needs, *job.request.argv)


def _nothing(name: str) -> list[Path]:
    raise NotFoundError(f"There is nothing of {name!r:.60} to be freed.", "Measure again.")


def _aside(path: Path) -> Path:
    """Rename it as voices.files.sweep knows what an ended process left."""
    aside = path.with_name(f".tmp-{os.getpid()}-{secrets.token_hex(6)}")
    path.replace(aside)
    files.sync_folder(path.parent)
    return aside


# ---- Sizes ----


def _new_bytes(path: Path, seen: set[tuple[int, int]]) -> int:
    """How much is under a path that was not counted before."""
    total = 0
    for each in _files(path):
        if each.key not in seen:
            seen.add(each.key)
            total += each.bytes
    return total


def size(path: Path) -> int:
    """How much is under a path."""
    return _new_bytes(path, set())


def _gained(paths: Iterable[Path]) -> int:
    """How much the disk gains when these go: what has another name elsewhere stays."""
    found = [each for path in paths for each in _files(path)]
    names = Counter(each.key for each in found)
    return sum({each.key: each.bytes for each in found if names[each.key] >= each.names}.values())


def _files(path: Path) -> Iterator[_File]:
    """Every file under a path, links to elsewhere left out; what goes away meanwhile is not there."""
    try:
        if path.is_symlink():
            return
        if path.is_file():
            yield _file(path.stat())
            return
        with os.scandir(path) as entries:
            for entry in entries:
                yield from _files(Path(entry.path))
    except OSError:
        return


_UNNUMBERED = itertools.count()


def _file(found: os.stat_result) -> _File:
    # Of Windows' disks some have no numbers for files: those are counted for each name.
    key = (found.st_dev, found.st_ino) if found.st_ino else (-1, next(_UNNUMBERED))
    return _File(key, found.st_nlink, found.st_size)


def _inside(folder: Path) -> list[Path]:
    """What lies in a folder, without what is just being written or deleted."""
    if not folder.is_dir():
        return []
    return [path for path in folder.iterdir() if not path.name.startswith(".tmp-")]
