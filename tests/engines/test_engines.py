"""The interface of engines, gone through with the one that speaks silence."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

import engines
from engines.base import Clip, Engine, Item, Sound, Speaking, Trainable, chosen
from engines.errors import EngineError, SettingsError
from tests.silent import ENGINE


@pytest.fixture
def base(tmp_path):
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "silence.json").write_text('{"level": 0}')
    return tmp_path / "base"


def clip(seconds, text):
    samples = np.linspace(-1, 1, int(seconds * ENGINE.sample_rate), dtype=np.float32)
    return Clip(Sound(samples, ENGINE.sample_rate), text, "en")


def test_an_engine_is_found_by_its_name(monkeypatch):
    monkeypatch.setitem(engines.ENGINES, "silent", "tests.silent")

    assert engines.find("silent") is ENGINE


@pytest.mark.parametrize("name", ["xttz", "", "../silent", "os"])
def test_an_unknown_engine_is_never_another_one(monkeypatch, name):
    monkeypatch.setattr(engines, "ENGINES", {"silent": "tests.silent"})

    with pytest.raises(EngineError, match="no engine called") as caught:
        engines.find(name)

    assert caught.value.fix == "There is: silent."


def test_every_listed_engine_states_its_facts():
    for name in [*engines.ENGINES]:
        engine = engines.find(name)
        assert engine.name == name
        assert engine.bases and engine.languages and engine.sample_rate > 0
        assert 0 < engine.min_clip_seconds < engine.max_clip_seconds
        assert engine.base_files and engine.settings()
        assert {"learning_rate", "batch"} <= engine.advised.keys()
        assert engine.advised.keys() & {"epochs", "steps"}
        assert engine.own_form in ("", *engine.exports)


def test_what_is_no_base_is_refused_in_words(tmp_path):
    with pytest.raises(EngineError, match="is no silence") as caught:
        ENGINE.convert(tmp_path, tmp_path)

    assert caught.value.fix == "Choose a quieter base."


@pytest.fixture
def model(base, tmp_path):
    (tmp_path / "converted").mkdir()
    ENGINE.convert(base, tmp_path / "converted")
    return ENGINE.load(tmp_path / "converted", ENGINE.settings())


def items(model, clips):
    """Clips as the loop hands them to `batch`: as torch's tensors, each its own companion."""
    made = [
        {name: torch.from_numpy(value) for name, value in features.items()}
        for features in model.features(clips)
    ]
    return [Item(features, features, seed) for seed, features in enumerate(made)]


def test_the_whole_way_through_the_interface(model, tmp_path):
    engine: Engine = ENGINE
    heavy: Trainable = model
    assert engine.missing() == "" and engine.speaks("en") and not engine.speaks("xx")
    clips = [clip(1.0, "one"), clip(0.5, "two")]

    assert [heavy.problem(each) for each in [*clips, clip(1.0, " ")]] == ["", "", "It has no text."]
    batch = heavy.batch(items(heavy, clips))
    heavy.forget_features()
    optimizer = torch.optim.SGD(heavy.parameters(*heavy.turns), lr=0.5)
    heavy.network(batch, batch["targets"], *heavy.turns)["loss"].backward()
    optimizer.step()
    (tmp_path / "voice").mkdir()
    heavy.save(tmp_path / "voice")
    again = engine.load(tmp_path / "voice", engine.settings())
    spoken = again.speak("Fifteen letters", "en", clip(1.0, "").sound, seed=1)
    voice: Speaking = engine.open_voice(tmp_path / "voice")
    fast = voice.speak("Fifteen letters", "en", clip(1.0, "").sound, seed=1, speed=2)

    assert batch["loudness"].shape == (2, 16000) and batch["targets"] == {"samples": 24000}
    assert json.loads((tmp_path / "voice" / "silence.json").read_text())["level"] == pytest.approx(
        0.5, abs=0.01
    )
    assert spoken.seconds == 1.0 and not spoken.samples.any()
    assert fast.seconds == 0.5 and fast.rate == voice.sample_rate and voice.longest_text("en") > 0


def test_the_losses_of_a_step_add_up_however_it_is_cut(model):
    clips = [clip(1.0, "one"), clip(0.5, "two"), clip(0.2, "three")]

    whole = model.batch(items(model, clips))
    parts = [model.batch(items(model, [each])) for each in clips]

    in_one = model.network(whole, whole["targets"])["loss"].item()
    in_parts = [model.network(part, whole["targets"])["loss"].item() for part in parts]
    assert sum(in_parts) == pytest.approx(in_one) and in_one > 0


MANNERS = {"speed": (0.5, 1.0, 2.0), "top_k": (1, 50, 200)}


def test_what_was_not_chosen_is_as_usual():
    assert chosen(MANNERS, {}) == {"speed": 1.0, "top_k": 50}
    assert chosen(MANNERS, {"speed": 2}) == {"speed": 2, "top_k": 50}


@pytest.mark.parametrize(
    ("given", "what", "fix"),
    [
        ({"speed": 2.5}, "speed is 2.5", "from 0.5 to 2; usual is 1"),
        ({"speed": float("nan")}, "speed is nan", "from 0.5 to 2"),
        ({"pitch": 1}, "no pitch to choose", "speed, top_k"),
    ],
)
def test_what_cannot_be_chosen_is_refused_with_what_can(given, what, fix):
    with pytest.raises(SettingsError, match=what) as caught:
        chosen(MANNERS, given)

    assert fix in caught.value.fix
