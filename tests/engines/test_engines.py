"""The interface of engines, gone through with the one that speaks silence."""

from __future__ import annotations

import json

import numpy as np
import pytest

import engines
from engines.base import Clip, Engine, Sound
from engines.errors import EngineError
from tests.silent import ENGINE


@pytest.fixture
def base(tmp_path):
    (tmp_path / "silence.json").write_text('{"steps": 0}')
    return tmp_path


def clip(seconds, text):
    samples = np.linspace(-1, 1, int(seconds * ENGINE.sample_rate), dtype=np.float32)
    return Clip(Sound(samples, ENGINE.sample_rate), text, "en")


def test_an_engine_is_found_by_its_name(monkeypatch):
    monkeypatch.setitem(engines.ENGINES, "silent", "tests.silent")

    assert engines.find("silent") is ENGINE


@pytest.mark.parametrize("name", ["xttz", "", "../silent", "os"])
def test_an_unknown_engine_is_never_another_one(monkeypatch, name):
    monkeypatch.setitem(engines.ENGINES, "silent", "tests.silent")

    with pytest.raises(EngineError, match="no engine called") as caught:
        engines.find(name)

    assert caught.value.fix == "There is: silent."


def test_every_listed_engine_states_its_facts():
    for name in [*engines.ENGINES]:
        engine = engines.find(name)
        assert engine.name == name
        assert engine.bases and engine.languages and engine.sample_rate > 0


def test_the_whole_way_through_the_interface(base, tmp_path):
    engine: Engine = ENGINE
    assert engine.missing() == "" and engine.speaks("en") and not engine.speaks("xx")

    model = engine.load(base, device="cpu")
    features = [model.features(clip(1.0, "one")), model.features(clip(0.5, "two"))]
    batch = model.batch(features)
    for turn in model.turns:
        losses = model.losses(batch, turn)
        assert losses["loss"] >= 0 and list(model.parameters(turn))
    (tmp_path / "voice").mkdir()
    model.save(tmp_path / "voice")
    again = engine.load(tmp_path / "voice", device="cpu")
    spoken = again.speak("Fifteen letters", "en", clip(1.0, "").sound, seed=1)

    assert batch["samples"].shape == (2, 16000)
    assert json.loads((tmp_path / "voice" / "silence.json").read_text()) == {"steps": 1}
    assert spoken.seconds == 1.0 and not spoken.samples.any()
