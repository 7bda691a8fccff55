"""Recordings into a project: each kept as received, decoded once, and given a verdict in words."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from engines.errors import AudioError
from finetune.media import original
from finetune.media.decode import Progress, Stop, decode
from finetune.media.decoded import Decoded
from finetune.media.original import Kept
from finetune.media.verdict import Verdict, remarks, worst
from finetune.projects import Project
from finetune.recordings import Recording
from voices import files, names

# What lies beside recordings in a folder. Of everything else the content tells what it is; a file
# that is named by itself is tried whatever its ending.
_NO_SOUND = frozenset({
    ".bak", ".csv", ".db", ".doc", ".docx", ".gif", ".htm", ".html", ".ini", ".jpeg", ".jpg",
    ".json", ".jsonl", ".lab", ".list", ".log", ".lrc", ".m3u", ".m3u8", ".md", ".nfo", ".odt",
    ".parquet", ".pdf", ".pls", ".png", ".pt", ".pth", ".py", ".rtf", ".safetensors", ".srt",
    ".textgrid", ".tsv", ".txt", ".vtt", ".webp", ".xml", ".yaml", ".yml", ".zip",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Source:
    """A file to bring in, and what the recording will be called."""

    path: Path
    name: str
    """With the folders below the one that was chosen: texts name their recordings so."""


@dataclass(frozen=True, slots=True)
class Brought:
    """What came of one file."""

    source: Source
    recording: Recording | None
    """None when it cannot be used."""
    verdict: Verdict
    sentences: tuple[str, ...]
    known: bool = False
    """Whether its content was there before, under this name or another."""


def sources_in(paths: Iterable[Path]) -> list[Source]:
    """List the files that were chosen, and those in folders that were, as people count them."""
    found: list[Source] = []
    for path in paths:
        if path.is_dir():
            found += sorted(_inside(path), key=lambda source: _as_people_count(source.name))
        else:
            found.append(Source(path, path.name))
    return found


def bring_in(
    project: Project, source: Source, progress: Progress, stop: Stop, place: int | None = None
) -> Brought:
    """
    Bring one file in: its content once, its sound decoded, and what there is to say about it.

    `progress` is told seconds of sound. What cannot be used is a verdict, not an error.
    """
    try:
        recording, known = _brought(project, source, progress, stop, place)
    except AudioError as error:
        return Brought(source, None, "bad", (error.what, error.fix))
    if known:
        make_working_again(project, recording, progress, stop)
    said = remarks(recording.decoded)
    sentences = tuple(remark.sentence for remark in said)
    if known:
        sentences = (f"It is there already, as {recording.name}.", *sentences)
    return Brought(source, recording, worst(said), sentences, known)


def make_working_again(
    project: Project, recording: Recording, progress: Progress, stop: Stop
) -> None:
    """Decode a recording's original again when its working copy is gone."""
    if not project.working_of(recording.id).exists():
        decode(project.original_of(recording), project.working_of(recording.id), progress, stop)


def clear_up(project: Project) -> None:
    """
    Remove what interrupted imports left behind; what a living process works on stays.

    An original stays, listed or not: when the list was lost, it is all there is.
    """
    copies = [path for path in project.working.glob("*.flac") if names.is_id(path.stem)]
    for folder in (project.originals, project.working):
        files.sweep(folder)
    # Asked after the copies were listed, and in this order: who makes one has a temporary original
    # before, then the original, then the row.
    if any(project.originals.glob(".tmp-*")):
        return
    there = {path.stem for path in project.originals.iterdir()}
    there |= {recording.id for recording in project.recordings.ever()}
    for copy in copies:
        if copy.stem not in there:
            copy.unlink(missing_ok=True)


class _AlreadyThere(Exception):
    """The content is in the project; its second copy is not kept."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording


def _brought(
    project: Project, source: Source, progress: Progress, stop: Stop, place: int | None
) -> tuple[Recording, bool]:
    recordings = project.recordings
    try:
        kept, decoded = _copied(project, source, progress, stop)
        # When this fails, the copies stay: the store may yet find the row in its log.
        added = recordings.add(
            kept.path.stem, source.name, kept.sha256, kept.path.name, decoded, place
        )
    except _AlreadyThere as there:
        return _taken_back(project, there.recording), True
    except sqlite3.IntegrityError:  # another import brought the same content in meanwhile
        _remove(project, kept)
        same = recordings.with_content(kept.sha256)
        assert same is not None
        return _taken_back(project, same), True
    return added, False


def _taken_back(project: Project, known: Recording) -> Recording:
    """Who brings in what is in the trash wants it back."""
    project.recordings.trash(known.id, False)
    return project.recordings.find(known.id)


def _copied(
    project: Project, source: Source, progress: Progress, stop: Stop
) -> tuple[Kept, Decoded]:
    """Make the original and the working copy: both of them, or none."""
    kept = None
    try:
        with original.keep(source.path, project.originals, _ignore, stop) as kept:
            if same := project.recordings.with_content(kept.sha256):
                raise _AlreadyThere(same)
            decoded = decode(source.path, project.working_of(kept.path.stem), progress, stop)
    except BaseException:
        if kept:  # a copy has its name before its folder is synced, which may fail
            _remove(project, kept)
        raise
    return kept, decoded


def _remove(project: Project, kept: Kept) -> None:
    for copy in (project.working_of(kept.path.stem), kept.path):
        copy.unlink(missing_ok=True)


def _ignore(done: float, total: float) -> None:
    """Copying is a small part of bringing in; decoding tells the progress."""


def _inside(folder: Path) -> Iterator[Source]:
    for path in folder.rglob("*"):
        parts = path.relative_to(folder).parts
        # macOS leaves "._name.wav" beside every file it copies to other disks.
        if any(part.startswith(".") for part in parts) or path.suffix.lower() in _NO_SOUND:
            continue
        if path.is_file():
            yield Source(path, "/".join(parts))


def _as_people_count(name: str) -> list[tuple[int, int, str]]:
    """Take 2 comes before take 10."""
    pieces = re.findall(r"\d+|\D+", name.casefold())
    return [(0, int(piece), "") if piece.isdecimal() else (1, 0, piece) for piece in pieces]
