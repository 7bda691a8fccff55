"""Pocket through the interface that every engine has: the contract of engines/base.py."""

from __future__ import annotations

import json
import subprocess

import numpy as np
import pytest
import torch

import engines
from engines.base import Clip, Engine, Item, Sound
from engines.errors import EngineError, TextError
from engines.pocket import ENGINE, saving
from engines.pocket.facts import CONFIG, HOP, PAUSE, PHONES, RATE, WEIGHTS
from engines.pocket.settings import PocketSettings
from tests import speech
from tests.engines.pocket import small
from voices import shipped

FACTS = """
import time
begun = time.process_time()
import sys, engines
engine = engines.find("pocket")
engine.missing(), engine.speaks("en"), engine.settings(), engine.bases, engine.advised
assert time.process_time() - begun < 1, time.process_time() - begun
print({"torch", "scipy", "transformers"} & sys.modules.keys())
"""


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A small base that was taught nothing."""
    folder = tmp_path_factory.mktemp("base")
    aligner = {name: each.numpy() for name, each in small.aligner().state_dict().items()}
    saving.save(small.network(), aligner, folder)
    return folder


@pytest.fixture
def model(base):
    return ENGINE.load(base, PocketSettings())


def said(text="the dark blue sheet", voice="slt"):
    """A sentence as a clip."""
    samples, _ = speech.speak(text, voice)
    return Clip(Sound(np.asarray(samples, np.float32), speech.RATE), text, "en")


def items(model, clips):
    made = [
        {name: torch.from_numpy(value) for name, value in features.items()}
        for features in model.features(clips)
    ]
    return [Item(each, made[-1], seed) for seed, each in enumerate(made)]


def test_its_facts_come_without_torch(python):
    told = subprocess.run([python, "-c", FACTS], capture_output=True, text=True, check=False)

    assert told.stdout.strip() == "set()", told.stderr


def test_it_is_in_the_table_and_speaks_english():
    engine: Engine = engines.find("pocket")

    assert engine.speaks("en") and not engine.speaks("de") and not engine.speaks("")
    assert engine.bases[0].shipped and engine.missing() == ""


def test_its_base_ships_and_is_small():
    folder = shipped.base("pocket", "english")

    found = ENGINE.base_in(folder)

    assert {path.name for path in found} == {WEIGHTS, CONFIG}
    assert sum(path.stat().st_size for path in found) < 16_000_000


# ---- Bases and voices ----


def test_a_voice_is_written_and_loaded_as_a_base_is(model, tmp_path):
    for place in ("first", "second"):
        (tmp_path / place).mkdir()
    model.save(tmp_path / "first")

    again = ENGINE.load(tmp_path / "first", PocketSettings())
    again.save(tmp_path / "second")

    assert {each.name for each in (tmp_path / "first").iterdir()} == {WEIGHTS, CONFIG}
    first, second = ((tmp_path / place / WEIGHTS).read_bytes() for place in ("first", "second"))
    assert first == second
    spoken = [each.speak("Blue sheet.", "en", said().sound, 1).samples for each in (model, again)]
    assert np.abs(spoken[0] - spoken[1]).max() < 0.02


def test_what_is_written_can_be_converted(base, tmp_path):
    ENGINE.convert(base, tmp_path)

    assert (tmp_path / WEIGHTS).read_bytes() == (base / WEIGHTS).read_bytes()


def _broken(folder, base, what):
    weights, config = (base / WEIGHTS).read_bytes(), json.loads((base / CONFIG).read_text())
    if what == "cut":
        weights = weights[:-100]
    if what == "no weights":
        weights = b"PK\x03\x04" + weights
    if what == "newer":
        config["v"] = 2
    if what == "huge":
        config["shape"]["text"] = 10**9
    if what == "other":
        config["shape"]["text"] = 17
    if what == "no shape":
        config = ["shape"]
    (folder / WEIGHTS).write_bytes(weights)
    (folder / CONFIG).write_text(json.dumps(config))


@pytest.mark.parametrize("what", ["cut", "no weights", "newer", "huge", "other", "no shape"])
def test_what_is_no_base_is_refused_in_words(base, tmp_path, what):
    _broken(tmp_path, base, what)

    with pytest.raises(EngineError, match="is no base of Pocket") as caught:
        ENGINE.load(tmp_path, PocketSettings())

    assert "Leave --base out" in caught.value.fix


def test_a_folder_that_lacks_a_file_is_no_base(tmp_path):
    (tmp_path / WEIGHTS).write_bytes(b"")

    with pytest.raises(EngineError, match=CONFIG):
        ENGINE.base_in(tmp_path)


# ---- What it learns of a clip ----


def test_a_clip_becomes_sounds_that_fill_its_frames(model):
    clip = said()

    [found] = model.features([clip])

    frames = len(found["mels"])
    assert found["durations"].sum() == frames == len(found["pitch"]) == len(found["voiced"])
    assert len(found["samples"]) == frames * HOP and model.length(found) == frames
    assert frames * HOP / RATE == pytest.approx(clip.sound.seconds, abs=0.2)
    names = [PHONES[number] for number in found["rows"][:, 0]]
    spoken = [name for name in names if name != PAUSE]
    assert " ".join(spoken) == "dh ax d aa r k b l uw sh iy t"
    assert found["durations"].min() >= 1


@pytest.mark.parametrize(
    ("text", "seconds", "why"),
    [
        ("你好", 1.0, "nothing"),
        ("...", 1.0, "nothing"),
        ("This is a very long sentence for so short a moment.", 0.6, "too short"),
    ],
)
def test_what_cannot_be_learned_from_is_said(model, text, seconds, why):
    samples = np.random.default_rng(0).normal(0, 0.1, int(RATE * seconds)).astype(np.float32)

    assert why in model.problem(Clip(Sound(samples, RATE), text, "en"))


def test_a_good_clip_has_no_problem(model):
    assert model.problem(said()) == ""


def test_features_of_the_same_clip_are_the_same_in_any_company(model):
    clips = [said(), said("the round bowls", "awb")]

    alone = [model.features([each])[0] for each in clips]
    together = model.features(clips)

    for one, other in zip(alone, together, strict=True):
        assert all(np.array_equal(one[name], other[name]) for name in one)


def test_the_losses_of_a_step_add_up_however_it_is_cut(model):
    made = items(model, [said(), said("the round bowls", "awb"), said("glue the planks", "rms")])

    whole = model.batch(made)
    parts = [model.batch(made[:1]), model.batch(made[1:])]

    def losses(batch):
        found = model.network(batch, whole["targets"], "model")
        return {name: float(value.detach()) for name, value in found.items()}

    in_one, in_parts = losses(whole), [losses(part) for part in parts]
    for name, value in in_one.items():
        assert sum(part[name] for part in in_parts) == pytest.approx(value, rel=1e-4), name
    assert in_one["loss"] > 0 and in_one["sound"] > 0


def test_every_weight_learns(model):
    batch = model.batch(items(model, [said(), said("the round bowls", "awb")]))
    model.network.train()

    model.network(batch, batch["targets"], "model")["loss"].backward()

    still = [name for name, each in model.network.named_parameters() if not each.grad.any()]
    unused = {"acoustic.phone.weight"}  # tables are used in part; no whole net may be left out
    assert set(still) <= unused


# ---- Speaking ----


def test_the_same_seed_says_it_the_same_way(model):
    reference = said().sound

    one, same, other = (
        model.speak("Blue sheet.", "en", reference, seed).samples for seed in (1, 1, 2)
    )

    assert np.array_equal(one, same) and not np.array_equal(one, other)
    assert len(one) == len(other)  # its breath is another, not its pace


def test_speaking_in_a_training_changes_nothing_of_it(model):
    model.network.train()
    before = torch.random.get_rng_state()

    first = model.speak("Blue sheet.", "en", said().sound, 1).samples
    second = model.speak("Blue sheet.", "en", said().sound, 1).samples

    assert np.array_equal(first, second) and model.network.training
    assert torch.equal(before, torch.random.get_rng_state())


@pytest.mark.parametrize("text", ["", "…", "你好", "🙂"])
def test_what_cannot_be_spoken_is_refused(model, text):
    with pytest.raises(TextError, match="nothing in"):
        model.speak(text, "en", said().sound, 1)


@pytest.mark.parametrize(
    "samples", [np.zeros(8000), np.full(8000, np.nan), np.zeros(10), np.ones(4000)]
)
def test_any_reference_gives_a_finite_sound(model, samples):
    spoken = model.speak("Blue sheet.", "en", Sound(samples.astype(np.float32), RATE), 1)

    assert np.isfinite(spoken.samples).all() and np.abs(spoken.samples).max() <= 1
