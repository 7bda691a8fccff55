"""
What helps somebody else to find a fault, as one archive that a person may look into and send.

No audio and no transcript goes in, and of logs, paths and names only what `redacting` leaves.
"""

from __future__ import annotations

import io
import json
import os
import platform
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

from app import ROOT
from app.doctor import Check
from app.redacting import Private, Redactor, of_this_computer, secrets_in
from app.setup.environment import read_stamp
from app.version import timbre_version
from engines.errors import StudioError
from finetune import https, projects, runs
from finetune.jobs import queue
from finetune.jobs.queue import Job
from finetune.monitor.sampler import Reading
from voices import library, spoken
from voices.workspace import Workspace

NAME = "timbre-diagnostics.zip"
LOG_LINES = 80
_JOBS = 20
_FAULT_BYTES = 64_000
_PACKAGES = ("torch", "numpy", "starlette", "uvicorn", "av", "safetensors", "faster-whisper")
_ABOUT = """\
This is what Timbre packed to help find a fault: versions, the checks of this computer, what failed
and the end of its log. It holds no audio, no transcript, no secret; names and paths were replaced.
Nothing was sent anywhere. Look into the files before you pass them on.
"""


def pack(workspace: Workspace, checks: Sequence[Check], reading: Reading | None) -> bytes:
    """Make the archive."""
    clean = Redactor(_private(workspace))
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("README.txt", _ABOUT)
        for name, content in _contents(workspace, checks, reading):
            archive.writestr(name, clean(content))
    return written.getvalue()


def _contents(
    workspace: Workspace, checks: Sequence[Check], reading: Reading | None
) -> Iterator[tuple[str, str]]:
    yield "versions.json", _json(_versions())
    yield "doctor.json", _json([asdict(check) for check in checks])
    yield "gpus.json", _json(_gpus(reading))
    yield "settings.json", _json(_settings(workspace))
    failed = [job for job in queue.jobs(workspace) if _is_of_interest(job)][:_JOBS]
    yield "jobs.json", _json([_job_facts(job) for job in failed])
    for job in failed:
        log = (
            job.outcome.log
            if job.outcome and job.outcome.log
            else job.folder.log_tail().split("\n")
        )
        yield f"logs/{job.request.kind}-{job.id}.txt", "\n".join(log[-LOG_LINES:])
    for name in ("faults.txt", "faults.old.txt"):
        if text := _end_of(workspace.root / name):
            yield name, text


def _versions() -> dict[str, Any]:
    stamp = read_stamp(ROOT)
    return {
        "timbre": timbre_version(),
        "python": platform.python_version(),
        "system": platform.platform(terse=True),
        "machine": platform.machine(),
        "torch": asdict(stamp.torch) if stamp else None,
        "packages": {name: _version(name) for name in _PACKAGES},
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _gpus(reading: Reading | None) -> dict[str, Any]:
    """What is told of the GPUs, without their serial numbers and whose processes are on them."""
    if reading is None:
        return {}
    private = ("uuid", "held_mib", "strangers")
    cards = [
        {name: value for name, value in asdict(card).items() if name not in private}
        for card in (*reading.gpus.cards, *reading.computer.cards)
    ]
    told = {"driver": reading.gpus.driver, "cuda": reading.gpus.cuda}
    computer = {name: value for name, value in asdict(reading.computer).items() if name != "cards"}
    return {**told, "problem": reading.gpus.problem, "cards": cards, "computer": computer}


def _settings(workspace: Workspace) -> dict[str, Any]:
    """How trainings were set, without what they are called and what they are to say."""
    return {
        "offline": https.is_offline(),
        "projects": len(projects.shelf(workspace).all()),
        "voices": len(library.shelf(workspace).all()),
        "runs": [
            {
                "id": run.id,
                "engine": run.plan.engine,
                "state": run.state,
                "step": run.step,
                "total": run.total,
                "train": asdict(run.plan.train),
                "engine_settings": run.plan.engine_settings,
            }
            for run in runs.all(workspace)[:_JOBS]
        ],
    }


def _is_of_interest(job: Job) -> bool:
    """Whether it failed, or does not answer."""
    if job.outcome is None:
        return job.silent
    return job.outcome.cause not in ("finished", "stopped")


def _job_facts(job: Job) -> dict[str, Any]:
    """How a job ended; its title has a name in it."""
    said = asdict(job.outcome) if job.outcome else {}
    said.pop("log", None)
    return {"id": job.id, "kind": job.request.kind, "queued_at": job.queued_at, **said}


def _end_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _FAULT_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)


# ---- What is private here ----


def _private(workspace: Workspace) -> Private:
    own = [
        *_projects(workspace),
        *_voices(workspace),
        *_runs(workspace),
        *_jobs(workspace),
    ]
    return Private(
        tuple(name for names, _ in own for name in names if name),
        tuple(text for _, texts in own for text in texts) + tuple(_spoken(workspace)),
        of_this_computer(workspace.root),
        secrets_in(os.environ),
    )


Own = tuple[list[str], list[str]]
"""Names and texts."""


def _projects(workspace: Workspace) -> Iterator[Own]:
    shelf = projects.shelf(workspace)
    for item in (*shelf.all(), *shelf.all(trashed=True)):
        yield [item.name], []
        folder = projects.folder_of(workspace, item)
        # One that cannot be read may be what the archive is for.
        with suppress(OSError, StudioError), projects.open_project(folder) as project:
            yield _every_word(project.store.rows)


def _every_word(rows: Callable[..., Iterable[Any]]) -> Own:
    """What recordings are called, and everything that was said in them, as heard and as edited."""
    names = [row["name"] for row in rows("SELECT name FROM recordings")]
    texts = [row["text"] for row in rows("SELECT text FROM clips")]
    edits = (
        json.loads(row[at]) for row in rows("SELECT before, after FROM edits") for at in (0, 1)
    )
    texts += [values["text"] for values in edits]
    heard = (json.loads(row["words"]) for row in rows("SELECT words FROM stretches"))
    texts += [" ".join(word for word, *_ in words) for words in heard]
    return [*names, *(Path(name).stem for name in names)], texts


def _voices(workspace: Workspace) -> Iterator[Own]:
    for trashed in (False, True):
        for voice in library.listed(workspace, trashed=trashed):
            yield [voice.name, voice.consent.whose, *voice.tags], []


def _runs(workspace: Workspace) -> Iterator[Own]:
    for run in (*runs.all(workspace), *runs.all(workspace, trashed=True)):
        first = runs.read_plan(run.folder.plan_path)
        yield [run.plan.name, first.name, first.whose], list(first.sentences)


def _jobs(workspace: Workspace) -> Iterator[Own]:
    """What jobs are called after, be it a name that was changed since: "Train Anna"."""
    for job in queue.jobs(workspace):
        yield [job.request.title.partition(" ")[2]], []


def _spoken(workspace: Workspace) -> Iterator[str]:
    """What was spoken, and texts that were brought to be spoken or to recordings."""
    yield from (each.wish.text for each in spoken.all_of(workspace))
    for folder, names in (
        (spoken.folder_of(workspace), ("*.txt", "*/script.*")),
        (workspace.projects, ("*/texts/*/*",)),
    ):
        for path in (path for name in names for path in folder.glob(name)):
            with suppress(OSError):
                if path.suffix != ".json":  # ours
                    yield path.read_text(encoding="utf-8", errors="replace")
