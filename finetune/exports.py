"""
A frozen dataset exported, as one work: `python -m finetune.exports WISH.json` in a job's folder.

What is cut off leaves no half dataset, at most a temporary folder beside where it would be; the same
wish run again writes all of it.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path

from engines.errors import NotFoundError, TextError
from finetune.exporting import Exported, ExportSettings, export
from finetune.importing import make_working_again
from finetune.jobs.folder import JobFolder
from finetune.jobs.telling import Telling
from finetune.jobs.worker import Job, run
from finetune.projects import Project, open_project
from finetune.versions import Version
from finetune.wishes import REPORT
from voices import files


@dataclass(frozen=True)
class ExportWish:
    """What is to be exported, as it is kept in a file."""

    project: str
    """The project's folder."""
    version: int
    target: str
    """A folder that is not there yet."""
    settings: ExportSettings = field(default_factory=ExportSettings)


def write_export_wish(wish: ExportWish, path: Path) -> None:
    files.write_json(path, {"v": 1, **asdict(wish)})


def read_export_wish(path: Path) -> ExportWish:
    """Read a wish; what only a newer Timbre knows is left out."""
    said = json.loads(path.read_bytes())
    known = {each.name: said[each.name] for each in fields(ExportWish) if each.name in said}
    return ExportWish(**{**known, "settings": ExportSettings(**known["settings"])})


def frozen(project: Project, number: int | None = None) -> Version:
    """A version by its number, or the newest; raise when there is none."""
    version = project.versions.newest() if number is None else project.versions.find(number)
    if version is None:
        raise NotFoundError("No dataset is frozen yet.", "Freeze one: `launch.py dataset freeze`.")
    return version


def check_target(target: Path) -> None:
    """Refuse a folder that cannot be the one to export into, before a work begins."""
    if target.exists():
        raise TextError(
            f"{target.name} is there already.", "Choose another folder, or move it away first."
        )
    if not target.parent.is_dir():
        raise NotFoundError(f"There is no folder {target.parent}.", "Make it, or choose another.")


def work(job: Job, wish: ExportWish) -> str:
    """Do an export as a job; leave a report beside it."""
    with open_project(Path(wish.project)) as project:
        version = frozen(project, wish.version)
        done = _export(job, project, version, wish)
    report = {**asdict(done), "folder": str(done.folder), "version": version.number}
    files.write_json(job.folder.path / REPORT, report)
    return f"{done.clips:,} clips, {done.seconds / 60:.1f} minutes, {done.bytes / 1e6:,.1f} MB, are in {done.folder}."


def _export(job: Job, project: Project, version: Version, wish: ExportWish) -> Exported:
    recordings = {each.recording for each in version.dataset.examples}
    for recording in map(project.recordings.find, sorted(recordings)):
        make_working_again(project, recording, lambda done, total: None, job.stop_wanted)
    language = wish.settings.language or _language(project, version)
    telling: list[Telling] = []

    def at(done: int, total: int) -> None:
        if not telling:
            telling.append(Telling(job.say, "clips exported", total))
        telling[0].at(done)

    return export(
        version.dataset,
        project.working_of,
        replace(wish.settings, language=language),
        Path(wish.target),
        at,
        job.stop_wanted,
    )


def _language(project: Project, version: Version) -> str:
    """The language of most of its clips; empty when none is known."""
    languages = {each.id: each.language for each in project.recordings.ever()}
    spoken = Counter(languages[each.recording] for each in version.dataset.examples)
    return spoken.most_common(1)[0][0] if spoken else ""


if __name__ == "__main__":
    raise SystemExit(
        run(JobFolder(Path.cwd()), lambda job: work(job, read_export_wish(Path(sys.argv[1]))))
    )
