"""What a person does next with a project: one thing, found from how far it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from finetune import builds, datasets, listing, overview, projects, runs
from finetune.datasets import Difference
from finetune.jobs import queue
from finetune.runs import Run
from voices.shelf import Item
from voices.workspace import Workspace

Place = Literal["home", "recordings", "transcript", "train", "voices", "system"]
ENOUGH_SECONDS = 60.0
"""Less speech than this makes no voice that a person is glad of."""
GOOD_SECONDS = 300.0
"""So much clear speech makes one that they are."""


@dataclass(frozen=True, slots=True)
class Next:
    """One thing to do, by name; the page has the sentence and the button."""

    name: str
    place: Place
    values: dict[str, Any] = field(default_factory=dict)
    """What the sentence says with them."""


@dataclass(frozen=True, slots=True)
class HowFar:
    """What there is of a project."""

    recordings: int
    clips: int
    seconds: float
    """Of the clips that are included."""
    to_look_at: int
    frozen: bool
    """Whether there is a dataset, and nothing was changed since."""
    building: bool = False
    run: str = ""
    """How the newest run of the project stands; empty: there is none."""
    run_name: str = ""
    run_is_of_this: bool = False
    """Whether it learned from the newest dataset."""


def next_for(found: HowFar) -> Next:
    """The next thing to do with a project."""
    if found.building:
        return Next("wait.build", "recordings")
    if found.recordings == 0:
        return Next("record", "recordings")
    if found.clips == 0:
        return Next("build", "recordings", {"n": found.recordings})
    if found.run in runs.AT_WORK:
        return Next("wait.train", "train", {"name": found.run_name})
    if found.run == "failed":
        return Next("failed", "train", {"name": found.run_name})
    if found.run in ("stopped", "interrupted"):
        return Next("resume", "train", {"name": found.run_name})
    if found.run == "finished" and found.frozen and found.run_is_of_this:
        return Next("speak", "voices", {"name": found.run_name})
    if found.seconds < ENOUGH_SECONDS:
        return Next("more", "recordings", {"seconds": round(found.seconds)})
    if found.to_look_at and not found.frozen:
        return Next("look", "transcript", {"n": found.to_look_at})
    if not found.frozen:
        return Next("freeze", "transcript", {"n": found.clips})
    return Next("train", "train")


def of_project(workspace: Workspace, item: Item) -> Next:
    """The next thing to do with a project, as it is now."""
    with projects.open_project(projects.folder_of(workspace, item)) as project:
        clips = project.transcript.clips()
        now, newest_version = overview.as_now(clips), project.versions.newest()
        recordings, to_look_at = len(project.recordings.all()), listing.to_look_at(project)
    mine = [each for each in runs.all(workspace) if each.plan.project == item.id]
    newest = mine[0] if mine else None
    changed = datasets.compare(newest_version.dataset, now) if newest_version else None
    return next_for(
        HowFar(
            recordings=recordings,
            clips=len(clips),
            seconds=sum(each.seconds for each in now.examples),
            to_look_at=to_look_at,
            frozen=changed == Difference((), (), ()),
            building=_is_built(workspace, item),
            **_told(newest, newest_version.number if newest_version else 0),
        )
    )


def of_none() -> Next:
    """The next thing where no project is chosen."""
    return Next("create", "home")


def _told(run: Run | None, version: int) -> dict[str, Any]:
    if run is None:
        return {}
    return {
        "run": run.state,
        "run_name": run.plan.name,
        "run_is_of_this": run.plan.version == version,
    }


def _is_built(workspace: Workspace, item: Item) -> bool:
    at_work = queue.jobs(workspace, ended=0)
    return any(builds.works_on(job, item) and not builds.is_built(job) for job in at_work)
