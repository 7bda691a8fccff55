"""Transcript: the clips, every edit of them, the datasets that are frozen, texts in and out."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from app import data_views
from app.screen import uploads
from app.screen.calls import Call
from app.screen.desk import Desk
from app.screen.served import Served
from engines.errors import NotFoundError
from finetune import (
    datasets,
    editing,
    given_texts,
    listing,
    nearby,
    overview,
    packed_exports,
    projects,
    submitting,
)
from finetune.editing import Proposal, Search
from finetune.exporting import LAYOUTS, ExportSettings
from finetune.listing import Row
from finetune.media import reading
from finetune.overview import MARKS
from finetune.projects import Project
from finetune.transcript import Action, Clip, EditConflict
from voices.shelf import Item
from voices.speaking.formats import KINDS

Pair = tuple[int, int]
Seen = list[Pair]
"""Clips as [id, revision that the page saw]."""
INCLUDED, GONE, EDITED, DECIDED = 1, 2, 4, 8
"""What a row's flags mean; places/transcript/rows.js reads them."""


# ---- What is seen ----


def clips(desk: Desk, project: str, since: int = -1) -> dict[str, Any]:
    """Every clip as a short row, or those that changed since a revision."""
    with _opened(desk, project) as opened:
        return _changed(opened.project, since)


def clip(desk: Desk, project: str, clip: int) -> dict[str, Any]:
    """All about one: its findings, what was heard, its words with times, its sound's outline."""
    with _opened(desk, project) as opened:
        found = opened.project.transcript.clip(clip)
        recording = opened.project.recordings.find(found.values.recording)
        span = nearby.beside(found.values, recording.seconds)
        words = nearby.timed_words(opened.project, found)
        return {
            "id": found.id,
            "revision": found.revision,
            "findings": nearby.findings(opened.project, found),
            "heard": nearby.heard(opened.project, found.values),
            "words": [[each.text.strip(), each.start, each.end] for each in words],
            "outline": nearby.outline(opened.project, recording.id, *span),
        }


def summary(desk: Desk, project: str) -> dict[str, Any]:
    """What the included clips make together, and the datasets frozen of them."""
    with _opened(desk, project) as opened:
        now = overview.as_now(opened.project.transcript.clips())
        statistics = datasets.statistics(now)
        numbers = opened.project.versions.numbers()
        newest = opened.project.versions.newest()
        since = data_views.difference(datasets.compare(newest.dataset, now)) if newest else None
        return {
            "words": statistics.words,
            "advice": statistics.advice,
            "rare": listing.rare_letters(statistics),
            "versions": [
                _version_facts(opened.folder, number, before)
                for number, before in zip(numbers, [None, *numbers], strict=False)
            ][::-1],
            "since": since,
            "formats": LAYOUTS,
            "audio": list(KINDS),
            "ready": [
                {
                    "id": each.id,
                    "version": each.version,
                    "format": each.format,
                    "audio": each.audio,
                    "clips": each.clips,
                    "bytes": each.bytes,
                }
                for each in packed_exports.ready(desk.workspace, opened.item)
            ],
        }


def sound(desk: Desk, project: str, recording: str, start: float, end: float) -> Served:
    """A span of a recording, exactly, as it is worked with."""
    item = _item(desk, project)
    folder = projects.folder_of(desk.workspace, item)
    with projects.open_project(folder) as opened:
        path = opened.working_of(opened.recordings.find(recording).id)
    return Served(_wav(path, start, end), "audio/wav", keeps=True)


# ---- One clip is changed ----


def text(
    desk: Desk, project: str, clip: int, revision: int, text: str, since: int
) -> dict[str, Any]:
    """Say what is spoken in a clip."""
    with _opened(desk, project) as opened:
        return opened.do(editing.retype(opened.clip(clip, revision), text), since)


def trim(
    desk: Desk,
    project: str,
    clip: int,
    revision: int,
    start: float | None,
    end: float | None,
    since: int,
) -> dict[str, Any]:
    """Move the ends that are named."""
    with _opened(desk, project) as opened:
        found = opened.clip(clip, revision)
        seconds = opened.project.recordings.find(found.values.recording).seconds
        start = found.values.start if start is None else start
        end = found.values.end if end is None else end
        return opened.do(editing.trim(found, start, end, seconds), since)


def split(
    desk: Desk, project: str, clip: int, revision: int, word: int, since: int
) -> dict[str, Any]:
    """Make two clips of one, before a word, where it is quiet."""
    with _opened(desk, project) as opened:
        found = opened.clip(clip, revision)
        return opened.do(nearby.split_at_word(opened.project, found, word), since)


def split_at(
    desk: Desk,
    project: str,
    clip: int,
    revision: int,
    at: float,
    left: str,
    right: str,
    since: int,
) -> dict[str, Any]:
    """Make two clips of one at a second, where no words are known."""
    with _opened(desk, project) as opened:
        return opened.do(editing.split(opened.clip(clip, revision), at, left, right), since)


def merge(desk: Desk, project: str, pair: tuple[Pair, Pair], since: int) -> dict[str, Any]:
    """Make one clip of two neighbours."""
    with _opened(desk, project) as opened:
        first, second = opened.clips(pair)
        return opened.do(editing.merge(first, second), since)


# ---- Many are changed ----


def leave_out(desk: Desk, project: str, clips: Seen, reason: str, since: int) -> dict[str, Any]:
    with _opened(desk, project) as opened:
        return opened.do(editing.leave_out(opened.clips(clips), reason), since)


def take_in(desk: Desk, project: str, clips: Seen, since: int) -> dict[str, Any]:
    with _opened(desk, project) as opened:
        return opened.do(editing.take_in(opened.clips(clips)), since)


def take_heard(
    desk: Desk, project: str, clips: Seen, since: int, do: bool = True
) -> dict[str, Any]:
    """Take what was heard for the texts, where something was; or show what that would change."""
    with _opened(desk, project) as opened:
        seen = opened.clips(clips)
        proposal = editing.take_heard(nearby.heard_in(opened.project, seen))
        return opened.show_or_do(proposal, seen, since, do)


def normalise(desk: Desk, project: str, clips: Seen, since: int, do: bool) -> dict[str, Any]:
    """Write numbers and abbreviations as they are said, or show what that would change."""
    with _opened(desk, project) as opened:
        seen = opened.clips(clips)
        languages = {each.id: each.language for each in opened.project.recordings.all()}
        return opened.show_or_do(editing.normalise(seen, languages), seen, since, do)


def replace_all(
    desk: Desk,
    project: str,
    clips: Seen,
    find: str,
    by: str,
    match_case: bool,
    whole_words: bool,
    since: int,
    do: bool,
) -> dict[str, Any]:
    """Replace something in the texts, or show what that would change."""
    with _opened(desk, project) as opened:
        seen = opened.clips(clips)
        proposal = editing.find_and_replace(seen, Search(find, match_case, whole_words), by)
        return opened.show_or_do(proposal, seen, since, do)


def undo(desk: Desk, project: str, since: int) -> dict[str, Any]:
    with _opened(desk, project) as opened:
        return opened.turned(opened.project.transcript.undo(), since)


def redo(desk: Desk, project: str, since: int) -> dict[str, Any]:
    with _opened(desk, project) as opened:
        return opened.turned(opened.project.transcript.redo(), since)


# ---- Datasets, and what takes longer ----


def freeze(desk: Desk, project: str, note: str = "") -> dict[str, Any]:
    """Keep what is included as the next dataset."""
    with _opened(desk, project) as opened:
        before = opened.project.versions.numbers()
        dataset = datasets.freeze(opened.project.transcript.clips(), seed=0)
        number = opened.project.versions.freeze(dataset, note).number
        return {"number": number, "new": number not in before}


def check(desk: Desk, project: str) -> dict[str, Any]:
    """Queue a check of every clip."""
    item = _item(desk, project)
    wish = submitting.wish_for(desk.workspace, item)
    return {"job": submitting.submit(desk.workspace, item, wish, f"Check {item.name}").id}


def export(desk: Desk, project: str, version: int, format: str, audio: str) -> dict[str, Any]:
    """Queue the packing of a dataset; no job when it is packed already."""
    with _opened(desk, project) as opened:
        number = opened.project.versions.find(version).number
    chosen = ExportSettings(format=format, audio=audio)
    job = packed_exports.submit(desk.workspace, opened.item, number, chosen)
    return {"job": job.id if job else None}


def download(desk: Desk, project: str, id: str) -> Served:
    """A packed dataset."""
    found = packed_exports.find(desk.workspace, _item(desk, project), id)
    return Served(found.path, "application/zip", download=found.path.name)


def bring_text(desk: Desk, project: str, upload: str) -> dict[str, Any]:
    """Lay a text that was sent over the recordings that are there."""
    path = uploads.find(desk.uploads, upload)
    job = given_texts.submit(desk.workspace, _item(desk, project), path)
    uploads.discard(desk.uploads, upload)
    return {"job": job.id}


CALLS: dict[str, Call] = {
    "transcript.clips": clips,
    "transcript.clip": clip,
    "transcript.summary": summary,
    "transcript.text": text,
    "transcript.trim": trim,
    "transcript.split": split,
    "transcript.split_at": split_at,
    "transcript.merge": merge,
    "transcript.leave_out": leave_out,
    "transcript.take_in": take_in,
    "transcript.take_heard": take_heard,
    "transcript.normalise": normalise,
    "transcript.replace": replace_all,
    "transcript.undo": undo,
    "transcript.redo": redo,
    "transcript.freeze": freeze,
    "transcript.check": check,
    "transcript.export": export,
    "transcript.bring_text": bring_text,
}
FILES: dict[str, Call] = {"transcript.sound": sound, "transcript.download": download}


def conflict(error: EditConflict) -> dict[str, Any]:
    """What another editor made of a clip, beside what was to be saved."""
    return {"yours": asdict(error.yours), "theirs": asdict(error.theirs)}


# ---- What they have in common ----


@dataclass(frozen=True)
class _Opened:
    """A project that is open for one call."""

    item: Item
    project: Project

    @property
    def folder(self) -> Path:
        return self.project.folder

    def clip(self, clip_id: int, saw: int) -> Clip:
        """A clip as the page saw it: what was changed since is refused when it is written."""
        found = replace(self.project.transcript.clip(clip_id), revision=saw)
        if found.values.gone:
            raise EditConflict(found.values, self.project.transcript.clip(clip_id))
        return found

    def clips(self, seen: Iterable[Pair]) -> list[Clip]:
        known = {each.id: each for each in self.project.transcript.clips()}
        return [
            replace(known[clip_id], revision=saw) if clip_id in known else self.clip(clip_id, saw)
            for clip_id, saw in seen
        ]

    def do(self, proposal: Proposal, since: int) -> dict[str, Any]:
        """Do one undoable action; give what changed since the page looked."""
        if proposal.edits or proposal.new:
            self.project.transcript.edit(proposal.label, proposal.edits, proposal.new)
        return _changed(self.project, since)

    def show_or_do(
        self, proposal: Proposal, seen: Sequence[Clip], since: int, do: bool
    ) -> dict[str, Any]:
        if do:
            return self.do(proposal, since)
        saw = {each.id: each for each in seen}
        return {
            "changes": [
                [
                    each.clip_id,
                    each.saw,
                    saw[each.clip_id].values.text,
                    each.values.text,
                ]
                for each in proposal.edits
            ]
        }

    def turned(self, action: Action | None, since: int) -> dict[str, Any]:
        """What an undo or redo did."""
        return {**_changed(self.project, since), "label": action.label if action else None}


@contextmanager
def _opened(desk: Desk, project: str) -> Iterator[_Opened]:
    item = _item(desk, project)
    with projects.open_project(projects.folder_of(desk.workspace, item)) as opened:
        yield _Opened(item, opened)


def _item(desk: Desk, project: str) -> Item:
    item = projects.shelf(desk.workspace).find(project)
    if item.trashed:
        raise NotFoundError(f"The project {item.name} is in the trash.", "Take it back first.")
    return item


def _changed(project: Project, since: int) -> dict[str, Any]:
    found = [*listing.rows(project, since)]
    newest = max((each.clip.revision for each in found), default=since)
    if not found and since >= 0:
        return {"revision": newest, "rows": []}
    recordings = [
        [each.id, each.name, each.seconds, each.language] for each in project.recordings.all()
    ]
    return {"revision": newest, "rows": [*map(_row, found)], "recordings": recordings}


def _row(row: Row) -> list[Any]:
    """A clip in few bytes: there are thousands."""
    values = row.clip.values
    flags = (INCLUDED * values.included) | (GONE * values.gone)
    flags |= (EDITED * row.edited) | (DECIDED * row.decided)
    span = (round(values.start, 4), round(values.end, 4))
    shown = (values.recording, *span, values.text, flags)
    return [
        *(row.clip.id, row.clip.revision, *shown),
        *(MARKS.index(row.mark), row.reason, " ".join(row.against)),
    ]


@lru_cache(maxsize=64)
def _version_facts(folder: Path, number: int, before: int | None) -> dict[str, Any]:
    """A version in words; one is never changed, so it is read once."""
    with projects.open_project(folder) as project:
        version = project.versions.find(number)
        earlier = project.versions.find(before) if before else None
    changed = datasets.compare(earlier.dataset, version.dataset) if earlier else None
    dataset = version.dataset
    return {
        "number": number,
        "at": version.frozen_at,
        "note": version.note,
        "train": len(dataset.train),
        "check": len(dataset.check),
        "minutes": sum(each.seconds for each in dataset.examples) / 60,
        "changed": data_views.difference(changed) if changed else "",
    }


def _wav(path: Path, start: float, end: float) -> bytes:
    import soundfile

    sound = reading.read(path, start, end)
    file = io.BytesIO()
    soundfile.write(file, sound.samples, sound.rate, format="WAV", subtype="PCM_16")
    return file.getvalue()
