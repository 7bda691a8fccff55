"""The finished voice: all of it or nothing, and nothing of the computer that made it."""

from __future__ import annotations

import errno
import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

from engines.base import Sound
from engines.errors import DiskFullError, NotFoundError
from finetune.runs import Plan, RunFolder
from finetune.settings import TrainSettings
from finetune.spoken_samples import SENTENCES
from finetune.training.finishing import finish
from voices import files

USER = "grace-hopper"
FILES = ("model.safetensors", "config.json", "vocab.json")
ABOUT = {
    "language": "en",
    "licence": {"code": "MPL-2.0", "base": "CPML"},
    "base_fingerprint": "c0ffee",
    "learned_with": asdict(TrainSettings(epochs=12, device="cpu")),
    "step": 300,
    "why": "best so far: sounds most like the voice (0.87)",
    "scores": {"similarity": 0.87, "character_errors": None, "check_loss": 2.31},
}


def tone(rate=24000):
    return Sound(np.sin(np.arange(rate) / 20).astype(np.float32) / 4, rate)


class Voice:
    """Saves what XTTS saves and speaks a tone."""

    def __init__(self, fault=None, content=b"weights"):
        self.network = torch.nn.Linear(2, 2)
        self.fault, self.content, self.asked = fault, content, []

    def save(self, folder):
        assert list(folder.iterdir()) == []
        for name in FILES:
            (folder / name).write_bytes(self.content)

    def speak(self, text, language, reference, seed):
        self.asked.append((text, language, reference))
        if self.fault:
            raise self.fault
        assert not self.network.training
        return tone()


@pytest.fixture
def run(tmp_path):
    path = tmp_path / USER / "workspace" / "runs" / "r7"
    path.mkdir(parents=True)
    return RunFolder(path)


def plan(**other):
    given = {"project": "p3", "version": 2, "engine": "xtts", "base": "/home/ada/xtts", **other}
    return Plan(name="Ada", **given)


def made(run, trainable=None, the_plan=None, about=ABOUT, **other):
    return finish(
        trainable or Voice(), run, the_plan or plan(), tone(22050), "Said here.", about, **other
    )


def facts_of(voice):
    return json.loads((voice / "voice.json").read_text("utf-8"))


def test_a_voice_is_all_there_and_tells_where_it_is_from(run):
    trainable = Voice()

    voice = made(run, trainable)

    files.check_folder(voice)
    assert voice == run.voice
    assert sorted(each.name for each in (voice / "engine").iterdir()) == sorted(FILES)
    assert soundfile.info(voice / "reference.flac").samplerate == 22050
    assert soundfile.info(voice / "sample.flac").samplerate == 24000
    facts = facts_of(voice)
    assert facts["name"] == "Ada" and facts["engine"] == "xtts" and facts["language"] == "en"
    assert facts["licence"] == {"code": "MPL-2.0", "base": "CPML"}
    assert facts["from"] | {"run": "r7", "step": 300, "project": "p3"} == facts["from"]
    assert facts["from"]["version"] == 2 and facts["from"]["base_fingerprint"] == "c0ffee"
    assert facts["why"] == ABOUT["why"] and facts["scores"] == ABOUT["scores"]
    assert facts["settings"]["train"]["epochs"] == 12
    assert "device" not in facts["settings"]["train"]
    assert facts["made"].endswith("+00:00")
    assert facts["sample_text"] == SENTENCES["en"][-1] == trainable.asked[0][0]
    assert facts["reference_text"] == "Said here."


def test_it_tells_how_like_the_real_voice_its_sample_is(run):
    voice = made(run, alike=lambda sound: len(sound.samples) / 24000)

    assert facts_of(voice)["sample_similarity"] == 1.0


def test_a_persons_own_sentence_is_the_sample(run):
    assert (
        facts_of(made(run, the_plan=plan(sentences=("Mine.", "Other."))))["sample_text"] == "Mine."
    )


def test_no_path_of_this_computer_and_no_name_of_its_user_is_in_it(run, monkeypatch):
    home = str(run.path.parents[2])
    monkeypatch.setattr(Path, "home", lambda: Path(home))
    secret = f"{home}/bases/xtts"
    about = {
        **ABOUT,
        "why": f"better than {secret} and than {run.path}/best",
        "scores": {"from": [Path(secret)], "drive": "C:\\Users\\ada lovelace\\xtts"},
    }
    settings = {"speakers": f"{secret}/speakers.pth", "lora": 8}
    the_plan = plan(base=secret, transcriber=f"{home}/whisper", engine_settings=settings)

    voice = made(run, the_plan=the_plan, about=about)

    text = (voice / "voice.json").read_text("utf-8")
    assert home not in text and "lovelace" not in text and USER not in text
    assert "/" not in text.replace("/best", "").replace("xtts", "").replace("Apache/", "")
    assert facts_of(voice)["settings"]["engine"] == {"speakers": "speakers.pth", "lora": 8}
    assert facts_of(voice)["why"].startswith("better than xtts and than r7")


@pytest.mark.parametrize("fault", [ValueError("odd"), torch.OutOfMemoryError("CUDA")])
def test_a_voice_that_fails_to_speak_is_kept_all_the_same(run, fault):
    told = []

    voice = made(run, Voice(fault), say=told.append)

    files.check_folder(voice)
    assert not (voice / "sample.flac").exists()
    assert facts_of(voice)["sample_text"] == ""
    assert "without a sample" in told[0].text


def test_a_language_without_sentences_makes_a_voice_without_a_sample(run):
    voice = made(run, about={**ABOUT, "language": "tlh"})

    assert facts_of(voice)["sample_text"] == ""


def test_a_voice_that_cannot_be_saved_leaves_nothing(run):
    trainable = Voice()
    trainable.save = lambda folder: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full"))

    with pytest.raises(DiskFullError):
        made(run, trainable)

    assert list(run.path.iterdir()) == []


def test_the_voice_of_an_earlier_end_is_kept_when_a_run_went_on(run):
    made(run, Voice(content=b"first"))
    made(run, Voice(content=b"second"), about={**ABOUT, "step": 400})
    made(run, Voice(content=b"third"), about={**ABOUT, "step": 500})

    assert (run.voice / "engine" / "model.safetensors").read_bytes() == b"third"
    kept = sorted(each.name for each in run.path.iterdir())
    assert kept == ["voice", "voice-00-step-000300", "voice-01-step-000400"]
    assert all(files.exists(run.path / each) for each in kept)


def test_an_earlier_voice_stays_when_a_later_one_fails(run):
    made(run, Voice(content=b"first"))
    trainable = Voice()
    trainable.save = lambda folder: 1 / 0

    with pytest.raises(ZeroDivisionError):
        made(run, trainable)

    assert (run.voice / "engine" / "model.safetensors").read_bytes() == b"first"


def test_without_its_run_there_is_no_voice(tmp_path):
    with pytest.raises(NotFoundError, match="r9"):
        made(RunFolder(tmp_path / "r9"))
