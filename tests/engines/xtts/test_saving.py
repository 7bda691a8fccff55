"""A saved voice is weights and words that no program can hide in: what speaks, and no more."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from engines.xtts import ENGINE
from engines.xtts.adapters import merged_state
from engines.xtts.settings import XttsSettings

FILES = ("config.json", "model.safetensors", "speakers.json", "speakers.safetensors", "vocab.json")


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


def test_it_is_safetensors_and_json_and_has_nothing_that_only_trains(voice):
    assert sorted(path.name for path in voice.iterdir()) == sorted(FILES)
    for path in voice.glob("*.safetensors"):
        assert load_file(path)


def test_its_weights_have_the_names_of_a_base_and_its_other_files_are_the_bases(
    voice, xtts_converted
):
    saved, before = (load_file(each / "model.safetensors") for each in (voice, xtts_converted))

    assert saved.keys() == before.keys()
    assert all(saved[name].shape == before[name].shape for name in saved)
    for name in FILES:
        if name != "model.safetensors":
            assert (voice / name).read_bytes() == (xtts_converted / name).read_bytes()


def test_what_lora_has_learned_is_in_the_weights(voice, lora, xtts_converted):
    saved, before = (load_file(each / "model.safetensors") for each in (voice, xtts_converted))

    other = {name for name in saved if not torch.equal(saved[name], before[name])}

    assert other == {
        f"gpt.gpt.h.{block}.{part}.weight"
        for block in (0, 1)
        for part in ("attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj")
    }
    merged = merged_state(lora._xtts.gpt)
    assert all(torch.equal(saved[f"gpt.{name}"], value) for name, value in merged.items())


def test_saving_leaves_the_model_as_it_was_and_writes_the_same_again(lora, voice, tmp_path):
    before = {name: value.clone() for name, value in lora.network.state_dict().items()}

    lora.save(tmp_path)

    after = lora.network.state_dict()
    assert list(before) == list(after)
    assert all(torch.equal(value, after[name]) for name, value in before.items())
    for name in FILES:
        first, again = (
            hashlib.sha256((each / name).read_bytes()).digest() for each in (voice, tmp_path)
        )
        assert first == again, name
    shutil.rmtree(tmp_path)


def test_it_tells_nothing_of_the_computer_that_made_it(voice, xtts_converted):
    known = [str(xtts_converted), str(voice), str(Path.home()), "/home/", "/tmp", "/root"]

    for path in voice.iterdir():
        content = path.read_bytes()
        assert not [each for each in known if each.encode() in content], path.name


def test_a_saved_voice_can_be_a_base_again(voice, xtts_base, tmp_path):
    base = tmp_path / "base"
    shutil.copytree(voice, base)
    for name in ("dvae.pth", "mel_stats.pth"):
        (base / name).symlink_to(xtts_base / name)
    (tmp_path / "converted").mkdir()

    ENGINE.convert(base, tmp_path / "converted")

    assert ENGINE.load(tmp_path / "converted", XttsSettings()).blocks()
    shutil.rmtree(tmp_path)
