"""The way a newcomer goes: a name, and nothing else, becomes a voice that speaks. No network."""

from __future__ import annotations

import json

import numpy as np
import pytest
import soundfile

from engines.base import Sound
from engines.errors import NotFoundError, SettingsError
from engines.pocket import ENGINE
from engines.pocket.settings import PocketSettings
from finetune.listening.voiceprint import VoicePrints
from finetune.runs import RunFolder
from tests.app.test_data_commands import facts, run
from voices import shipped

SENTENCE = "Would you like a cup of tea by the window?"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A short training on the demo, with no network; the real one takes ten times the steps."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIMBRE_OFFLINE", "1")
        answer = facts(home, "make", "Demo", "--epochs", 8)
    return home, answer


def folder_of(home, answer):
    return RunFolder(home / "runs" / answer["run"]["id"])


def test_a_name_alone_becomes_a_voice_that_speaks_like_the_demo(made):
    home, answer = made
    voice = folder_of(home, answer).voice

    model = ENGINE.load(voice / "engine", PocketSettings())
    samples, rate = soundfile.read(voice / "reference.flac", dtype="float32")
    spoken = model.speak(SENTENCE, "en", Sound(samples, rate), 1)

    assert answer["cause"] == "finished" and answer["run"]["state"] == "finished"
    assert answer["run"]["plan"]["engine"] == "pocket"
    assert 1.5 < spoken.seconds < 5
    prints = VoicePrints()
    like = float(prints.of(spoken.samples, spoken.rate) @ prints.of(samples, rate))
    assert like > 0.75  # another person's voice is below


def test_what_a_training_would_take_is_told_beforehand(made):
    home, _ = made

    told = facts(home, "plan", "--project", "Demo", "--effective-batch", 12)

    chosen = told["chosen"]
    assert not told["estimate"] and told["fits"]
    assert chosen["micro_batch"] * chosen["accumulation"] >= told["batch"] == 12
    assert chosen["taken_mb"] <= told["room"]["budget_mb"]
    assert set(chosen["peaks_mb"]) == {
        *("model first", "model more", "model change", "speaking")
    } - ({"model more"} if chosen["accumulation"] == 1 else set())
    assert told["seconds"] == pytest.approx(told["steps"] * 12 / chosen["clips_per_second"])
    assert [each["rule"] for each in told["rates"]] == ["square root", "linear"]
    assert any("clips at once" in each for each in told["reasons"])


def test_an_older_card_that_is_not_at_hand_is_estimated_and_said_to_be(made):
    home, _ = made

    told = facts(
        *(home, "plan", "--project", "Demo", "--engine", "pocket", "--gpu-gib", 2),
        *("--compute-capability", "7.5", "--recompute", "no"),
    )

    assert told["estimate"] and told["chosen"]["precision"] == "fp16"
    assert told["chosen"]["clips_per_second"] is None and told["seconds"] is None
    assert told["room"]["total_mb"] == pytest.approx(2 * 2**30 / 1e6, abs=0.1)
    assert not told["alternatives"]


def test_the_same_training_is_searched_for_by_trying(made):
    home, _ = made

    told = facts(
        *(home, "plan", "--project", "Demo", "--engine", "pocket", "--batch", 4),
        *("--recompute", "no", "--search"),
    )

    assert told["probes"] <= 8 and told["chosen"]["micro_batch"] == 4


@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        (("--search", "--gpu-gib", 8), "--search tries on this computer"),
        (("--gpu-gib", 8, "--compute-capability", "new"), "no compute capability"),
    ],
)
def test_what_cannot_be_planned_is_refused_in_a_sentence(made, typed, reason):
    home, _ = made

    with pytest.raises(SettingsError, match=reason):
        run(home, "plan", "--project", "Demo", "--engine", "pocket", *typed)


def test_the_words_of_the_demo_are_those_of_its_script(made):
    home, _ = made

    said = facts(home, "clips", "list", "--project", "Demo")

    text = " ".join(each["text"] for each in sorted(said, key=lambda each: each["start"]))
    script = " ".join(shipped.demo().script.read_text(encoding="utf-8").split())
    assert text.split() == script.split()


def test_it_is_written_for_piper(made, tmp_path):
    home, _ = made

    done = run(home, "runs", "export", "Demo", tmp_path / "piper", "--for", "piper")

    assert done.exit_code == 0, done.stderr
    config = json.loads((tmp_path / "piper" / "voice.onnx.json").read_text("utf-8"))
    assert config["audio"]["sample_rate"] == 16000 and config["dataset"] == "Demo"
    assert _spoken(tmp_path / "piper" / "voice.onnx", config).std() > 0.01


def test_a_form_that_the_engine_cannot_write_is_refused(made, tmp_path):
    home, _ = made

    with pytest.raises(SettingsError, match="cannot be written for vinyl") as caught:
        run(home, "runs", "export", "Demo", tmp_path / "out", "--for", "vinyl")

    assert "piper" in caught.value.fix
    assert not (tmp_path / "out").exists()


def _spoken(graph, config):
    import onnxruntime

    ids = config["phoneme_id_map"]
    signs = [1, *(number for sign in "həlˈoʊ." for number in (*ids[sign], 0)), 2]
    session = onnxruntime.InferenceSession(str(graph))
    given = {
        "input": np.array([signs]),
        "input_lengths": np.array([len(signs)]),
        "scales": np.array([0.667, 1.0, 0.8], np.float32),
    }
    return session.run(None, given)[0].squeeze()


def test_a_text_without_recordings_is_refused_and_never_the_demo(tmp_path):
    (tmp_path / "mine.txt").write_text("Hello there.")

    with pytest.raises(NotFoundError, match="a text without recordings"):
        run(tmp_path / "home", "make", "Mine", "--text", tmp_path / "mine.txt")
