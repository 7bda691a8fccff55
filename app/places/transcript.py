"""Transcript: the clips, every edit of them, the datasets that are frozen, texts in and out."""

from __future__ import annotations

import io
from functools import lru_cache
from pathlib import Path
from typing import Any

from app import data_views
from app.places import transcript_edits
from app.places.transcript_rows import changed, item_of, open_for
from app.screen import uploads
from app.screen.calls import Call
from app.screen.desk import Desk
from app.screen.served import Served
from finetune import (
    datasets,
    given_texts,
    listing,
    nearby,
    overview,
    packed_exports,
    projects,
    submitting,
)
from finetune.exporting import LAYOUTS, ExportSettings
from finetune.media import reading
from voices.speaking.formats import KINDS

# ---- What is seen ----


def clips(desk: Desk, project: str, since: int = -1) -> dict[str, Any]:
    """Every clip as a short row, or those that changed since a revision."""
    with open_for(desk, project) as opened:
        return changed(opened.project, since)


def clip(desk: Desk, project: str, clip: int) -> dict[str, Any]:
    """All about one: its findings, what was heard, its words with times, its sound's outline."""
    with open_for(desk, project) as opened:
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
    with open_for(desk, project) as opened:
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
    item = item_of(desk, project)
    folder = projects.folder_of(desk.workspace, item)
    with projects.open_project(folder) as opened:
        path = opened.working_of(opened.recordings.find(recording).id)
    return Served(_wav(path, start, end), "audio/wav", keeps=True)


# ---- Datasets, and what takes longer ----


def freeze(desk: Desk, project: str, note: str = "") -> dict[str, Any]:
    """Keep what is included as the next dataset."""
    with open_for(desk, project) as opened:
        before = opened.project.versions.numbers()
        dataset = datasets.freeze(opened.project.transcript.clips(), seed=0)
        number = opened.project.versions.freeze(dataset, note).number
        return {"number": number, "new": number not in before}


def check(desk: Desk, project: str) -> dict[str, Any]:
    """Queue a check of every clip."""
    item = item_of(desk, project)
    wish = submitting.wish_for(desk.workspace, item)
    return {"job": submitting.submit(desk.workspace, item, wish, f"Check {item.name}").id}


def export(desk: Desk, project: str, version: int, format: str, audio: str) -> dict[str, Any]:
    """Queue the packing of a dataset; no job when it is packed already."""
    with open_for(desk, project) as opened:
        number = opened.project.versions.find(version).number
    chosen = ExportSettings(format=format, audio=audio)
    job = packed_exports.submit(desk.workspace, opened.item, number, chosen)
    return {"job": job.id if job else None}


def download(desk: Desk, project: str, id: str) -> Served:
    """A packed dataset."""
    found = packed_exports.find(desk.workspace, item_of(desk, project), id)
    return Served(found.path, "application/zip", download=found.path.name)


def bring_text(desk: Desk, project: str, upload: str) -> dict[str, Any]:
    """Lay a text that was sent over the recordings that are there."""
    path = uploads.find(desk.uploads, upload)
    job = given_texts.submit(desk.workspace, item_of(desk, project), path)
    uploads.discard(desk.uploads, upload)
    return {"job": job.id}


CALLS: dict[str, Call] = {
    "transcript.clips": clips,
    "transcript.clip": clip,
    "transcript.summary": summary,
    "transcript.freeze": freeze,
    "transcript.check": check,
    "transcript.export": export,
    "transcript.bring_text": bring_text,
    **transcript_edits.CALLS,
}
FILES: dict[str, Call] = {"transcript.sound": sound, "transcript.download": download}


# ---- What they are made of ----


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
