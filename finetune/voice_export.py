"""A finished voice, taken out as the engine's own tools load it."""

from __future__ import annotations

import json
import logging
import re
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import engines
from engines.base import Engine
from engines.errors import (
    DiskFullError,
    EngineError,
    NotFoundError,
    SettingsError,
    WorkspaceError,
)
from voices import apart, files
from voices.library import ENGINE, FACTS, REFERENCE

# Where AllTalk looks for the clips that a voice is shown.
EXPORTED_REFERENCE = "wavs/reference.wav"
EXPORTED_FACTS = "timbre.json"
_ROOM_BESIDE_BYTES = 50_000_000
_BLOCK = 1 << 20

_log = logging.getLogger(__name__)


def forms(engine: str) -> list[str]:
    """What a voice of an engine can be written for; "" is its folder as its own tools load it."""
    found = engines.find(engine)
    return [*([] if found.own_form else [""]), *sorted(found.exports)]


def form_of(engine: str, form: str) -> str:
    """The form that is meant, "" being the engine's own; raise SettingsError for one it has not."""
    found = engines.find(engine)
    _module_for(found, form or found.own_form)
    return form or found.own_form


def export_voice(
    run_voice: Path,
    target: Path,
    form: str = "",
    *,
    facts: Mapping[str, Any] | None = None,
    told: Callable[[int], None] = lambda written: None,
) -> None:
    """
    Write a voice out as its engine's own tools load it, or in another form that it can write.

    The folder appears when all of it is there. It must not exist, or be empty. `facts` stands in it
    instead of voice.json. `told` hears now and then how many bytes are written; what it raises ends
    the work.
    """
    files.check_folder(run_voice)
    known = facts or json.loads((run_voice / FACTS).read_bytes())
    engine = engines.find(known["engine"])
    module = _module_for(engine, form or engine.own_form)
    _check_target(target)
    _check_room(run_voice, target)
    with files.new_folder(target) as new:
        written = partial(_tell_size, new, told)
        if module:
            _write_as(module, run_voice, known["name"], new, written)
        else:
            _copy(run_voice, new, written)
        files.write_json(new / EXPORTED_FACTS, known)
        if target.exists():
            target.rmdir()  # it is empty, or this raises
    # Other programs would wonder at it.
    (target / files.MANIFEST).unlink()


def _tell_size(folder: Path, told: Callable[[int], None]) -> None:
    told(sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()))


def _copy(run_voice: Path, new: Path, written: Callable[[], None]) -> None:
    """The engine's folder as it is, and the reference in `wavs/`."""
    import soundfile  # here, because what only asks for runs hears nothing

    for source in sorted((run_voice / ENGINE).rglob("*")):
        target = new / source.relative_to(run_voice / ENGINE)
        if source.is_dir():
            target.mkdir(exist_ok=True)
        else:
            _copy_file(source, target, written)
    wav = new / EXPORTED_REFERENCE
    wav.parent.mkdir(exist_ok=True)
    samples, rate = soundfile.read(run_voice / REFERENCE, dtype="int16")
    soundfile.write(wav, samples, rate, subtype="PCM_16")


def _copy_file(source: Path, target: Path, written: Callable[[], None]) -> None:
    with source.open("rb") as held, target.open("xb") as file:
        while block := held.read(_BLOCK):
            file.write(block)
            written()


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


def _write_as(
    module: str, run_voice: Path, name: str, new: Path, written: Callable[[], None]
) -> None:
    """Have it written by a process of its own, since that brings torch."""
    given = [str(run_voice / ENGINE), str(run_voice / REFERENCE), name, str(new)]
    done = apart.run(module, given, written)
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
