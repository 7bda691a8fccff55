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

from engines.errors import EngineError
from engines.xtts import ENGINE, coqui
from engines.xtts.settings import XttsSettings
from tests.conftest import ROOT
from tests.engines.xtts import coqui_alone
from tests.engines.xtts.tiny import hum


@pytest.fixture(scope="module")
def voice(xtts_converted, tmp_path_factory):
    """A finished voice as Timbre keeps it."""
    folder = tmp_path_factory.mktemp("voice")
    ENGINE.load(xtts_converted, XttsSettings()).save(folder)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def exported(voice, tmp_path_factory):
    """What comes of `runs export`: the module in a process of its own."""
    folder = tmp_path_factory.mktemp("exported") / "ada"
    folder.mkdir()
    reference = folder.parent / "ada.flac"
    soundfile.write(reference, hum(1).samples, 22050)
    given = [str(voice), str(reference), "Ada", str(folder)]
    done = subprocess.run(
        [sys.executable, "-m", ENGINE.exports[ENGINE.own_form], *given],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    yield folder
    shutil.rmtree(folder)


def test_coqui_tts_alone_loads_it_strictly_and_speaks(exported, tmp_path):
    told = subprocess.run(
        [sys.executable, "-I", coqui_alone.__file__, str(exported)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )

    assert told.returncode == 0, told.stderr[-2000:]
    coqui_alone.check(json.loads(told.stdout.splitlines()[-1]))


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

    (tmp_path / "out").mkdir()

    with pytest.raises(EngineError, match=r"The voice cannot be opened\."):
        coqui.export(broken, tmp_path / "reference.flac", tmp_path / "out")

    assert list((tmp_path / "out").iterdir()) == []
    shutil.rmtree(broken)
