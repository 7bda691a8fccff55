"""
A frozen dataset as one file to take along: `python -m finetune.packed_exports WISH.json` in a job's folder.

The folder that finetune.exports writes is packed into a .zip in the workspace's cache; its note is
written last, so that a file with a note is whole. Wished for again, it is there already.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engines.errors import NotFoundError
from finetune import exports, projects
from finetune.exporting import ExportSettings
from finetune.exports import ExportWish, read_export_wish, write_export_wish
from finetune.jobs import queue
from finetune.jobs.folder import JobFolder, Request
from finetune.jobs.queue import Job
from finetune.jobs.telling import Telling
from finetune.jobs.worker import Job as Work
from finetune.jobs.worker import StopWork, run
from finetune.submitting import END_SECONDS, SAVE_SECONDS
from finetune.wishes import REPORT
from voices import files
from voices.shelf import Item
from voices.workspace import Workspace

NOTE = "export.json"
_WISH = "wish.json"


@dataclass(frozen=True, slots=True)
class Packed:
    """A file that is ready to be taken along."""

    id: str
    """The name of its folder in the cache."""
    path: Path
    version: int
    format: str
    audio: str
    clips: int
    bytes: int


def submit(workspace: Workspace, project: Item, version: int, chosen: ExportSettings) -> Job | None:
    """Queue the packing of a version; None when it is there already."""
    place = _folder(workspace, project) / f"{version}-{chosen.format}-{_suffix(chosen)}"
    if (place / NOTE).exists():
        return None
    place.mkdir(parents=True, exist_ok=True)
    named = re.sub(r"[^\w-]+", "-", project.name).strip("-") or "dataset"
    target = place / f"{named}-{version}-{chosen.format}"
    path = place / _WISH
    write_export_wish(
        ExportWish(
            str(projects.folder_of(workspace, project)), version, str(target.absolute()), chosen
        ),
        path,
    )
    argv = (sys.executable, "-m", "finetune.packed_exports", str(path.absolute()))
    request = Request(
        "export",
        f"Export {project.name}, dataset {version}",
        argv,
        f"project-{project.id}",
        once=f"{project.id}-{place.name}",
        save_seconds=SAVE_SECONDS,
        end_seconds=END_SECONDS,
    )
    return queue.submit(workspace, request)


def ready(workspace: Workspace, project: Item) -> list[Packed]:
    """The files of a project that can be taken along."""
    return [*_ready(_folder(workspace, project))]


def find(workspace: Workspace, project: Item, packed_id: str) -> Packed:
    for each in ready(workspace, project):
        if each.id == packed_id:
            return each
    raise NotFoundError("This export is not there any more.", "Export the dataset again.")


def work(job: Work, wish: ExportWish) -> str:
    """Do an export as a job and pack it."""
    target = Path(wish.target)
    shutil.rmtree(target, ignore_errors=True)  # of a packing that was cut off
    exports.work(job, wish)
    report: dict[str, Any] = json.loads((job.folder.path / REPORT).read_bytes())
    packed = target.with_name(f"{target.name}.zip")
    _pack(target, packed, job)
    shutil.rmtree(target)
    size = packed.stat().st_size
    facts = {"version": wish.version, "format": wish.settings.format, "audio": wish.settings.audio}
    files.write_json(
        target.with_name(NOTE),
        {**facts, "clips": report["clips"], "bytes": size, "file": packed.name},
    )
    return f"{report['clips']:,} clips are packed, {size / 1e6:,.1f} MB."


def _pack(folder: Path, packed: Path, job: Work) -> None:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    telling = Telling(job.say, "files packed", len(paths))
    # Not pressed together: sound hardly gets smaller so, and would take minutes.
    with files.new_file(packed) as file, zipfile.ZipFile(file, "w") as archive:
        for number, path in enumerate(paths, 1):
            if job.stop_wanted():
                raise StopWork("Stopped while packing.")
            archive.write(path, path.relative_to(folder.parent))
            telling.at(number)


def _ready(folder: Path) -> Iterator[Packed]:
    for note in sorted(folder.glob(f"*/{NOTE}")):
        try:
            said = json.loads(note.read_bytes())
        except FileNotFoundError:  # the cache can be deleted at any time
            continue
        path = note.with_name(said.pop("file"))
        if path.exists():
            yield Packed(note.parent.name, path, **said)


def _folder(workspace: Workspace, project: Item) -> Path:
    return workspace.cache / "exports" / project.id


def _suffix(chosen: ExportSettings) -> str:
    return "-".join([chosen.audio, str(chosen.rate), f"{chosen.loudness_lufs:g}"])


if __name__ == "__main__":
    raise SystemExit(
        run(JobFolder(Path.cwd()), lambda job: work(job, read_export_wish(Path(sys.argv[1]))))
    )
