"""A finished voice, taken out as the engine's own tools load it."""

from __future__ import annotations

import json
import logging
import re
import shutil
import subprocess
import sys
from pathlib import Path

import engines
from engines.base import Engine
from engines.errors import (
    DiskFullError,
    EngineError,
    NotFoundError,
    SettingsError,
    WorkspaceError,
)
from voices import files
from voices.library import ENGINE, FACTS, REFERENCE

# Where AllTalk looks for the clips that a voice is shown.
EXPORTED_REFERENCE = "wavs/reference.wav"
EXPORTED_FACTS = "timbre.json"
_ROOM_BESIDE_BYTES = 50_000_000

_log = logging.getLogger(__name__)


def export_voice(run_voice: Path, target: Path, form: str = "") -> None:
    """
    Write a voice out as its engine's own tools load it, or in another form that it can write.

    The folder appears when all of it is there. It must not exist, or be empty.
    """
    files.check_folder(run_voice)
    facts = json.loads((run_voice / FACTS).read_bytes())
    engine = engines.find(facts["engine"])
    module = _module_for(engine, form or engine.own_form)
    _check_target(target)
    _check_room(run_voice, target)
    with files.new_folder(target) as new:
        if module:
            _write_as(module, run_voice, facts["name"], new)
        else:
            _copy(run_voice, new)
        shutil.copyfile(run_voice / FACTS, new / EXPORTED_FACTS)
        if target.exists():
            target.rmdir()  # it is empty, or this raises
    # Other programs would wonder at it.
    (target / files.MANIFEST).unlink()


def _copy(run_voice: Path, new: Path) -> None:
    """The engine's folder as it is, and the reference in `wavs/`."""
    import soundfile  # here, because what only asks for runs hears nothing

    shutil.copytree(run_voice / ENGINE, new, dirs_exist_ok=True)
    wav = new / EXPORTED_REFERENCE
    wav.parent.mkdir(exist_ok=True)
    samples, rate = soundfile.read(run_voice / REFERENCE, dtype="int16")
    soundfile.write(wav, samples, rate, subtype="PCM_16")


def _module_for(engine: Engine, form: str) -> str:
    """What writes a form; "" for the folder as it is."""
    if not form:
        return ""
    if form in engine.exports:
        return engine.exports[form]
    known = ", ".join(sorted(engine.exports))
    raise SettingsError(
        f"A voice of {engine.title} cannot be written for {form}.",
        f"It can be written for: {known}."
        if known
        else "Leave it out: its own form is all it has.",
    )


def _write_as(module: str, run_voice: Path, name: str, new: Path) -> None:
    """Have it written by a process of its own, since that brings torch."""
    given = [str(run_voice / ENGINE), str(run_voice / REFERENCE), name, str(new)]
    done = subprocess.run(
        [sys.executable, "-m", module, *given],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        _log.error("%s failed:\n%s", module, done.stderr)
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        last = re.sub(r"^[\w.]+Error: ", "", last)  # the class is in the log
        raise EngineError(
            f"The voice could not be written ({last}).", "Train it again, or report this."
        )


def _check_target(target: Path) -> None:
    if not target.parent.is_dir():
        raise NotFoundError(f"There is no folder {target.parent}.", "Make it, or choose another.")
    is_empty = target.is_dir() and not any(target.iterdir())
    if target.exists() and not is_empty:
        raise WorkspaceError(
            f"{target.name} is there already and not empty.",
            "Choose another folder, or move it away first.",
        )


def _check_room(run_voice: Path, target: Path) -> None:
    need = _ROOM_BESIDE_BYTES + sum(each.size for each in files.read_manifest(run_voice).values())
    free = shutil.disk_usage(target.parent).free
    if free < need:
        raise DiskFullError(
            f"The voice needs about {need / 1e6:,.0f} MB, and {free / 1e6:,.0f} MB is free on the"
            f" disk that holds {target.parent}.",
            "Free some space, or choose another disk.",
        )
