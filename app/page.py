"""The page: the places in the order of the work."""

from __future__ import annotations

import gradio as gr

from app.tabs import home, system
from voices.workspace import Workspace


def build(workspace: Workspace) -> gr.Blocks:
    """Put the places together. Those whose work does not exist yet are not shown."""
    with gr.Blocks(title="Timbre", analytics_enabled=False) as page:
        gr.Markdown("# Timbre")
        with gr.Tab("Home"):
            home.build(workspace, page)
        with gr.Tab("System"):
            system.build(workspace, page)
    return page
