"""Recordings: sentences that are read aloud in front of the microphone."""

from __future__ import annotations

from typing import Any

from app.places import of_project
from app.screen import uploads
from app.screen.calls import Call
from app.screen.desk import Desk
from engines.errors import NotFoundError
from finetune import projects, takes
from finetune.texts.prompts import Prompt

PROBLEMS_SHOWN = 200


def prompts(desk: Desk, project: str, name: str) -> dict[str, Any]:
    """The sets of sentences to read, and those of one of them."""
    folder = projects.folder_of(desk.workspace, of_project.item(desk, project))
    found = takes.prompts_of(folder, name)
    return {
        "sets": [
            {"name": each, "language": takes.OURS.get(each, "")} for each in takes.sets(folder)
        ],
        "prompts": found.prompts,
        "problems": found.problems[:PROBLEMS_SHOWN],
    }


def own_prompts(desk: Desk, project: str, upload: str, name: str) -> str:
    """Keep sentences that a person wants to read."""
    path = uploads.find(desk.uploads, upload)
    try:
        return takes.keep_set(
            projects.folder_of(desk.workspace, of_project.item(desk, project)), path, name
        )
    finally:
        uploads.discard(desk.uploads, upload)


def take(
    desk: Desk, project: str, prompts: str, number: int, upload: str, language: str = ""
) -> str:
    """Lay a take down; a job looks at it and makes it a clip with the prompt as its text."""
    item = of_project.item(desk, project)
    folder = projects.folder_of(desk.workspace, item)
    text = {each.number: each for each in takes.prompts_of(folder, prompts).prompts}
    if number not in text:
        raise NotFoundError(f"{prompts} has no sentence {number}.", "Reload the page.")
    sent = uploads.find(desk.uploads, upload)
    takes.leave(folder, sent, prompts, Prompt(number, text[number].text), language)
    uploads.discard(desk.uploads, upload)
    return takes.submit(desk.workspace, item).id


def read_so_far(desk: Desk, project: str, prompts: str) -> dict[str, Any]:
    """How the sentences stand that were read; what waits is looked at."""
    item = of_project.item(desk, project)
    with of_project.opened(desk, item) as opened:
        read = takes.read_so_far(opened, prompts)
    if any(each.state == "waiting" for each in read):
        takes.look_again(desk.workspace, item)  # the job that did it may just have ended
    return {"read": read, "seconds": sum(each.seconds for each in read)}


CALLS: dict[str, Call] = {
    "recordings.prompts": prompts,
    "recordings.ownprompts": own_prompts,
    "recordings.take": take,
    "recordings.read": read_so_far,
}
