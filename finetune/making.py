"""
From recordings to a voice, as one work: `python -m finetune.making WISH.json` in a job's folder.

    bring in -> hear -> cut -> check -> freeze -> train

The same wish goes on where it was cut off: what was built is found done, and the same dataset is
the same run. Recordings that came since, or clips corrected since, are another dataset and a run
of their own.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import sys
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import engines
from finetune import planning, projects, runs
from finetune.jobs.events import Said
from finetune.jobs.folder import JobFolder
from finetune.jobs.worker import Job, run
from finetune.runs import Plan, RunFolder
from finetune.wishes import REPORT, read_wish
from voices import files
from voices.workspace import open_workspace

# Heavy: it brings torch, which nothing before the training needs.
_TRAINING = "finetune.training.work"


@dataclass(frozen=True)
class MakeWish:
    """What is to be made, as it is kept in a file."""

    workspace: str
    build: str
    """The file with what is to be built (wishes.Wish)."""
    plan: Plan
    """Without a dataset: that is what is built first."""


def write_make_wish(wish: MakeWish, path: Path) -> None:
    files.write_json(path, {"v": 1, **asdict(wish)})


def read_make_wish(path: Path) -> MakeWish:
    """Read a wish; what only a newer Timbre knows is left out."""
    said = json.loads(path.read_bytes())
    return MakeWish(said["workspace"], said["build"], runs.plan_from(said["plan"]))


def work(job: Job, path: Path) -> str:
    """Do all of it as a job; leave a report beside it."""
    from finetune import building  # here, because it brings what listens to sound

    wish = read_make_wish(path)
    job.say(Said(building.work(job, read_wish(Path(wish.build)))))
    folder = _run_for(job, wish, path.stem)
    if folder.is_finished:
        return f"{wish.plan.name} was made of just this before: `launch.py runs show {folder.id}`."
    trained: str = importlib.import_module(_TRAINING).train(job, folder)
    return trained


def _run_for(job: Job, wish: MakeWish, stem: str) -> RunFolder:
    """The run of this wish with what was built: the one that was begun, or a new one."""
    report_path = job.folder.path / REPORT
    report = json.loads(report_path.read_bytes())
    run_id = hashlib.sha256(f"{stem} {report['version']}".encode()).hexdigest()[:12]
    with closing(open_workspace(Path(wish.workspace))) as workspace:
        folder = RunFolder(workspace.runs / run_id)
        if not folder.plan_path.exists():
            plan = _with_dataset(wish, report["version"])
            name = planning.free_name(workspace, plan.name)
            runs.create(workspace, replace(plan, name=name), run_id)
    folder.note_job(job.folder.id)
    files.write_json(report_path, {**report, "run": run_id})
    return folder


def _with_dataset(wish: MakeWish, version: int) -> Plan:
    build = read_wish(Path(wish.build))
    engine = engines.find(wish.plan.engine)
    with projects.open_project(Path(build.project)) as project:
        return planning.with_dataset(wish.plan, engine, wish.plan.name, project, version)


if __name__ == "__main__":
    raise SystemExit(run(JobFolder(Path.cwd()), lambda job: work(job, Path(sys.argv[1]))))
