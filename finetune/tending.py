"""Tend runs: another name, the trash and back, and what can be done with one as it stands."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

from engines.errors import JobError, SettingsError
from finetune import planning, runs
from finetune.jobs.events import Planned, from_line
from finetune.jobs.folder import read_lines
from finetune.runs import AT_WORK, Run
from voices import files, names
from voices.workspace import Workspace, now


def ways_on(run: Run) -> tuple[str, ...]:
    """
    What can be done with a run now, by name, the most useful first.

    stop, sample, save, up, down, resume, lighter (with fewer clips at once), disk (make room),
    anew (begin another with other settings), speak, continue (begin another from its best weights).
    """
    at_work: dict[str, tuple[str, ...]] = {
        "running": ("stop", "sample", "save"),
        "waiting": ("stop", "up", "down"),
        "stopping": (),
    }
    if run.state in at_work:
        return at_work[run.state]
    more = ("continue",) if run.best_step is not None else ()
    if run.state == "finished":
        return ("speak", *more)
    return (*_mending(run), *_going_on(run), *more)


def _mending(run: Run) -> tuple[str, ...]:
    """What takes away the cause for which a run failed."""
    cause = cause_of(run)
    if cause in ("gpu-memory", "memory") and smaller_micro_batch(run) >= 1:
        return ("lighter",)
    by_cause = {"disk-full": ("disk",), "not-learning": ("anew",), "bad-input": ("anew",)}
    return by_cause.get(cause, ())


def _going_on(run: Run) -> tuple[str, ...]:
    """From where it is, unless it would begin with what it cannot learn from once more."""
    return ("resume",) if cause_of(run) != "not-learning" or _has_checkpoint(run) else ()


def cause_of(run: Run) -> str:
    """Why its newest job ended; empty while it has not."""
    return run.job.cause if run.job else ""


def _has_checkpoint(run: Run) -> bool:
    return any(map(files.exists, run.folder.checkpoints.glob("step-*")))


def rename(workspace: Workspace, named: str, name: str) -> Run:
    """Call a run otherwise; a voice that comes of it later is called so too."""
    run, clean = runs.find(workspace, named), names.clean(name)
    if names.key(clean) != names.key(run.plan.name):
        planning.refuse_taken(workspace, clean)
    runs.show_as(run.folder, name=clean)
    return runs.find(workspace, run.id)


def trash(workspace: Workspace, named: str) -> Run:
    """Leave a run out of the list; nothing of it is deleted."""
    run = runs.find(workspace, named)
    if run.state in AT_WORK:
        raise JobError(f"{run.plan.name} is still at work.", "Stop it first.")
    runs.show_as(run.folder, trashed_at=now())
    return runs.find(workspace, run.id)


def restore(workspace: Workspace, named: str) -> Run:
    """Take a run back, under another name when its own was given away meanwhile."""
    run = runs.find(workspace, named)
    name = planning.free_name(workspace, run.plan.name) if run.trashed_at else run.plan.name
    runs.show_as(run.folder, trashed_at="", name=name)
    return runs.find(workspace, run.id)


def smaller_micro_batch(run: Run) -> int:
    """Half of the clips that a run computed at once last; 0 when that is one already."""
    return (run.plan.train.micro_batch or _last_micro_batch(run.folder.history_path)) // 2


def _last_micro_batch(history: Path) -> int:
    try:
        return _planned_last(history, history.stat().st_size)
    except FileNotFoundError:
        return 0


@lru_cache(maxsize=256)  # the list asks each second, and a history only grows
def _planned_last(history: Path, size: int) -> int:
    lines, _ = read_lines(history, 0)
    # It tells of thousands of steps: most lines need no parsing.
    told = (from_line(line) for line in reversed(lines) if f'"{Planned.__name__}"' in line)
    return next((each.micro_batch for each in told if isinstance(each, Planned)), 0)


def lighten(run: Run) -> int:
    """
    Let a run go on with half as many clips at once, and give how many.

    It learns the same: a step is only computed in more parts.
    """
    micro_batch = smaller_micro_batch(run)
    if micro_batch < 1:
        raise SettingsError(
            f"{run.plan.name} computes one clip at a time already.",
            "Close other programs that use the memory, or begin with other settings.",
        )
    said = json.loads(run.folder.plan_path.read_bytes())
    said["train"] = {**said.get("train", {}), "micro_batch": micro_batch}
    files.write_json(run.folder.plan_path, said)
    return micro_batch
