"""A finished voice that really speaks, without a training: the base that ships, like the demo."""

from __future__ import annotations

import shutil
from pathlib import Path

import soundfile

from voices import files, shipped

_REFERENCE_S = 6


def voice(folder: Path, name: str = "Ada", **facts: object) -> Path:
    """Write the folder that a run leaves."""
    with files.new_folder(folder) as new:
        shutil.copytree(shipped.base("pocket", "english"), new / "engine")
        with soundfile.SoundFile(shipped.demo().recording) as demo:
            samples = demo.read(_REFERENCE_S * demo.samplerate, dtype="float32")
            soundfile.write(new / "reference.flac", samples, demo.samplerate)
        known = {"name": name, "engine": "pocket", "language": "en", **facts}
        files.write_json(new / "voice.json", {"v": 1, **known})
    return folder
