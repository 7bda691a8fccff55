"""Recordings: bring them in or record them, see how good they are, and build the dataset."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from app import data_views
from app.places.frame import job_facts
from app.screen import forms, uploads
from app.screen.calls import Call
from app.screen.desk import Desk
from app.screen.served import Served
from engines.errors import NotFoundError
from finetune import arriving, builds, projects, submitting, takes
from finetune.builds import Begun, Choice, Words
from finetune.hearing import languages, models
from finetune.media import waves
from finetune.projects import Project
from finetune.settings import CutSettings, HearSettings
from finetune.steps import steps_of
from finetune.texts.prompts import Prompt
from voices import shipped
from voices.shelf import Item

GOOD_SECONDS = 300.0
"""So much clear speech makes a voice that people are glad of."""
_PROBLEMS_SHOWN = 200


# ---- What is there ----


def shown(desk: Desk, project: str) -> dict[str, Any]:
    """The recordings, what is on its way, and the works on them."""
    item = _item(desk, project)
    outlines = waves.of(desk.workspace.cache / "waves")
    with _opened(desk, item) as opened:
        there = [
            {
                **data_views.recording_facts(each),
                "wave": outlines.is_there(each.id, opened.working_of(each.id)),
                "take": takes.is_take(each.name),
                "cut": takes.is_take(each.name) or bool(opened.transcript.cut_by(each.id)),
            }
            for each in opened.recordings.all()
        ]
    begun = builds.of_project(desk.workspace, item)
    return {
        "recordings": there,
        "seconds": sum(each["seconds"] for each in there if each["verdict"] != "bad"),
        "good_seconds": GOOD_SECONDS,
        "arriving": arriving.there(desk.workspace, item),
        "import": _newest(begun, makes_clips=False),
        "build": _newest(begun, makes_clips=True),
        "text": _text_facts(builds.text_of(desk.workspace, item)),
    }


def _newest(begun: list[Begun], makes_clips: bool) -> dict[str, Any] | None:
    """The newest work of a kind: its steps while it goes, and what came of it."""
    found = next((each for each in begun if each.makes_clips == makes_clips), None)
    if found is None:
        return None
    report = submitting.report_of(found.job) if found.job.state == "ended" else {}
    said = [each for each in report.get("files", []) if each["known"] or not each["recording"]]
    problems = report.get("problems", [])
    return {
        "job": job_facts(found.job),
        "cause": found.job.outcome.cause if found.job.outcome else "",
        "steps": steps_of(found.job, found.wish),
        "brought": sum(not each["known"] for each in report.get("files", [])) - _refused(said),
        "files": said[:_PROBLEMS_SHOWN],
        "problems": problems[:_PROBLEMS_SHOWN],
        "more_problems": max(0, len(problems) - _PROBLEMS_SHOWN),
        **{key: report.get(key) for key in ("clips", "seconds", "marks", "version", "run")},
    }


def _refused(said: list[dict[str, Any]]) -> int:
    return sum(not each["recording"] for each in said)


def _text_facts(path: Path | None) -> dict[str, Any] | None:
    if path is None:
        return None
    inside = [path] if path.is_file() else sorted(path.iterdir())
    return {"names": [each.name for each in inside]}


def set_language(desk: Desk, project: str, recording: str, language: str) -> None:
    languages.check(language)
    with _opened(desk, _item(desk, project)) as opened:
        opened.recordings.set_language(opened.recordings.find(recording).id, language)


def sound(desk: Desk, project: str, recording: str) -> Served:
    """A recording as it is worked with: one channel, playable in every browser."""
    with _opened(desk, _item(desk, project)) as opened:
        path = opened.working_of(opened.recordings.find(recording).id)
    if not path.exists():
        raise NotFoundError(
            "The working copy of this recording is gone.", "Build the dataset: it is made again."
        )
    return Served(path, "audio/flac")


def wave(desk: Desk, project: str, recording: str) -> Served:
    """The outline of a recording: the lowest and highest of each stretch, as signed bytes."""
    with _opened(desk, _item(desk, project)) as opened:
        found = opened.recordings.find(recording)
    path = waves.of(desk.workspace.cache / "waves").path(found.id)
    if not path.exists():
        raise NotFoundError("It is not drawn yet.", "Wait a moment.")
    return Served(path.read_bytes(), "application/octet-stream", keeps=True)


# ---- Bring in ----


def begin(desk: Desk, project: str) -> str:
    """Make room for files that come together."""
    return arriving.begin(desk.workspace, _item(desk, project))


def add(desk: Desk, project: str, batch: str, place: int, upload: str, name: str) -> str:
    """Take a file that was sent into a batch."""
    item = _item(desk, project)
    path = uploads.find(desk.uploads, upload)
    try:
        return arriving.add(desk.workspace, item, batch, place, path, name)
    finally:
        uploads.discard(desk.uploads, upload)


def bring_in(desk: Desk, project: str, batch: str) -> str:
    return arriving.bring_in(desk.workspace, _item(desk, project), batch).id


def drop(desk: Desk, project: str, batch: str) -> None:
    """Forget files that arrived and are not wanted."""
    arriving.discard(desk.workspace, _item(desk, project), batch)


def demo(desk: Desk, project: str) -> str:
    """Bring the recording in that came with Timbre, and lay its text ready."""
    item, ours = _item(desk, project), shipped.demo()
    builds.keep_text(desk.workspace, item, {ours.script.name: ours.script})
    wish = submitting.wish_for(
        desk.workspace,
        item,
        sources=(str(ours.recording),),
        make_clips=False,
        hear=HearSettings(language=ours.language),
    )
    return submitting.submit(desk.workspace, item, wish, f"Import into {item.name}").id


# ---- Record ----


def prompts(desk: Desk, project: str, name: str) -> dict[str, Any]:
    """The sets of sentences to read, and those of one of them."""
    folder = _folder(desk, _item(desk, project))
    found = takes.prompts_of(folder, name)
    return {
        "sets": [
            {"name": each, "language": takes.OURS.get(each, "")} for each in takes.sets(folder)
        ],
        "prompts": found.prompts,
        "problems": found.problems[:_PROBLEMS_SHOWN],
    }


def own_prompts(desk: Desk, project: str, upload: str, name: str) -> str:
    """Keep sentences that a person wants to read."""
    path = uploads.find(desk.uploads, upload)
    try:
        return takes.keep_set(_folder(desk, _item(desk, project)), path, name)
    finally:
        uploads.discard(desk.uploads, upload)


def take(
    desk: Desk, project: str, prompts: str, number: int, upload: str, language: str = ""
) -> str:
    """Lay a take down; a job looks at it and makes it a clip with the prompt as its text."""
    item = _item(desk, project)
    folder = _folder(desk, item)
    text = {each.number: each for each in takes.prompts_of(folder, prompts).prompts}
    if number not in text:
        raise NotFoundError(f"{prompts} has no sentence {number}.", "Reload the page.")
    sent = uploads.find(desk.uploads, upload)
    takes.leave(folder, sent, prompts, Prompt(number, text[number].text), language)
    uploads.discard(desk.uploads, upload)
    return takes.submit(desk.workspace, item).id


def read_so_far(desk: Desk, project: str, prompts: str) -> dict[str, Any]:
    """How the sentences stand that were read; what waits is looked at."""
    item = _item(desk, project)
    with _opened(desk, item) as opened:
        read = takes.read_so_far(opened, prompts)
    if any(each.state == "waiting" for each in read):
        takes.look_again(desk.workspace, item)  # the job that did it may just have ended
    return {"read": read, "seconds": sum(each.seconds for each in read)}


# ---- Build ----


def choices(desk: Desk, project: str, language: str | None = None) -> dict[str, Any]:
    """
    What can be chosen for a build: which Whisper, which languages, every setting.

    Without a language it is the one that was chosen for the project.
    """
    item = _item(desk, project)
    with _opened(desk, item) as opened:
        hear, cut = opened.settings(HearSettings), opened.settings(CutSettings)
    language = hear.language if language is None else language
    advice = submitting.advised_whisper(language)
    return {
        "languages": sorted(languages.CODES),
        "whispers": [
            _whisper_facts(desk, each) for each in models.CATALOGUE if each.hears(language)
        ],
        "advised": asdict(advice),
        "hear": [each for each in forms.fields_of(hear) if each.name != "language"],
        "cut": forms.fields_of(cut),
        "hear_values": forms.values_of(hear),
        "cut_values": forms.values_of(cut),
    }


def _whisper_facts(desk: Desk, model: models.Model) -> dict[str, Any]:
    here = True
    try:
        models.find(model.name, submitting.models_folder(desk.workspace))
    except NotFoundError:
        here = False
    facts = {"name": model.name, "mb": model.size_mb, "good_for": model.good_for}
    return {**facts, "here": here, "licence": model.licence, "from": model.repository}


def text(desk: Desk, project: str, sent: list[str]) -> None:
    """Keep the text of the recordings: one file, or several."""
    found = [uploads.find(desk.uploads, each) for each in sent]
    builds.keep_text(desk.workspace, _item(desk, project), {path.name: path for path in found})
    for each in sent:
        uploads.discard(desk.uploads, each)


def build(
    desk: Desk,
    project: str,
    words: Words,
    whisper: str,
    download: bool,
    hear: dict[str, Any],
    cut: dict[str, Any],
) -> str:
    """Queue a build; what cannot be is refused before it begins."""
    item = _item(desk, project)
    with _opened(desk, item) as opened:
        heard = forms.changed(opened.settings(HearSettings), hear)
        clipped = forms.changed(opened.settings(CutSettings), cut)
    choice = Choice(words, whisper, download)
    return builds.build(desk.workspace, item, choice, heard, clipped).id


def go_on(desk: Desk, project: str, job: str) -> str:
    """Do what was stopped or failed once more, from where it was."""
    return builds.go_on(desk.workspace, _item(desk, project), job).id


# ---- Common ----


def _item(desk: Desk, project: str) -> Item:
    return projects.shelf(desk.workspace).find(project)


def _folder(desk: Desk, item: Item) -> Path:
    return projects.folder_of(desk.workspace, item)


@contextmanager
def _opened(desk: Desk, item: Item) -> Iterator[Project]:
    with projects.open_project(_folder(desk, item)) as opened:
        yield opened


CALLS: dict[str, Call] = {
    "recordings": shown,
    "recordings.language": set_language,
    "recordings.begin": begin,
    "recordings.add": add,
    "recordings.bring": bring_in,
    "recordings.drop": drop,
    "recordings.demo": demo,
    "recordings.prompts": prompts,
    "recordings.ownprompts": own_prompts,
    "recordings.take": take,
    "recordings.read": read_so_far,
    "recordings.choices": choices,
    "recordings.text": text,
    "recordings.build": build,
    "recordings.go": go_on,
}
FILES: dict[str, Call] = {"recordings.sound": sound, "recordings.wave": wave}
