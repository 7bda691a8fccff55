"""Home: what is going on, what to do next, and the projects."""

from __future__ import annotations

from typing import Any

import gradio as gr

from app import markup, views
from app.handlers import shows_errors
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
        trashed = gr.Radio([], label="What you put here stays until you delete it yourself")
        restore = gr.Button("Take back")
    lists = [chosen, actions, trashed, bin_]

    def listing(select: str | None = None) -> list[Any]:
        here = [(item.name, item.id) for item in shelf.all()]
        away = [(item.name, item.id) for item in shelf.all(trashed=True)]
        return [
            gr.update(choices=here, value=select, visible=bool(here)),
            gr.update(visible=select is not None),
            gr.update(choices=away, value=None),
            gr.update(visible=bool(away)),
        ]

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
        return listing(shelf.restore(project_id).id if project_id else None)

    gr.on([create.click, new_name.submit], on_create, new_name, [*lists, new_name])
    gr.on([rename.click, other_name.submit], on_rename, [chosen, other_name], [*lists, other_name])
    trash.click(on_trash, chosen, lists)
    restore.click(on_restore, trashed, lists)
    chosen.select(lambda: gr.update(visible=True), None, actions)
    page.load(listing, None, lists)
    now = shown(lambda: markup.paragraph(views.what_now(queue.jobs(workspace), len(shelf.all()))))
    page.load(now, None, status)
    gr.Timer(REFRESH_SECONDS).tick(now, None, status)
