"""What was spoken with a voice, until somebody deletes it; and whole scripts, each spoken as a job."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.places.frame import job_facts
from app.screen import uploads
from app.screen.calls import Call
from app.screen.desk import Desk
from app.screen.served import Served
from engines.base import Sound
from engines.errors import NotFoundError, SettingsError
from finetune import spoken_scripts, submitting
from finetune.spoken_scripts import SpokenScript
from voices import library, speak_settings, spoken
from voices.speaking import formats
from voices.speaking.formats import KINDS, Loudness
from voices.spoken import Line, Spoken

_LISTED = 100
_TYPES = {"wav": "audio/wav", "flac": "audio/flac", "mp3": "audio/mpeg", "ogg": "audio/ogg"}

# ---- What was spoken ----


def listed(desk: Desk, voice: str) -> dict[str, Any]:
    """What one voice spoke, and its scripts, the newest first."""
    texts = spoken.all_of(desk.workspace, voice)
    return {
        "texts": [_summary(each) for each in texts[:_LISTED]],
        "count": len(texts),
        "scripts": [
            _script(desk, each) for each in spoken_scripts.all_of(desk.workspace, voice)[:_LISTED]
        ],
    }


def _summary(each: Spoken) -> dict[str, Any]:
    wish = each.wish
    return {
        "id": each.id,
        "text": wish.text[:160],
        "made": each.made,
        "seconds": each.seconds,
        "whole": each.whole,
        "before": each.before,
        "sentences": len(each.lines),
        "wrong": sum(bool(line.faults) for line in each.lines),
        "seed": wish.seed,
        "pace": wish.pace,
        "manners": wish.manners,
        "language": wish.language,
    }


def one(desk: Desk, id: str) -> dict[str, Any]:
    """One text that was spoken, sentence by sentence."""
    found = spoken.find(desk.workspace, id)
    lines = [
        {**line_facts(each), "at": each.start / found.rate, "until": each.end / found.rate}
        for each in found.lines
    ]
    return {**_summary(found), "text": found.wish.text, "lines": lines}


def line_facts(line: Line) -> dict[str, Any]:
    return {
        "text": line.text,
        "spoken": line.spoken,
        "seed": line.seed,
        "tries": line.tries,
        "faults": list(line.faults),
    }


def delete(desk: Desk, id: str) -> None:
    """Delete what was spoken, for good."""
    try:
        spoken.delete(desk.workspace, id)
    except NotFoundError:
        spoken_scripts.delete(desk.workspace, id)


def sound(desk: Desk, id: str) -> Served:
    """A text that was spoken, as it came."""
    return Served(spoken.sound_of(desk.workspace, id), "audio/flac", keeps=True)


def line_sound(desk: Desk, id: str, line: int) -> Served:
    """One sentence of it."""
    found = spoken.find(desk.workspace, id)
    if not 0 <= line < len(found.lines):
        raise NotFoundError("There is no such sentence.", "Reload the page.")
    return Served(spoken.wav_of(desk.workspace, found, found.lines[line]), "audio/wav", keeps=True)


def saved(desk: Desk, id: str, kind: str, lufs: float = -16.0, as_spoken: int = 0) -> Served:
    """A text that was spoken, as a file to keep: of a kind, and as loud as wished."""
    found = spoken.find(desk.workspace, id)
    if kind not in KINDS or not -40 <= lufs <= -5:
        raise SettingsError("Such a file cannot be written.", f"Choose {', '.join(KINDS)}.")
    loud = None if as_spoken else lufs
    place = desk.workspace.cache / "spoken"
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = place / f"{found.id}-{'as' if loud is None else round(-10 * loud)}.{kind}"
    if not path.is_file():
        formats.write(path, _blocks(spoken.sound_of(desk.workspace, id)), Loudness(loud))
    return Served(path, _TYPES[kind], f"{uploads.file_name(found.wish.voice_name)}.{kind}")


def _blocks(path: Path) -> Iterator[Sound]:
    import soundfile

    with soundfile.SoundFile(path) as file:
        for block in file.blocks(file.samplerate, dtype="float32"):
            yield Sound(block, file.samplerate)


# ---- Scripts ----


def script(
    desk: Desk,
    voice: str,
    upload: str = "",
    said: str = "",
    kind: str = "mp3",
    lufs: float | None = -16.0,
) -> dict[str, Any]:
    """Have a file, or a text that was typed, spoken as a job."""
    found = library.find(desk.workspace, voice)
    chosen = speak_settings.read(found.folder)
    path = uploads.find(desk.uploads, upload) if upload else None
    pace = {"speed": chosen.pace} if chosen.pace != 1 else {}
    made = spoken_scripts.submit(
        desk.workspace,
        found,
        path or said,
        name=path.name if path else " ".join(said.split())[:60],
        kind=kind,
        language=chosen.language,
        seed=chosen.seed,
        manners={**speak_settings.manners_for(found, chosen), **pace},
        lufs=lufs,
    )
    uploads.discard(desk.uploads, upload)
    return _script(desk, made)


def _script(desk: Desk, each: SpokenScript) -> dict[str, Any]:
    job = spoken_scripts.job_of(desk.workspace, each)
    report = submitting.report_of(job) if job else {}
    return {
        "id": each.id,
        "name": each.name,
        "made": each.made,
        "kind": each.kind,
        "lufs": each.lufs,
        "seed": each.seed,
        "job": job_facts(job) if job else None,
        "files": [path.name for path in spoken_scripts.files_of(desk.workspace, each)],
        "seconds": sum(every["seconds"] for every in report.get("files", ())),
        "faults": report.get("faults", []),
    }


def script_file(desk: Desk, id: str, name: str, save: int = 0) -> Served:
    """A file that a script became, to hear or to save."""
    found = spoken_scripts.find(desk.workspace, id)
    there = {path.name: path for path in spoken_scripts.files_of(desk.workspace, found)}
    if name not in there:
        raise NotFoundError("This file is not there any more.", "Have it spoken again.")
    stem = Path(uploads.file_name(found.name)).stem
    called = f"{stem}.{found.kind}" if name == f"speech.{found.kind}" else name
    return Served(there[name], _TYPES[found.kind], called if save else "")


CALLS: dict[str, Call] = {
    "voices.kept": listed,
    "voices.kept.one": one,
    "voices.delete": delete,
    "voices.script": script,
}
FILES: dict[str, Call] = {
    "voices.kept.sound": sound,
    "voices.kept.line": line_sound,
    "voices.kept.save": saved,
    "voices.script.file": script_file,
}
