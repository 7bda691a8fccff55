"""System: what runs and what waits, and whether this computer can do the work."""

from __future__ import annotations

from typing import Any

import gradio as gr

from app import ROOT, doctor, markup, views
from app.handlers import shows_errors
from finetune.jobs import queue
from voices.workspace import Workspace

REFRESH_SECONDS = 1


def build(workspace: Workspace, page: gr.Blocks) -> None:
    """Draw the place and connect it."""
    shown = shows_errors(workspace.root)

    gr.Markdown("## Jobs")
    table = gr.HTML()
    with gr.Row(visible=False) as actions:
        chosen = gr.Dropdown([], label="Job", scale=3)
        stop = gr.Button("Stop and save", scale=1)
        up = gr.Button("Earlier", scale=1)
        down = gr.Button("Later", scale=1)
    gr.Markdown("## This computer")
    with gr.Row():
        check = gr.Button("Check this computer", scale=0, min_width=220)
    findings = gr.HTML(markup.paragraph("Looks at disk, memory, GPUs, audio and the workspace."))
    live = [table, actions, chosen]

    @shown
    def listing(selected: str | None) -> list[Any]:
        found = queue.jobs(workspace)
        open_jobs = [(job.request.title, job.id) for job in found if job.state != "ended"]
        known = selected if any(selected == job_id for _, job_id in open_jobs) else None
        return [
            markup.table(views.JOB_HEADS, views.job_rows(found), "Nothing runs and nothing waits."),
            gr.update(visible=bool(open_jobs)),
            gr.update(choices=open_jobs, value=known),
        ]

    @shown
    def on_stop(job_id: str | None) -> list[Any]:
        if job_id:
            queue.stop(workspace, job_id)
        return listing(job_id)

    def on_move(direction: queue.Direction) -> Any:
        @shown
        def move(job_id: str | None) -> list[Any]:
            if job_id:
                queue.move(workspace, job_id, direction)
            return listing(job_id)

        return move

    @shown
    def on_check() -> str:
        found = list(doctor.examine(workspace.root, ROOT))
        return markup.table(views.CHECK_HEADS, views.check_rows(found), "")

    stop.click(on_stop, chosen, live)
    up.click(on_move("up"), chosen, live)
    down.click(on_move("down"), chosen, live)
    check.click(on_check, None, findings)
    page.load(listing, chosen, live)
    gr.Timer(REFRESH_SECONDS).tick(listing, chosen, live, show_progress="hidden")
