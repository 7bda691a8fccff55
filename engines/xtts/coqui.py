"""Writes a voice of XTTS as coqui-tts and AllTalk load one: a folder with their own files."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import soundfile
import torch
from TTS.tts.configs.xtts_config import XttsArgs, XttsAudioConfig, XttsConfig

from engines.xtts import facts, loading, voice

# Where AllTalk looks for the clips that a voice is shown.
_REFERENCE = "wavs/reference.wav"


def export(engine: Path, reference: Path, folder: Path) -> None:
    """
    Write a voice into a folder that exists; what coqui-tts would not load raises EngineError.

    Its programs know only torch.save's files. They are written here and never read again.
    """
    xtts = voice.load(engine)
    torch.save({"model": dict(xtts.state_dict())}, folder / "model.pth")
    public_config(xtts.config).save_json(str(folder / "config.json"))
    shutil.copyfile(engine / "vocab.json", folder / "vocab.json")
    torch.save(loading.speakers(engine), folder / "speakers_xtts.pth")
    _write_wav(reference, folder / _REFERENCE)


def public_config(config: XttsConfig) -> XttsConfig:
    """Make the config anew from what was read, so that nothing of this computer is in it."""
    return XttsConfig(
        model_args=XttsArgs(**{name: config.model_args[name] for name in facts.MODEL_ARGS}),
        audio=XttsAudioConfig(**{name: config.audio[name] for name in facts.AUDIO}),
        languages=list(config.languages),
        **{name: config[name] for name in facts.SPOKEN},
    )


def _write_wav(reference: Path, wav: Path) -> None:
    wav.parent.mkdir()
    samples, rate = soundfile.read(reference, dtype="int16")
    soundfile.write(wav, samples, rate, subtype="PCM_16")


# ---- As a process of its own ----


def main(engine: Path, reference: Path, name: str, folder: Path) -> None:
    """Write a voice that lies in a folder; coqui-tts goes by the folder and asks for no name."""
    export(engine, reference, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4]))
