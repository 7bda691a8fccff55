"""Recordings: bring them in or record them, see how good they are, and build the dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from app import data_views
from app.places import of_project, recordings_build, recordings_read
from app.places.frame import job_facts
from app.places.recordings_read import PROBLEMS_SHOWN
from app.screen import uploads
from app.screen.calls import Call
from app.screen.desk import Desk
from app.screen.served import Served
from engines.errors import NotFoundError
from finetune import arriving, builds, next_step, submitting, takes
from finetune.builds import Begun
from finetune.hearing import languages
from finetune.media import waves
from finetune.recordings import Recording
from finetune.settings import HearSettings
from finetune.steps import Step, steps_of
from voices import shipped

# ---- What is there ----


def shown(desk: Desk, project: str) -> dict[str, Any]:
    """The recordings, what is on its way, and the works on them."""
    item = of_project.item(desk, project)
    outlines = waves.of(desk.workspace.cache / "waves")
    text = builds.text_of(desk.workspace, item)
    with of_project.opened(desk, item) as opened:
        known = opened.recordings.all()
        there = [
            {
                **data_views.recording_facts(each),
                "wave": outlines.is_there(each.id, opened.working_of(each.id)),
                "take": takes.is_take(each.name),
                "cut": takes.is_take(each.name) or bool(opened.transcript.cut_by(each.id)),
            }
            for each in known
        ]
        away = opened.recordings.all(trashed=True)
    begun = builds.of_project(desk.workspace, item)
    return {
        "recordings": there,
        "trashed": [{"id": each.id, "name": each.name} for each in away],
        "seconds": sum(each["seconds"] for each in there if each["verdict"] != "bad"),
        "good_seconds": next_step.GOOD_SECONDS,
        "arriving": arriving.there(desk.workspace, item),
        "import": _newest(begun, makes_clips=False),
        "build": _newest(begun, makes_clips=True),
        "text": _text_facts(text, known) if text else None,
    }


def _newest(begun: list[Begun], makes_clips: bool) -> dict[str, Any] | None:
    """The newest work of a kind: its steps while it goes, and what came of it."""
    found = next((each for each in begun if each.makes_clips == makes_clips), None)
    if found is None:
        return None
    built = found.is_built
    report = submitting.report_of(found.job) if built or found.job.state == "ended" else {}
    said = [each for each in report.get("files", []) if each["known"] or not each["recording"]]
    problems = report.get("problems", [])
    return {
        "job": {**job_facts(found.job), **({"state": "ended"} if built else {})},
        "cause": "finished" if built else found.job.cause,
        "steps": [_done(each) if built else each for each in steps_of(found.job, found.wish)],
        "brought": sum(not each["known"] for each in report.get("files", [])) - _refused(said),
        "files": said[:PROBLEMS_SHOWN],
        "problems": problems[:PROBLEMS_SHOWN],
        "more_problems": max(0, len(problems) - PROBLEMS_SHOWN),
        **{key: report.get(key) for key in ("clips", "seconds", "marks", "version", "run")},
    }


def _done(step: Step) -> Step:
    """A step of what is built, whatever its job does since."""
    return replace(step, state="done", inside=None)


def _refused(said: list[dict[str, Any]]) -> int:
    return sum(not each["recording"] for each in said)


def _text_facts(path: Path, recordings: Sequence[Recording]) -> dict[str, Any]:
    """The names of a text's files, and whether it is plainly what is said in the recordings."""
    inside = [path] if path.is_file() else sorted(path.iterdir())
    return {"names": [each.name for each in inside], "sure": builds.is_theirs(path, recordings)}


def set_language(desk: Desk, project: str, recording: str, language: str) -> None:
    languages.check(language)
    with of_project.opened(desk, of_project.item(desk, project)) as opened:
        opened.recordings.set_language(opened.recordings.find(recording).id, language)


def trash(desk: Desk, project: str, recording: str) -> None:
    """Put a recording into the trash, with its clips; datasets that were frozen keep them."""
    _trash(desk, project, recording, True)


def restore(desk: Desk, project: str, recording: str) -> None:
    _trash(desk, project, recording, False)


def _trash(desk: Desk, project: str, recording: str, trashed: bool) -> None:
    with of_project.opened(desk, of_project.item(desk, project)) as opened:
        opened.recordings.trash(opened.recordings.find(recording).id, trashed)


def sound(desk: Desk, project: str, recording: str) -> Served:
    """A recording as it is worked with: one channel, playable in every browser."""
    with of_project.opened(desk, of_project.item(desk, project)) as opened:
        path = opened.working_of(opened.recordings.find(recording).id)
    if not path.exists():
        raise NotFoundError(
            "The working copy of this recording is gone.", "Build the dataset: it is made again."
        )
    return Served(path, "audio/flac")


def wave(desk: Desk, project: str, recording: str) -> Served:
    """The outline of a recording: the lowest and highest of each stretch, as signed bytes."""
    with of_project.opened(desk, of_project.item(desk, project)) as opened:
        found = opened.recordings.find(recording)
    path = waves.of(desk.workspace.cache / "waves").path(found.id)
    if not path.exists():
        raise NotFoundError("It is not drawn yet.", "Wait a moment.")
    return Served(path.read_bytes(), "application/octet-stream", keeps=True)


# ---- Bring in ----


def begin(desk: Desk, project: str) -> str:
    """Make room for files that come together."""
    return arriving.begin(desk.workspace, of_project.item(desk, project))


def add(desk: Desk, project: str, batch: str, place: int, upload: str, name: str) -> str:
    """Take a file that was sent into a batch."""
    item = of_project.item(desk, project)
    path = uploads.find(desk.uploads, upload)
    try:
        return arriving.add(desk.workspace, item, batch, place, path, name)
    finally:
        uploads.discard(desk.uploads, upload)


def bring_in(desk: Desk, project: str, batch: str) -> str:
    return arriving.bring_in(desk.workspace, of_project.item(desk, project), batch).id


def drop(desk: Desk, project: str, batch: str) -> None:
    """Forget files that arrived and are not wanted."""
    arriving.discard(desk.workspace, of_project.item(desk, project), batch)


def demo(desk: Desk, project: str) -> str:
    """Bring the recording in that came with Timbre, and lay its text ready."""
    item, ours = of_project.item(desk, project), shipped.demo()
    builds.keep_text(desk.workspace, item, {ours.script.name: ours.script})
    wish = submitting.wish_for(
        desk.workspace,
        item,
        sources=(str(ours.recording),),
        make_clips=False,
        hear=HearSettings(language=ours.language),
    )
    return submitting.submit(desk.workspace, item, wish, f"Import into {item.name}").id


CALLS: dict[str, Call] = {
    "recordings": shown,
    "recordings.language": set_language,
    "recordings.trash": trash,
    "recordings.restore": restore,
    "recordings.begin": begin,
    "recordings.add": add,
    "recordings.bring": bring_in,
    "recordings.drop": drop,
    "recordings.demo": demo,
    **recordings_read.CALLS,
    **recordings_build.CALLS,
}
FILES: dict[str, Call] = {"recordings.sound": sound, "recordings.wave": wave}
