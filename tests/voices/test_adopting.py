"""Voices of other programs into the library, whole and able to speak, or not at all."""

from __future__ import annotations

import json
import shutil
from collections import namedtuple

import numpy as np
import pytest
import soundfile
from typer.testing import CliRunner

from app import voice_commands
from app.options import Chosen
from engines.errors import (
    AudioError,
    DiskFullError,
    EngineError,
    NameProblem,
    NotFoundError,
    SettingsError,
)
from tests.engines.xtts import hostile, tiny
from voices import adopting, files, library, travel
from voices.library import Consent
from voices.speaking.narrator import Narrator
from voices.workspace import open_workspace


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    """A fine-tuned XTTS as its owner has it: nothing that trains, and clips beside it."""
    folder = tiny.make_base(tmp_path_factory.mktemp("made") / "Grandma Ada")
    for name in ("dvae.pth", "mel_stats.pth"):
        (folder / name).unlink()
    clip(folder / "wavs" / "a.wav", 2)
    clip(folder / "wavs" / "more" / "b.wav", 5, 200)
    clip(folder / "wavs" / "too long.wav", 13)
    (folder / "wavs" / "none.wav").write_bytes(b"no sound")
    yield folder
    shutil.rmtree(folder.parent)


@pytest.fixture
def light(tmp_path):
    """A folder that is recognised, for what is decided before any weights are opened."""
    folder = tmp_path / "ready"
    folder.mkdir()
    (folder / "config.json").write_text('{"model": "xtts", "languages": ["en", "de"]}')
    return folder


def clip(path, seconds, pitch=140.0, channels=1):
    path.parent.mkdir(parents=True, exist_ok=True)
    samples = tiny.hum(seconds, pitch=pitch).samples
    soundfile.write(path, np.stack([samples] * channels, axis=1), 22050)
    return path


def adopt(workspace, path, name="", language="", reference=None):
    return adopting.adopt(workspace, adopting.look(path, name, language, reference))


def nothing_is_left(workspace):
    return not library.listed(workspace) and not [*workspace.voices.iterdir()]


def contents(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_folder_becomes_a_voice_that_speaks_and_travels(tuned, workspace, tmp_path):
    before = contents(tuned)

    voice = adopt(workspace, tuned, language="de")

    files.check_folder(voice.folder)
    assert (voice.name, voice.engine, voice.language) == ("Grandma Ada", "xtts", "de")
    assert voice.consent == Consent() and "licence" in voice.facts
    assert "Coqui Public Model License" in voice.facts["licence"]["base"][0]
    assert str(tuned.parent) not in json.dumps(dict(voice.facts))
    samples, rate = soundfile.read(voice.folder / "reference.flac")
    assert len(samples) / rate == 5  # the longest of its clips that is not too long
    assert contents(tuned) == before and not [*workspace.cache.iterdir()]

    travel.pack(voice, tmp_path / "ada.timbre")
    other = open_workspace(tmp_path / "other")
    there = travel.unpack(other, tmp_path / "ada.timbre")
    said = [
        Narrator(each.folder, each.facts, seed=3)._speak("Reis.", 3).samples
        for each in (voice, there)
    ]
    other.close()
    assert len(said[0]) > 5000 and np.array_equal(*said)
    shutil.rmtree(tmp_path)


def test_a_hostile_model_leaves_nothing(tuned, workspace, tmp_path):
    folder = tmp_path / "theirs"
    folder.mkdir()
    for name in ("config.json", "vocab.json", "wavs"):
        (folder / name).symlink_to(tuned / name)
    hostile.CORPUS["os.system"][0](folder, tmp_path / "canary")

    with pytest.raises(EngineError, match=r"model\.pth wants to run code") as caught:
        adopt(workspace, folder, language="en")

    assert "Do not use this file" in caught.value.fix
    assert not (tmp_path / "canary").exists() and nothing_is_left(workspace)


# ---- What it is spoken like ----


@pytest.fixture
def shallow(monkeypatch):
    """Without the engine's part, which takes seconds."""
    monkeypatch.setattr(adopting, "_adopt", lambda found, into, meanwhile: (into / "model").touch())


def reference_of(voice):
    samples, rate = soundfile.read(voice.folder / "reference.flac", always_2d=True)
    return len(samples) / rate, samples.shape[1]


def test_a_wished_reference_comes_before_the_folders_own_and_that_before_its_clips(
    light, workspace, tmp_path, shallow
):
    clip(light / "wavs" / "a.wav", 4)
    lengths = [reference_of(adopt(workspace, light, language="en"))]
    clip(light / "reference.wav", 6, channels=2)
    lengths.append(reference_of(adopt(workspace, light, language="en")))
    mine = clip(tmp_path / "mine.flac", 8)
    lengths.append(reference_of(adopt(workspace, light, language="en", reference=mine)))

    assert lengths == [(4, 1), (6, 1), (8, 1)]


def test_without_one_it_is_said_how_to_give_one(light, workspace):
    clip(light / "wavs" / "long.wav", 12.5)
    clip(light / "wavs" / "short.wav", 0.5)

    with pytest.raises(AudioError, match=r"neither reference\.wav nor a clip") as caught:
        adopt(workspace, light, language="en")

    assert "--reference FILE" in caught.value.fix and nothing_is_left(workspace)


@pytest.mark.parametrize(
    ("seconds", "channels", "said"),
    [(0.5, 1, "lasts 0.5 s"), (31, 1, "lasts 31.0 s"), (2, 9, "cannot be read"), (0, 0, "cannot")],
)
def test_a_reference_that_cannot_be_one_is_refused(
    light, workspace, tmp_path, seconds, channels, said
):
    mine = tmp_path / "mine.wav"
    clip(mine, seconds, channels=channels) if channels else mine.write_bytes(b"RIFF")

    with pytest.raises(AudioError, match=said):
        adopt(workspace, light, language="en", reference=mine)

    assert nothing_is_left(workspace)


# ---- What is refused before anything is opened ----


@pytest.mark.parametrize(("wished", "said"), [("", "do not say which"), ("tlh", "speak 'tlh'")])
def test_a_language_has_to_be_known(light, workspace, wished, said):
    with pytest.raises(SettingsError, match=said) as caught:
        adopt(workspace, light, language=wished)

    assert "en, es" in caught.value.fix and nothing_is_left(workspace)


def test_the_only_language_of_its_files_is_taken(light, workspace, shallow):
    (light / "config.json").write_text('{"model": "xtts", "languages": ["de"]}')
    clip(light / "reference.wav", 3)

    assert adopt(workspace, light).language == "de"
    assert adopt(workspace, light, language="EN").language == "en"


def test_a_name_that_cannot_be_one_is_refused_before_anything_is_written(light, workspace):
    clip(light / "reference.wav", 3)

    with pytest.raises(NameProblem):
        adopt(workspace, light, "a\nb", "en")

    assert nothing_is_left(workspace)


def test_room_is_kept_for_everything_else(light, workspace, monkeypatch):
    clip(light / "reference.wav", 3)
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(9, 9, 2_000_000_001))

    with pytest.raises(DiskFullError, match="2 GB stays free"):
        adopt(workspace, light, language="en")

    assert nothing_is_left(workspace)


@pytest.mark.parametrize(
    "crash", ["raise SystemExit(9)", "print('x'); import os; os.abort()", "1 / 0"]
)
def test_however_its_process_ends_nothing_is_left(light, workspace, monkeypatch, tmp_path, crash):
    clip(light / "reference.wav", 3)
    (tmp_path / "broken_reader.py").write_text(crash)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(adopting.foreign, "__name__", "broken_reader")

    with pytest.raises(EngineError, match="reader ended with code"):
        adopt(workspace, light, language="en")

    assert nothing_is_left(workspace)


# ---- What a person types ----


def typed(workspace, *words):
    given = ["import", *map(str, words)]
    return CliRunner().invoke(voice_commands.app, given, obj=Chosen(workspace.root))


def test_a_folder_is_imported_by_the_same_command_as_a_file(light, workspace, shallow):
    clip(light / "reference.wav", 3)

    done = typed(workspace, light, "--name", "Ada", "--language", "en", "--json")

    assert done.exit_code == 0, done.exception
    told = json.loads(done.stdout)
    assert (told["name"], told["engine"], told["agreed"]) == ("Ada", "xtts", None)


def test_a_reference_can_be_named_as_it_is_typed(light, workspace, shallow, tmp_path, monkeypatch):
    clip(tmp_path / "mine.wav", 7)
    monkeypatch.chdir(tmp_path)

    done = typed(workspace, "ready", "--language", "en", "--reference", "mine.wav")

    assert done.exit_code == 0, done.exception
    assert reference_of(library.find(workspace, "ready")) == (7, 1)


def test_pipers_are_refused_and_so_is_what_is_nowhere(tmp_path, workspace):
    (tmp_path / "ada.onnx").write_bytes(b"\x08")
    (tmp_path / "ada.onnx.json").write_text("{}")

    assert "a voice of Piper" in str(typed(workspace, tmp_path / "ada.onnx").exception)
    assert isinstance(typed(workspace, tmp_path / "none.timbre").exception, NotFoundError)
    assert isinstance(typed(workspace, tmp_path / "none.pth").exception, NotFoundError)


def test_what_only_folders_need_is_no_option_of_a_packed_voice(tmp_path, workspace):
    done = typed(workspace, tmp_path / "ada.timbre", "--language", "en")

    assert isinstance(done.exception, SettingsError) and "brings its own" in str(done.exception)
