"""A finished voice opened to speak: the same wherever it lies, and nothing in it is executed."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import subprocess
import sys

import numpy as np
import pytest
import torch

from engines.base import Speaking
from engines.errors import EngineError, SettingsError
from engines.xtts import ENGINE, speaking
from engines.xtts.settings import XttsSettings
from tests.conftest import ROOT
from tests.engines.xtts.tiny import hum

TEXT = "Rice."
SEEDS = (5, 6)
# What happens in another place: other folders, another process. It has as many threads: sums are
# added up in another order where there are more.
ELSEWHERE = """
import sys
from pathlib import Path
import torch
from engines.xtts import ENGINE
from tests.engines.xtts.test_voice import hashes
threads, *folders = sys.argv[1:]
torch.set_num_threads(int(threads))
print(*hashes(*(ENGINE.open_voice(Path(each)) for each in folders)))
"""


def hashes(*voices):
    """What each voice says with each seed, told apart by a few letters."""
    return [
        hashlib.sha256(voice.speak(TEXT, "en", hum(4), seed).samples.tobytes()).hexdigest()[:16]
        for voice in voices
        for seed in SEEDS
    ]


@pytest.fixture(scope="module")
def models(xtts_converted):
    """Two that have learned something else."""
    made = [ENGINE.load(xtts_converted, XttsSettings()) for _ in range(2)]
    with torch.no_grad():
        for weight in made[1].parameters("model"):
            weight += 0.05 * torch.sin(torch.arange(weight.numel())).view(weight.shape)
    return made


@pytest.fixture(scope="module")
def folders(models, tmp_path_factory):
    made = [tmp_path_factory.mktemp("voice") for _ in models]
    for model, folder in zip(models, made, strict=True):
        model.save(folder)
    yield made
    for folder in made:
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def voices(folders) -> list[Speaking]:
    return [ENGINE.open_voice(folder) for folder in folders]


def test_two_voices_say_the_same_elsewhere_hash_for_hash(voices, folders, tmp_path):
    here = hashes(*voices)
    copies = [shutil.copytree(each, tmp_path / f"elsewhere {n}") for n, each in enumerate(folders)]

    told = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, str(torch.get_num_threads()), *map(str, copies)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )

    assert told.returncode == 0, told.stderr[-2000:]
    assert told.stdout.split() == here and len(set(here)) == 4
    shutil.rmtree(tmp_path)


def test_it_says_what_its_model_said_at_the_end_of_its_training(voices, models):
    for voice, model in zip(voices, models, strict=True):
        sound = voice.speak(TEXT, "en", hum(4), 5)

        assert sound.samples.tobytes() == model.speak(TEXT, "en", hum(4), 5).samples.tobytes()
        assert sound.rate == voice.sample_rate == 24000
        assert np.abs(sound.samples).max() > 1e-3


def test_a_reference_is_listened_to_once_and_another_one_is_heard(folders, monkeypatch):
    asked = []
    listen = speaking.listen
    monkeypatch.setattr(
        speaking, "listen", lambda xtts, sound: asked.append(sound) or listen(xtts, sound)
    )
    voice = ENGINE.open_voice(folders[0])

    first, other, again = (
        voice.speak(TEXT, "en", hum(4, pitch=pitch), 5) for pitch in (140, 300, 140)
    )

    assert len(asked) == 2
    assert first.samples.tobytes() == again.samples.tobytes() != other.samples.tobytes()


def test_its_manners_are_usually_what_its_config_says(voices):
    manners = voices[0].manners

    assert {name: usual for name, (_, usual, _) in manners.items()} == {
        **{"temperature": 0.75, "repetition_penalty": 5.0, "top_k": 50, "top_p": 0.85},
        "speed": 1.0,
    }
    assert all(low <= usual <= high for low, usual, high in manners.values())
    usual = {name: usual for name, (_, usual, _) in manners.items()}
    said = [voices[0].speak(TEXT, "en", hum(4), 5, **each) for each in ({}, usual)]
    assert said[0].samples.tobytes() == said[1].samples.tobytes()


@pytest.mark.parametrize(
    ("before", "manner"),
    [
        ({}, {"temperature": 1.4}),
        ({}, {"top_k": 3}),
        ({}, {"top_p": 0.2}),
        # Weights that have learned nothing repeat themselves only when nothing is left to chance.
        ({"top_k": 1}, {"repetition_penalty": 1.0}),
    ],
)
def test_each_manner_is_heard(voices, before, manner):
    usual, other = (
        voices[0].speak(TEXT, "en", hum(4), 5, **each) for each in (before, {**before, **manner})
    )

    assert usual.samples.tobytes() != other.samples.tobytes()


def test_twice_as_fast_takes_half_the_time(voices):
    usual, fast, slow = (
        voices[0].speak(TEXT, "en", hum(4), 5, speed=speed).seconds for speed in (1, 2, 0.5)
    )

    assert fast == pytest.approx(usual / 2, abs=0.05)
    assert slow == pytest.approx(usual * 2, abs=0.05)


@pytest.mark.parametrize(
    ("manner", "said"),
    [
        ({"length_penalty": 1.0}, "no length_penalty"),
        ({"temperature": 0.0}, "temperature is 0"),
        ({"speed": math.nan}, "speed is nan"),
        ({"top_k": 10**6}, "top_k is 1e"),
    ],
)
def test_a_manner_beyond_its_limits_is_refused_in_words(voices, manner, said):
    with pytest.raises(SettingsError, match=said):
        voices[0].speak(TEXT, "en", hum(4), 5, **manner)


def test_it_tells_how_long_a_text_of_a_language_may_be(voices):
    lengths = [voices[0].longest_text(each) for each in ("en", "zh-cn", "zh", "ja", "tlh")]

    assert lengths == [250, 82, 82, 71, 71]


# ---- What is no voice ----


def _older(voice):
    (voice / "model.safetensors").unlink()
    torch.save({"model": {}}, voice / "model.pth")


def _pickled(voice):
    (voice / "model.safetensors").unlink()
    torch.save({"model": {}}, voice / "model.safetensors")


def _cut(voice):
    content = (voice / "model.safetensors").read_bytes()
    (voice / "model.safetensors").unlink()
    (voice / "model.safetensors").write_bytes(content[:-4000])


def _config(**other):
    def change(voice):
        config = json.loads((voice / "config.json").read_text())
        (voice / "config.json").unlink()
        (voice / "config.json").write_text(json.dumps({**config, **other}))

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_older, r"older form \(model.pth\).*Train on"),
        (_pickled, "model.safetensors cannot be loaded"),
        (_cut, "model.safetensors cannot be loaded"),
        (lambda voice: (voice / "model.safetensors").unlink(), "cannot be loaded"),
        (lambda voice: (voice / "config.json").unlink(), "config.json"),
        (lambda voice: (voice / "vocab.json").unlink(), "vocab.json"),
        (_config(model="vits"), "not that of an XTTS"),
        (_config(temperature=math.inf), "temperature"),
        (_config(model_args={"gpt_layers": 10**9}), "gpt_layers"),
    ],
)
def test_what_is_no_voice_is_refused_in_words(folders, tmp_path, change, said):
    for path in folders[0].iterdir():
        (tmp_path / path.name).symlink_to(path)
    change(tmp_path)

    with pytest.raises(EngineError, match=said) as caught:
        ENGINE.open_voice(tmp_path)

    assert "base" not in caught.value.fix


def test_what_a_voice_does_unless_told_otherwise_can_always_be_chosen(folders, tmp_path):
    for path in folders[0].iterdir():
        (tmp_path / path.name).symlink_to(path)
    _config(temperature=1.9, top_k=0)(tmp_path)

    voice = ENGINE.open_voice(tmp_path)

    assert voice.manners["temperature"] == (0.05, 1.9, 1.9)
    assert voice.manners["top_k"] == (0, 0, 200)
    assert voice.speak(TEXT, "en", hum(4), 5, temperature=1.9, top_k=0).seconds > 0.2


def test_what_a_stranger_wrote_into_its_config_is_not_asked(folders, voices, tmp_path):
    for path in folders[0].iterdir():
        (tmp_path / path.name).symlink_to(path)
    _config(speakers_file="/etc/passwd", nonsense={"a": 1}, model_dir="x")(tmp_path)

    voice = ENGINE.open_voice(tmp_path)

    assert hashes(voice) == hashes(voices[0])
