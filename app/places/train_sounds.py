"""Train: what a run speaks, beside the real voice."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

from app.screen.calls import Call
from app.screen.desk import Desk
from app.screen.served import Served
from engines.errors import NotFoundError
from finetune import projects, runs
from finetune.media.reading import read
from voices.library import REFERENCE, SAMPLE

_REAL_SHOWN = 4


def real(desk: Desk, run: str) -> list[dict[str, Any]]:
    """Clips of the real voice that were kept for checking, to hear beside what is spoken."""
    plan = runs.find(desk.workspace, run).plan
    item = projects.shelf(desk.workspace).find(plan.project)
    with projects.open_project(projects.folder_of(desk.workspace, item)) as project:
        dataset = project.versions.find(plan.version).dataset
    clips = sorted(dataset.check or dataset.train, key=lambda each: -each.seconds)[:_REAL_SHOWN]
    return [{"clip": each.clip_id, "text": each.text, "seconds": each.seconds} for each in clips]


def sample(desk: Desk, run: str, step: int, file: str) -> Served:
    """A sentence as a run spoke it."""
    folder = runs.find(desk.workspace, run).folder
    path = folder.samples / f"step-{step:06}" / file
    if not re.fullmatch(r"\d+\.flac", file) or not path.is_file():
        raise _gone()
    return Served(path, "audio/flac")


def voice(desk: Desk, run: str, what: Literal["sample", "reference"]) -> Served:
    """A finished voice: a sentence it speaks, or what it was shown of the real one."""
    path = runs.find(desk.workspace, run).folder.voice / {"sample": SAMPLE}.get(what, REFERENCE)
    if not path.is_file():
        raise _gone()
    return Served(path, "audio/flac")


def real_sound(desk: Desk, run: str, clip: int) -> Served:
    """A clip of the real voice."""
    import soundfile

    plan = runs.find(desk.workspace, run).plan
    item = projects.shelf(desk.workspace).find(plan.project)
    with projects.open_project(projects.folder_of(desk.workspace, item)) as project:
        examples = project.versions.find(plan.version).dataset.examples
        found = next((each for each in examples if each.clip_id == clip), None)
        if found is None:
            raise _gone()
        sound = read(Path(project.working_of(found.recording)), found.start, found.end)
    content = BytesIO()
    soundfile.write(content, sound.samples, sound.rate, format="FLAC", subtype="PCM_16")
    return Served(content.getvalue(), "audio/flac")


def _gone() -> NotFoundError:
    return NotFoundError("This sound is not there.", "Reload the page.")


CALLS: dict[str, Call] = {"train.real": real}
FILES: dict[str, Call] = {"train.sample": sample, "train.voice": voice, "train.real": real_sound}
