"""A finished voice, taken out as the engine's own tools load it."""

from __future__ import annotations

import shutil
from pathlib import Path

from engines.errors import DiskFullError, NotFoundError, WorkspaceError
from voices import files

ENGINE, REFERENCE, SAMPLE, FACTS = "engine", "reference.flac", "sample.flac", "voice.json"
# Where AllTalk looks for the clips that a voice is shown.
EXPORTED_REFERENCE = "wavs/reference.wav"
EXPORTED_FACTS = "timbre.json"
_ROOM_BESIDE_BYTES = 50_000_000


def export_voice(run_voice: Path, target: Path) -> None:
    """
    Copy a voice out, as Coqui's tools and AllTalk load it: weights, and its reference in `wavs/`.

    The folder appears when all of it is there. It must not exist, or be empty.
    """
    import soundfile  # here, because what only asks for runs hears nothing

    files.check_folder(run_voice)
    _check_target(target)
    _check_room(run_voice, target)
    with files.new_folder(target) as new:
        shutil.copytree(run_voice / ENGINE, new, dirs_exist_ok=True)
        wav = new / EXPORTED_REFERENCE
        wav.parent.mkdir(exist_ok=True)
        samples, rate = soundfile.read(run_voice / REFERENCE, dtype="int16")
        soundfile.write(wav, samples, rate, subtype="PCM_16")
        shutil.copyfile(run_voice / FACTS, new / EXPORTED_FACTS)
        if target.exists():
            target.rmdir()  # it is empty, or this raises
    # Other programs would wonder at it.
    (target / files.MANIFEST).unlink()


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
