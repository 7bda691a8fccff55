"""A finished voice of Pocket opened to speak: the same wherever it lies, at any pace."""

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

from engines.base import Sound, Speaking
from engines.errors import EngineError, SettingsError, TextError
from engines.pocket import ENGINE, saving, speaking
from engines.pocket.facts import CONFIG, RATE, WEIGHTS
from engines.pocket.settings import PocketSettings
from engines.pocket.speaking import Manner
from tests.conftest import ROOT
from tests.engines.pocket import small

TEXT = "The dark blue sheet."
SEEDS = (1, 2, 3)
# What happens in another place: other folders, another process. It has as many threads: sums are
# added up in another order where there are more.
ELSEWHERE = """
import sys
from pathlib import Path
import torch
from engines.pocket import ENGINE
from tests.engines.pocket.test_speaking import hashes
threads, *folders = sys.argv[1:]
torch.set_num_threads(int(threads))
print(*hashes(*(ENGINE.open_voice(Path(each)) for each in folders)))
"""


def reference(hertz=140):
    return Sound(small.hum(hertz, 2.0), RATE)


def hashes(*voices):
    """What each voice says with each seed, told apart by a few letters."""
    return [
        hashlib.sha256(voice.speak(TEXT, "en", reference(), seed).samples.tobytes()).hexdigest()[
            :16
        ]
        for voice in voices
        for seed in SEEDS
    ]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two voices that were taught nothing, each in another way."""
    aligner = {name: each.numpy() for name, each in small.aligner().state_dict().items()}
    made = [tmp_path_factory.mktemp("voice") for _ in range(2)]
    for seed, folder in enumerate(made):
        saving.save(small.network(seed), aligner, folder)
    return made


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
    assert told.stdout.split() == here and len(set(here)) == 6


def test_it_says_what_its_model_said_at_the_end_of_its_training(voices, folders):
    model = ENGINE.load(folders[0], PocketSettings())

    sound = voices[0].speak(TEXT, "en", reference(), 1)

    assert sound.rate == voices[0].sample_rate == RATE
    assert sound.samples.tobytes() == model.speak(TEXT, "en", reference(), 1).samples.tobytes()


def test_a_reference_is_listened_to_once_and_another_one_is_heard(folders, monkeypatch):
    asked = []
    listen = Manner.of
    monkeypatch.setattr(
        speaking.Manner, "of", staticmethod(lambda sound: asked.append(sound) or listen(sound))
    )
    voice = ENGINE.open_voice(folders[0])

    first, other, again = (
        voice.speak(TEXT, "en", reference(hertz), 1) for hertz in (140, 300, 140)
    )

    assert len(asked) == 2
    assert first.samples.tobytes() == again.samples.tobytes() != other.samples.tobytes()


def test_its_speed_is_what_is_chosen_and_usually_one(voices):
    usual, one, fast, slow = (
        voices[0].speak(TEXT, "en", reference(), 1, **each)
        for each in ({}, {"speed": 1.0}, {"speed": 2.0}, {"speed": 0.5})
    )

    assert usual.samples.tobytes() == one.samples.tobytes()
    # Each sound takes whole frames, at least one.
    assert fast.seconds < usual.seconds < slow.seconds
    assert slow.seconds == pytest.approx(2 * usual.seconds, rel=0.2)


@pytest.mark.parametrize(
    ("manner", "said"),
    [
        ({"speed": 2.1}, "speed is 2.1"),
        ({"speed": math.nan}, "speed is nan"),
        ({"temperature": 0.7}, "no temperature"),
    ],
)
def test_what_cannot_be_chosen_is_refused_in_words(voices, manner, said):
    with pytest.raises(SettingsError, match=said):
        voices[0].speak(TEXT, "en", reference(), 1, **manner)


def test_the_longest_text_it_names_is_spoken(voices):
    longest = voices[0].longest_text("en")
    text = ("The birch canoe slid on the smooth planks. " * 9)[:longest]

    sound = voices[0].speak(text, "en", reference(), 1)

    assert len(text) == longest and np.isfinite(sound.samples).all()


def test_a_text_without_a_word_is_refused(voices):
    with pytest.raises(TextError, match="nothing in"):
        voices[0].speak("…", "en", reference(), 1)


@pytest.mark.parametrize("what", ["weights", "config", "both", "pickle"])
def test_what_is_no_voice_is_refused_in_words(folders, tmp_path, what):
    folder = shutil.copytree(folders[0], tmp_path / "voice")
    if what in ("weights", "both"):
        (folder / WEIGHTS).unlink()
    if what in ("config", "both"):
        (folder / CONFIG).write_text(json.dumps({"v": 9}))
    if what == "pickle":
        (folder / WEIGHTS).write_bytes(b"\x80\x02}q\x00.")

    with pytest.raises(EngineError, match="The voice cannot be opened") as caught:
        ENGINE.open_voice(folder)

    assert "--base" not in str(caught.value.fix)
