"""
Everything that can be heard of a voice, side by side: the real one, the base, each step, the end.

A sound is named by an address that says where it is, and nothing of the disk:

    run/<id>/<step>/<number>    a sentence, spoken with the weights of a step; step 0 is the base
    run/<id>/real               the real voice
    voice/<id>/reference        the real voice, as a finished one is shown it
    voice/<id>/sample           what a finished one spoke for its page
    spoken/<id>                 what was spoken with one
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from engines.base import Sound
from engines.errors import NotFoundError, StudioError
from finetune import projects, runs
from finetune.media import reading
from finetune.runs import Run
from voices import files, library, names, spoken
from voices.library import FACTS, REFERENCE, SAMPLE, Voice
from voices.workspace import Workspace

TABLE = "samples.json"
Kind = Literal["real", "base", "step", "voice"]


@dataclass(frozen=True, slots=True)
class Heard:
    """One sentence of a source."""

    address: str
    text: str
    seconds: float | None = None
    similarity: float | None = None
    character_errors: float | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """Something that speaks, and what there is to hear of it."""

    id: str
    kind: Kind
    name: str
    """Of the run or voice."""
    step: int | None = None
    best: bool = False
    language: str = ""
    heard: tuple[Heard, ...] = ()


# ---- What there is to hear ----


def of_run(workspace: Workspace, run: Run) -> list[Source]:
    """The real voice, the base, and each step at which it spoke, in this order."""
    return [*_real_of(workspace, run), *_steps_of(run)]


def of_voice(workspace: Workspace, voice: Voice) -> list[Source]:
    """The real voice, the run it came from where that is still there, and the voice itself."""
    said, found = voice.facts, []
    here = f"voice/{voice.id}"
    if (voice.folder / REFERENCE).is_file():
        text = str(said.get("reference_text") or "")
        heard = (Heard(f"{here}/reference", text),)
        found.append(Source(f"{here}/reference", "real", voice.name, heard=heard))
    for run in _runs_of(workspace, voice):
        found += _steps_of(run)
    if (voice.folder / SAMPLE).is_file():
        text = str(said.get("sample_text") or "")
        heard = (Heard(f"{here}/sample", text, similarity=said.get("sample_similarity")),)
        step = (said.get("from") or {}).get("step")
        found.append(Source(here, "voice", voice.name, step, heard=heard))
    return [replace(each, language=voice.language) for each in found]


def _runs_of(workspace: Workspace, voice: Voice) -> list[Run]:
    came = voice.facts.get("from") or {}
    if not names.is_id(str(came.get("run", ""))):
        return []
    try:
        return [runs.find(workspace, str(came["run"]))]
    except StudioError:  # it came from another computer, or its run was deleted
        return []


def _steps_of(run: Run) -> list[Source]:
    folders = sorted(run.folder.samples.glob("step-*"))
    return [
        Source(
            f"run/{run.id}/{step}",
            "step" if step else "base",
            run.plan.name,
            step,
            step == run.best_step,
            heard=tuple(_heard(row, f"run/{run.id}/{step}") for row in rows),
        )
        for folder in folders
        for step, rows in [_table(folder / TABLE)]
        if rows
    ]


def _heard(row: dict[str, Any], source: str) -> Heard:
    return Heard(
        f"{source}/{Path(str(row['file'])).stem}",
        str(row["text"]),
        row.get("seconds"),
        row.get("similarity"),
        row.get("character_errors"),
    )


@lru_cache(maxsize=1024)  # samples are written once
def _table(path: Path) -> tuple[int, list[dict[str, Any]]]:
    said = json.loads(path.read_bytes()) if files.exists(path.parent) else {}
    return int(said.get("step", 0)), list(said.get("samples", ()))


def _real_of(workspace: Workspace, run: Run) -> list[Source]:
    found, address = _real(workspace, run), f"run/{run.id}/real"
    if found is None:
        return []
    return [Source(address, "real", run.plan.name, heard=(Heard(address, found[1]),))]


def _real(workspace: Workspace, run: Run) -> tuple[Path, str] | None:
    """The real voice: what the finished one is shown, else a clip that it does not learn from."""
    made = run.folder.voice
    if (made / REFERENCE).is_file():
        said = json.loads((made / FACTS).read_bytes())
        return made / REFERENCE, str(said.get("reference_text") or "")
    try:
        return _held_out(workspace, run)
    except (StudioError, OSError):  # its project was deleted: the rest can still be heard
        return None


def _held_out(workspace: Workspace, run: Run) -> tuple[Path, str] | None:
    item = projects.shelf(workspace).find(run.plan.project)
    with projects.open_project(projects.folder_of(workspace, item)) as project:
        dataset = project.versions.find(run.plan.version).dataset
        example = next(iter(dataset.check or dataset.train), None)
        if example is None:
            return None
        path = workspace.cache / "real" / f"{run.id}.flac"
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            working = project.working_of(example.recording)
            files.write_bytes(path, _flac(reading.read(working, example.start, example.end)))
        return path, example.text


def _flac(sound: Sound) -> bytes:
    import soundfile  # here, because what only lists hears nothing

    content = io.BytesIO()
    soundfile.write(content, spoken.in_16_bits(sound), sound.rate, "PCM_16", format="FLAC")
    return content.getvalue()


# ---- One of them ----


def find(workspace: Workspace, address: str) -> Path:
    """The file of a sound; raise NotFoundError where there is none."""
    kind, _, rest = address.partition("/")
    of, _, which = rest.partition("/")
    if names.is_id(of):
        path = {"run": _in_run, "voice": _in_voice, "spoken": _in_spoken}.get(kind, _nowhere)(
            workspace, of, which
        )
        if path is not None and path.is_file():
            return path
    raise NotFoundError("This sound is not there any more.", "Choose another one.")


def _in_run(workspace: Workspace, of: str, which: str) -> Path | None:
    run = runs.find(workspace, of)
    if which == "real":
        found = _real(workspace, run)
        return found[0] if found else None
    step, _, number = which.partition("/")
    if not (step.isascii() and step.isdigit() and number.isascii() and number.isdigit()):
        return None
    return run.folder.samples / f"step-{int(step):06}" / f"{int(number):02}.flac"


def _in_voice(workspace: Workspace, of: str, which: str) -> Path | None:
    name = {"reference": REFERENCE, "sample": SAMPLE}.get(which)
    return library.find(workspace, of).folder / name if name else None


def _in_spoken(workspace: Workspace, of: str, which: str) -> Path | None:
    return None if which else spoken.sound_of(workspace, of)


def _nowhere(workspace: Workspace, of: str, which: str) -> Path | None:
    return None
