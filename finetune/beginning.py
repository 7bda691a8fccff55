"""Begin a training: what was wished for becomes a plan, a run and a job."""

from __future__ import annotations

from dataclasses import dataclass, replace

from engines.base import Engine
from engines.settings import Checked, setting
from finetune import planning, projects, runs, submitting
from finetune.jobs.queue import Job
from finetune.planning import Wished
from finetune.runs import Plan, RunFolder
from finetune.versions import Version
from voices.shelf import Item
from voices.workspace import Workspace


@dataclass(frozen=True)
class Owner(Checked):
    """Whose voice a project is about, as it was said last."""

    whose: str = setting("", "Whose voice it is; empty: nobody has said")
    agreed: str = setting("", "Whether its owner agrees: yes, no, or empty: nobody was asked")

    @property
    def agrees(self) -> bool | None:
        return {"yes": True, "no": False}.get(self.agreed)


def planned(
    workspace: Workspace, item: Item, engine: Engine, wished: Wished, number: int | None = None
) -> tuple[Plan, Version]:
    """The whole plan, and the dataset it is about; raise for what cannot be."""
    planning.refuse_unusable(engine)
    with projects.open_project(projects.folder_of(workspace, item)) as project:
        # Of a person who begins, the dataset is missing first, and then the base.
        fitting = planning.dataset_for(engine, item.name, project, number)
        plan = planning.draft(workspace, item, engine, wished)
        return replace(plan, version=fitting.number), fitting


def begin(
    workspace: Workspace, item: Item, engine: Engine, wished: Wished, number: int | None = None
) -> tuple[RunFolder, Job]:
    """Lay a run out and queue it. A name that was not chosen is the project's, with a number."""
    if wished.name:
        planning.refuse_taken(workspace, wished.name)
    name = wished.name or planning.free_name(workspace, item.name)
    plan, _ = planned(workspace, item, engine, replace(wished, name=name), number)
    folder = runs.create(workspace, plan)
    return folder, submitting.submit_training(workspace, folder)
