"""
What a person does who has coqui-tts and a folder, and nothing of Timbre.

`python -I coqui_alone.py FOLDER`: load it strictly, speak twice, and say what came of it as JSON.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import torch
from TTS.tts.configs.xtts_config import XttsConfig
from TTS.tts.models.xtts import Xtts


def speak(folder: Path) -> dict:
    config = XttsConfig()
    config.load_json(str(folder / "config.json"))
    model = Xtts(config)
    model.load_checkpoint(config, checkpoint_dir=str(folder), eval=True, strict=True)
    torch.manual_seed(0)
    audio = 0.1 * torch.sin(torch.arange(22050 * 2) * 0.05 + torch.rand(1))[None]
    latents = model.get_gpt_cond_latents(audio, 22050, length=6, chunk_length=6)
    speaker = model.get_speaker_embedding(audio, 22050)
    model.gpt.max_gen_mel_tokens = 20
    wavs = [model.inference("rice.", "en", latents, speaker)["wav"]]
    wavs.append(model.synthesize("rice.", speaker="Ben Beech", language="en")["wav"])
    return {
        "speakers": model.speaker_manager.speaker_names,
        "wavs": [
            [len(w), float(abs(w).max()), bool(torch.tensor(w).isfinite().all())] for w in wavs
        ],
        "rate": config.model_args.output_sample_rate,
    }


def check(answer: dict) -> None:
    """What it must have said of any voice that was made here."""
    assert answer["speakers"] == ["Ada Ash", "Ben Beech"] and answer["rate"] == 24000
    for samples, loudest, finite in answer["wavs"]:
        assert samples > 5000 and loudest > 1e-3 and finite


if __name__ == "__main__":
    assert not importlib.util.find_spec("engines") and not importlib.util.find_spec("voices")
    sys.stdout.write(json.dumps(speak(Path(sys.argv[1]))))
