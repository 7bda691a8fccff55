"""System: what runs and what waits, and whether this computer can do the work."""

from __future__ import annotations

from typing import Any

import gradio as gr

from app import ROOT, doctor, markup, views
from app.handlers import shows_errors
from engines.errors import StudioError
from finetune.jobs import queue
from voices.workspace import Workspace

REFRESH_SECONDS = 1


def build(workspace: Workspace, page: gr.Blocks) -> None:
    """Draw the place and connect it."""
    shown = shows_errors(workspace.root)

    gr.Markdown("## Jobs")
    table = gr.HTML()
    with gr.Row(visible=False) as actions:
        chosen = gr.Dropdown([], label="Job", scale=3, filterable=False)
        stop = gr.Button("Stop and save", scale=1)
        up = gr.Button("Earlier", scale=1)
        down = gr.Button("Later", scale=1)
    gr.Markdown("## This computer")
    with gr.Row():
        check = gr.Button("Check this computer", scale=0, min_width=220)
    findings = gr.HTML(markup.paragraph("Looks at disk, memory, GPUs, audio and the workspace."))
    offered = gr.State([])
    live = [table, actions, chosen, offered]

    @shown
    def listing(before: list[tuple[str, str]]) -> list[Any]:
        found = queue.jobs(workspace)
        now = [(views.label(job), job.id) for job in found if job.state != "ended"]
        return [
            markup.table(views.JOB_HEADS, views.job_rows(found), "Nothing runs and nothing waits."),
            gr.update(visible=bool(now)),
            # Only when it differs: a list that comes back each second loses what is being chosen.
            gr.update(choices=now) if now != [tuple(each) for each in before] else gr.skip(),
            now,
        ]

    @shown
    def on_stop(job_id: str | None, before: list[tuple[str, str]]) -> list[Any]:
        queue.stop(workspace, _chosen(job_id))
        return listing(before)

    def on_move(direction: queue.Direction) -> Any:
        @shown
        def move(job_id: str | None, before: list[tuple[str, str]]) -> list[Any]:
            queue.move(workspace, _chosen(job_id), direction)
            return listing(before)

        return move

    @shown
    def on_check() -> str:
        found = list(doctor.examine(workspace.root, ROOT))
        return markup.table(views.CHECK_HEADS, views.check_rows(found), "")

    stop.click(on_stop, [chosen, offered], live)
    up.click(on_move("up"), [chosen, offered], live)
    down.click(on_move("down"), [chosen, offered], live)
    check.click(on_check, None, findings)
    page.load(listing, offered, live)
    gr.Timer(REFRESH_SECONDS).tick(listing, offered, live, show_progress="hidden")


def _chosen(job_id: str | None) -> str:
    if job_id is None:
        raise StudioError("No job is chosen.", "Choose one first.")
    return job_id
