"""Try it now: the whole way with the recording that ships, and the engine that ships."""

from __future__ import annotations

from dataclasses import replace

import engines
from finetune import planning, projects, submitting
from finetune.jobs.queue import Job
from finetune.planning import Wished
from finetune.settings import CutSettings, HearSettings
from voices import names, shipped
from voices.shelf import Item
from voices.workspace import Workspace

ENGINE = "pocket"


def begin(workspace: Workspace, name: str = "Demo") -> tuple[Item, Job]:
    """Make a project and queue everything up to the finished voice; no network, no GPU, no download."""
    engine, demo = engines.find(ENGINE), shipped.demo()
    planning.refuse_unusable(engine)
    item = _project(workspace, name)
    plan = planning.draft(workspace, item, engine, Wished())
    wish = submitting.wish_for(
        workspace,
        item,
        sources=(str(demo.recording),),
        text=str(demo.script),
        freeze=True,
        hear=HearSettings(language=demo.language),
        cut=planning.within(engine, CutSettings()),
    )
    return item, submitting.submit_making(workspace, item, wish, replace(plan, name=item.name))


def _project(workspace: Workspace, name: str) -> Item:
    """The project of an earlier try, which then goes on; else a new one."""
    there = {names.key(each.name): each for each in projects.shelf(workspace).all()}
    return there.get(names.key(name)) or projects.create(workspace, name)
