"""A voice written for coqui-tts speaks through it alone, and tells nothing of where it was made."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch
from safetensors.torch import load_file, save_file

from engines.xtts import ENGINE
from engines.xtts.settings import XttsSettings
from tests.conftest import ROOT
from tests.engines.xtts.tiny import hum

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


def written(voice, folder):
    """What comes of `runs export`: the module in a process of its own."""
    reference = folder.parent / f"{folder.name}.flac"
    soundfile.write(reference, hum(1).samples, 22050)
    folder.mkdir()
    given = [str(voice), str(reference), "Ada", str(folder)]
    return subprocess.run(
        [sys.executable, "-m", ENGINE.exports[ENGINE.own_form], *given],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )


@pytest.fixture(scope="module")
def voice(xtts_converted, tmp_path_factory):
    """A finished voice as Timbre keeps it."""
    folder = tmp_path_factory.mktemp("voice")
    ENGINE.load(xtts_converted, XttsSettings()).save(folder)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def exported(voice, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported") / "ada"
    done = written(voice, folder)
    assert done.returncode == 0, done.stderr[-2000:]
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


def test_coqui_tts_alone_loads_it_strictly_and_speaks(exported, tmp_path):
    speaks_alone(exported, tmp_path)


def test_it_has_the_files_that_alltalk_looks_for_and_no_more(exported):
    found = {path.relative_to(exported).as_posix() for path in exported.rglob("*")}

    assert found == {
        *("config.json", "model.pth", "speakers_xtts.pth", "vocab.json"),
        *("wavs", "wavs/reference.wav"),
    }
    wav, rate = soundfile.read(exported / "wavs" / "reference.wav")
    assert rate == 22050 and np.abs(wav - hum(1).samples).max() < 1e-3


def test_it_holds_the_weights_of_the_voice_and_nothing_else(exported, voice, xtts_base):
    written = torch.load(exported / "model.pth", weights_only=True)
    of_the_voice = load_file(voice / "model.safetensors")
    of_the_base = torch.load(xtts_base / "model.pth", weights_only=True)["model"]

    assert list(written) == ["model"]
    assert written["model"].keys() == of_the_voice.keys() == of_the_base.keys()
    assert all(type(value) is torch.Tensor for value in written["model"].values())
    assert not any(value.requires_grad for value in written["model"].values())
    for name, value in of_the_voice.items():
        assert torch.equal(written["model"][name], value), name


def test_it_tells_nothing_of_the_computer_that_made_it(exported, voice, xtts_converted):
    known = [str(xtts_converted), str(voice), str(exported), str(Path.home())]
    known += ["/home/", "/tmp", "/root"]

    for path in exported.rglob("*.*"):
        content = path.read_bytes()
        assert not [each for each in known if each.encode() in content], path.name


def test_it_can_be_a_base_again(exported, xtts_base, tmp_path):
    base = tmp_path / "base"
    shutil.copytree(exported, base)
    for name in ("dvae.pth", "mel_stats.pth"):
        (base / name).symlink_to(xtts_base / name)
    (tmp_path / "converted").mkdir()

    ENGINE.convert(base, tmp_path / "converted")

    assert ENGINE.load(tmp_path / "converted", XttsSettings()).blocks()
    shutil.rmtree(tmp_path)


def test_what_coqui_tts_would_not_load_is_not_written(voice, tmp_path):
    broken = tmp_path / "broken"
    shutil.copytree(voice, broken)
    weights = load_file(broken / "model.safetensors")
    del weights["gpt.final_norm.weight"]
    save_file(weights, broken / "model.safetensors")

    done = written(broken, tmp_path / "out")

    assert done.returncode and "The voice cannot be opened." in done.stderr.splitlines()[-1]
    assert list((tmp_path / "out").iterdir()) == []
    shutil.rmtree(broken)
