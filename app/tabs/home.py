"""Home: what is going on, what to do next, and the projects."""

from __future__ import annotations

from typing import Any

import gradio as gr

from app import markup, views
from app.handlers import shows_errors
from engines.errors import StudioError
from finetune import projects
from finetune.jobs import queue
from voices.workspace import Workspace

REFRESH_SECONDS = 2


def build(workspace: Workspace, page: gr.Blocks) -> None:
    """Draw the place and connect it."""
    shelf = projects.shelf(workspace)
    shown = shows_errors(workspace.root)

    status = gr.HTML(markup.paragraph(""))
    with gr.Row():
        new_name = gr.Textbox(label="New project", placeholder="Evening voice", scale=4)
        create = gr.Button("Create project", variant="primary", scale=1)
    chosen = gr.Radio([], label="Projects")
    with gr.Row(visible=False) as actions:
        other_name = gr.Textbox(label="Another name", scale=3)
        rename = gr.Button("Rename", scale=1)
        trash = gr.Button("Move to trash", scale=1)
    with gr.Accordion("Trash", open=False, visible=False) as bin_:
        trashed = gr.Radio([], label="Nothing here is deleted")
        restore = gr.Button("Take back")
    drawn = gr.State([])
    lists = [chosen, actions, trashed, bin_, drawn]

    def on_disk() -> list[Any]:
        here = [[item.name, item.id] for item in shelf.all()]
        away = [
            [f"{item.name} · {item.created_at[:10]}", item.id] for item in shelf.all(trashed=True)
        ]
        return [here, away]

    def listing(select: str | None = None) -> list[Any]:
        here, away = found = on_disk()
        return [
            gr.update(choices=_pairs(here), value=select, visible=bool(here)),
            gr.update(visible=select is not None),
            gr.update(choices=_pairs(away), value=None),
            gr.update(visible=bool(away)),
            found,
        ]

    @shown
    def on_tick(project_id: str | None, before: list[Any]) -> Any:
        """Draw again what another window changed, and only then."""
        if on_disk() == before:
            return gr.skip()
        still_there = project_id in [each_id for _, each_id in on_disk()[0]]
        return listing(project_id if still_there else None)

    @shown
    def on_create(name: str) -> list[Any]:
        return [*listing(projects.create(workspace, name).id), ""]

    @shown
    def on_rename(project_id: str, name: str) -> list[Any]:
        return [*listing(shelf.rename(project_id, name).id), ""]

    @shown
    def on_trash(project_id: str) -> list[Any]:
        shelf.trash(project_id)
        return listing()

    @shown
    def on_restore(project_id: str | None) -> list[Any]:
        if project_id is None:
            raise StudioError("No project is chosen.", "Choose one first.")
        return listing(shelf.restore(project_id).id)

    @shown
    def on_choose(project_id: str) -> list[Any]:
        return [gr.update(visible=True), shelf.find(project_id).name]

    gr.on([create.click, new_name.submit], on_create, new_name, [*lists, new_name])
    gr.on([rename.click, other_name.submit], on_rename, [chosen, other_name], [*lists, other_name])
    trash.click(on_trash, chosen, lists)
    restore.click(on_restore, trashed, lists)
    chosen.select(on_choose, chosen, [actions, other_name])
    page.load(shown(listing), None, lists)
    timer = gr.Timer(REFRESH_SECONDS)
    timer.tick(on_tick, [chosen, drawn], lists, show_progress="hidden")
    now = shown(lambda: markup.paragraph(views.what_now(queue.jobs(workspace), len(shelf.all()))))
    page.load(now, None, status)
    timer.tick(now, None, status, show_progress="hidden")


def _pairs(found: list[list[str]]) -> list[tuple[str, str]]:
    return [(name, each_id) for name, each_id in found]
