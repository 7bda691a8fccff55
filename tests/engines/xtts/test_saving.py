"""A saved voice speaks through coqui-tts alone, and tells nothing of where it was made."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest
import torch

from engines.xtts import ENGINE
from engines.xtts.adapters import merged_state
from engines.xtts.settings import XttsSettings

# What a person does who has coqui-tts and the folder, and nothing of Timbre.
ALONE = """
import importlib.util, json, sys
from pathlib import Path
import torch
assert importlib.util.find_spec("engines") is None and importlib.util.find_spec("voices") is None
from TTS.tts.configs.xtts_config import XttsConfig
from TTS.tts.models.xtts import Xtts
folder = Path(sys.argv[1])
config = XttsConfig()
config.load_json(str(folder / "config.json"))
model = Xtts.init_from_config(config)
model.load_checkpoint(config, checkpoint_dir=str(folder), eval=True, strict=True)
torch.manual_seed(0)
audio = 0.1 * torch.sin(torch.arange(22050 * 2) * 0.05 + torch.rand(1))[None]
latents = model.get_gpt_cond_latents(audio, 22050, length=6, chunk_length=6)
speaker = model.get_speaker_embedding(audio, 22050)
model.gpt.max_gen_mel_tokens = 20
wavs = [model.inference("rice.", "en", latents, speaker)["wav"]]
wavs.append(model.synthesize("rice.", speaker="Ben Beech", language="en")["wav"])
print(json.dumps({
    "speakers": model.speaker_manager.speaker_names,
    "wavs": [[len(w), float(abs(w).max()), bool(torch.tensor(w).isfinite().all())] for w in wavs],
    "rate": config.model_args.output_sample_rate,
}))
"""


@pytest.fixture(scope="module")
def lora(xtts_converted):
    """A model whose additions have learned something."""
    model = ENGINE.load(xtts_converted, XttsSettings(lora_rank=2))
    with torch.no_grad():
        for number, weight in enumerate(model.parameters("model")):
            weight += 0.01 * (number % 3 + 1)
    return model


@pytest.fixture(scope="module")
def voice(lora, tmp_path_factory):
    folder = tmp_path_factory.mktemp("voice")
    lora.save(folder)
    yield folder
    shutil.rmtree(folder)


def speaks_alone(voice, cwd):
    """Let coqui-tts load and speak with a folder in a process that cannot import Timbre."""
    told = subprocess.run(
        [sys.executable, "-I", "-c", ALONE, str(voice)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
    )
    assert told.returncode == 0, told.stderr[-2000:]
    answer = json.loads(told.stdout.splitlines()[-1])
    assert answer["speakers"] == ["Ada Ash", "Ben Beech"] and answer["rate"] == 24000
    for samples, loudest, finite in answer["wavs"]:
        assert samples > 5000 and loudest > 1e-3 and finite


def test_coqui_tts_alone_loads_it_strictly_and_speaks(voice, tmp_path):
    speaks_alone(voice, tmp_path)


def test_it_has_the_files_that_alltalk_looks_for_and_no_more(voice):
    assert sorted(path.name for path in voice.iterdir()) == [
        "config.json",
        "model.pth",
        "speakers_xtts.pth",
        "vocab.json",
    ]


def test_it_holds_what_speaks_and_nothing_of_the_training(voice, xtts_base):
    saved = torch.load(voice / "model.pth", weights_only=True)
    of_the_base = torch.load(xtts_base / "model.pth", weights_only=True)["model"]

    assert list(saved) == ["model"] and saved["model"].keys() == of_the_base.keys()
    assert all(type(value) is torch.Tensor for value in saved["model"].values())
    assert not any(value.requires_grad for value in saved["model"].values())


def test_what_lora_has_learned_is_in_the_weights(voice, lora, xtts_base):
    saved = torch.load(voice / "model.pth", weights_only=True)["model"]
    before = torch.load(xtts_base / "model.pth", weights_only=True)["model"]

    other = {name for name in saved if not torch.equal(saved[name], before[name])}

    assert other == {
        f"gpt.gpt.h.{block}.{part}.weight"
        for block in (0, 1)
        for part in ("attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj")
    }
    merged = merged_state(lora._xtts.gpt)
    assert all(torch.equal(saved[f"gpt.{name}"], value) for name, value in merged.items())


def test_saving_leaves_the_model_as_it_was(lora, tmp_path):
    before = {name: value.clone() for name, value in lora.network.state_dict().items()}

    lora.save(tmp_path)

    after = lora.network.state_dict()
    assert list(before) == list(after)
    assert all(torch.equal(value, after[name]) for name, value in before.items())
    shutil.rmtree(tmp_path)


def test_it_tells_nothing_of_the_computer_that_made_it(voice, xtts_converted):
    from pathlib import Path

    known = [str(xtts_converted), str(voice), str(Path.home()), "/home/", "/tmp", "/root"]

    for name in ("config.json", "vocab.json"):
        content = (voice / name).read_text(encoding="utf-8")
        assert not [each for each in known if each in content]


def test_a_saved_voice_can_be_a_base_again(voice, xtts_base, tmp_path):
    for name in ("dvae.pth", "mel_stats.pth"):
        (voice / name).symlink_to(xtts_base / name)

    try:
        ENGINE.convert(voice, tmp_path)
    finally:
        (voice / "dvae.pth").unlink(), (voice / "mel_stats.pth").unlink()

    assert ENGINE.load(tmp_path, XttsSettings()).blocks()
    shutil.rmtree(tmp_path)
