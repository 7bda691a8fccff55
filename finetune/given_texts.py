"""A text that a person brings to recordings that are there: kept with the project, then laid over them."""

from __future__ import annotations

from pathlib import Path

from engines.errors import NotDownloadedError, SettingsError
from finetune import builds, submitting
from finetune.jobs.queue import Job
from finetune.settings import HearSettings
from voices.shelf import Item
from voices.workspace import Workspace


def submit(workspace: Workspace, project: Item, text: Path) -> Job:
    """
    Queue a build with a text; clips of it come beside what a person changed.

    A Whisper that is on this computer says when its words are spoken; without one, times that the
    text brings, or the sounds of an English text, do.
    """
    # A copy: what a browser sent is deleted after a day, and a job can be run again.
    builds.keep_text(workspace, project, {text.name: text})
    kept = builds.text_of(workspace, project)
    wish = submitting.wish_for(workspace, project)
    whisper = _whisper_here(workspace, wish.hear)
    wish = submitting.wish_for(workspace, project, text=str(kept), whisper=whisper)
    return submitting.submit(workspace, project, wish, f"Text for {project.name}")


def _whisper_here(workspace: Workspace, hear: HearSettings) -> str:
    folder = submitting.models_folder(workspace)
    try:
        return submitting.which_whisper("", folder, hear.language)
    except (NotDownloadedError, SettingsError):
        return ""
