"""Builds of a project: which there were, what each was to do, and a new one as a person chooses it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from engines.errors import NotFoundError, SettingsError
from finetune import projects, submitting, takes
from finetune.jobs import queue
from finetune.jobs.queue import Job
from finetune.making import read_make_wish
from finetune.recordings import Recording
from finetune.settings import CutSettings, HearSettings
from finetune.wishes import Wish, read_wish
from voices import names
from voices.shelf import Item
from voices.workspace import Workspace

Words = Literal["whisper", "text", "takes"]
"""Where the words come from: they are heard, a person has them, or they were read from prompts."""
_TEXTS = "texts"
_AMONG = "-among"
"""Ends the folder of texts that came among recordings."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A work on a project's recordings, and what it was told."""

    job: Job
    wish: Wish

    @property
    def makes_clips(self) -> bool:
        return self.wish.make_clips

    @property
    def is_built(self) -> bool:
        return is_built(self.job)


@dataclass(frozen=True, slots=True)
class Choice:
    """What a person chose for a build."""

    words: Words
    whisper: str = ""
    """By name, or the folder of one; with a text only where its language needs it."""
    download: bool = False


def of_project(workspace: Workspace, project: Item) -> list[Begun]:
    """Works on the recordings of a project: those at work, then the newest of the ended."""
    mine = (job for job in queue.jobs(workspace) if works_on(job, project))
    return [Begun(job, wish) for job in mine if (wish := _wish(job)) is not None]


def build(
    workspace: Workspace, project: Item, choice: Choice, hear: HearSettings, cut: CutSettings
) -> Job:
    """Queue a build of everything in the project."""
    with projects.open_project(projects.folder_of(workspace, project)) as opened:
        there = opened.recordings.all()
    if not there:
        raise NotFoundError(f"There are no recordings in {project.name} yet.", "Add some first.")
    told: dict[str, Any] = {"hear": hear, "cut": cut}
    if choice.words != "takes":
        told["recordings"] = _others(there)
        told["download"] = choice.download
        told["whisper"] = _whisper(workspace, choice, hear)
    if choice.words == "text":
        told["text"] = str(_text(workspace, project))
    wish = submitting.wish_for(workspace, project, **told)
    return submitting.submit(workspace, project, wish, f"Build dataset of {project.name}")


def go_on(workspace: Workspace, project: Item, job_id: str) -> Job:
    """Queue what was stopped or failed once more: what was done is found done."""
    for begun in of_project(workspace, project):
        if begun.job.id == job_id:
            if begun.job.request.kind == "make":
                return queue.submit(workspace, begun.job.request)
            return submitting.submit(workspace, project, begun.wish, begun.job.request.title)
    raise NotFoundError("This work is not in the list any more.", "Build the dataset anew.")


def keep_text(
    workspace: Workspace, project: Item, sent: Mapping[str, Path], among: bool = False
) -> None:
    """
    Keep texts of a project's recordings, by the names they came with; they replace the last.

    `among`: they came among recordings, and nobody said that they are their text.
    """
    if not sent:
        raise NotFoundError("No text was sent.", "Choose the file again.")
    folder = projects.folder_of(workspace, project) / _TEXTS
    folder.mkdir(exist_ok=True)
    # Ids do not sort by time.
    place = folder / f"{len(list(folder.iterdir())):06d}-{names.new_id()}{_AMONG * among}"
    place.mkdir()
    for name, path in sent.items():
        (place / name).write_bytes(path.read_bytes())


def text_of(workspace: Workspace, project: Item) -> Path | None:
    """The text that came last: a file, or a folder when there are several."""
    folder = projects.folder_of(workspace, project) / _TEXTS
    places = sorted(folder.iterdir()) if folder.is_dir() else []
    inside = sorted(places[-1].iterdir()) if places else []
    return inside[0] if len(inside) == 1 else places[-1] if inside else None


def is_theirs(text: Path, recordings: Iterable[Recording]) -> bool:
    """
    Whether a text is plainly that of the recordings.

    One that came among them may be any note, unless it is called as one of them, or is no plain
    text: who has subtitles or a table has them of the recordings.
    """
    inside = [text] if text.is_file() else list(text.iterdir())
    if not inside[0].parent.name.endswith(_AMONG):
        return True
    called = {names.key(Path(each.name).stem) for each in recordings}
    return any(each.suffix.lower() != ".txt" or names.key(each.stem) in called for each in inside)


def _text(workspace: Workspace, project: Item) -> Path:
    text = text_of(workspace, project)
    if text is None:
        raise SettingsError("There is no text yet.", "Choose the file with what is said.")
    return text


def _whisper(workspace: Workspace, choice: Choice, hear: HearSettings) -> str:
    """Which Whisper is meant; with a text of its own a build may do without one."""
    if choice.words == "text" and not choice.whisper:
        return ""
    folder = submitting.models_folder(workspace)
    return submitting.which_whisper(choice.whisper, folder, hear.language, choice.download)


def _others(recordings: Sequence[Recording]) -> tuple[str, ...]:
    """Those that were not read from prompts: of these every word is known. None stands for all."""
    others = tuple(each.id for each in recordings if not takes.is_take(each.name))
    if not others:
        raise SettingsError(
            "All of these were read from prompts: their words are known already.",
            "Choose “read from prompts”.",
        )
    return others if len(others) < len(recordings) else ()


def works_on(job: Job, project: Item) -> bool:
    """Whether a job works on the recordings of a project: what it was told lies in its folder."""
    return job.request.kind in ("build", "make") and any(
        project.id in each for each in job.request.argv
    )


def is_built(job: Job) -> bool:
    """Whether the dataset of a making is frozen: what it does since, and how it ends, is training."""
    return job.request.kind == "make" and submitting.report_of(job).get("version") is not None


def _wish(job: Job) -> Wish | None:
    """What a job was told; None when that was deleted."""
    told = Path(job.request.argv[-1])
    with suppress(OSError, ValueError, KeyError, TypeError):
        if job.request.kind == "make":
            return replace(read_wish(Path(read_make_wish(told).build)), make_clips=True)
        return read_wish(told)
    return None
