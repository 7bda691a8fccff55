"""How a finished voice leaves for other programs."""

from __future__ import annotations

import json
import shutil
from collections import namedtuple

import numpy as np
import pytest
import soundfile

import engines
from engines.errors import (
    DamagedFolderError,
    DiskFullError,
    EngineError,
    NotFoundError,
    SettingsError,
    WorkspaceError,
)
from finetune.voice_export import export_voice
from tests import tape
from voices import files


@pytest.fixture(autouse=True)
def stand_ins(monkeypatch):
    monkeypatch.setitem(engines.ENGINES, "silent", "tests.silent")
    monkeypatch.setitem(engines.ENGINES, tape.NAME, "tests.tape")


@pytest.fixture
def make(tmp_path):
    """Lays a voice down, of an engine whose own form is the folder unless another is named."""

    def made(engine="silent", content=b"weights"):
        facts = {"name": "Ada", "engine": engine, "licence": {"base": "CPML"}}
        with files.new_folder(tmp_path / "run" / "voice") as new:
            (new / "engine").mkdir()
            (new / "engine" / "weights.bin").write_bytes(content)
            soundfile.write(new / "reference.flac", np.sin(np.arange(22050) / 20) / 4, 22050)
            files.write_json(new / "voice.json", facts)
        return tmp_path / "run" / "voice"

    (tmp_path / "run").mkdir()
    return made


def found_in(folder):
    return {each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.is_file()}


@pytest.mark.parametrize("is_there", [False, True])
def test_a_folder_that_its_own_tools_load_is_copied_with_its_reference(make, tmp_path, is_there):
    voice, target = make(), tmp_path / "out"
    if is_there:
        target.mkdir()

    export_voice(voice, target)

    assert found_in(target) == {"weights.bin", "wavs/reference.wav", "timbre.json"}
    info = soundfile.info(target / "wavs" / "reference.wav")
    assert (info.format, info.samplerate, info.frames) == ("WAV", 22050, 22050)
    wav = soundfile.read(target / "wavs" / "reference.wav")[0]
    assert np.array_equal(wav, soundfile.read(voice / "reference.flac")[0])
    assert json.loads((target / "timbre.json").read_bytes())["licence"]["base"] == "CPML"


@pytest.mark.parametrize("form", ["", "recorder"])
def test_else_the_engine_writes_it_as_its_own_tools_load_it(make, tmp_path, form):
    export_voice(make(tape.NAME), tmp_path / "out", form)

    assert found_in(tmp_path / "out") == {"tape.txt", "timbre.json"}
    assert (tmp_path / "out" / "tape.txt").read_text() == "Ada, 7, reference.flac"


@pytest.mark.parametrize(
    ("content", "form", "said"),
    [
        (tape.BROKEN, "", r"written \(The voice cannot be played\. Take another one\.\)"),
        (b"weights", "radio", r"written \(.*No module named tests.nowhere"),
    ],
)
def test_what_its_engine_cannot_write_is_said_and_leaves_nothing(
    make, tmp_path, content, form, said
):
    voice = make(tape.NAME, content)

    with pytest.raises(EngineError, match=said):
        export_voice(voice, tmp_path / "out", form)

    assert [each.name for each in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize(
    ("engine", "fix"), [("silent", "its own form"), (tape.NAME, "radio, recorder")]
)
def test_a_form_that_no_engine_knows_is_refused_with_those_it_knows(make, tmp_path, engine, fix):
    with pytest.raises(SettingsError, match="cannot be written for vinyl") as caught:
        export_voice(make(engine), tmp_path / "out", "vinyl")

    assert fix in caught.value.fix and not (tmp_path / "out").exists()


def test_an_export_replaces_nothing(make, tmp_path):
    voice = make()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")

    for name in ("out", "file"):
        with pytest.raises(WorkspaceError, match="not empty"):
            export_voice(voice, tmp_path / name)

    assert [each.name for each in (tmp_path / "out").iterdir()] == ["mine.txt"]


def test_an_export_needs_a_folder_to_be_in_and_a_voice_that_is_whole(make, tmp_path):
    voice = make()

    with pytest.raises(NotFoundError, match="no folder"):
        export_voice(voice, tmp_path / "no" / "out")
    (voice / "engine" / "weights.bin").write_bytes(b"weightz")
    with pytest.raises(DamagedFolderError, match=r"weights\.bin"):
        export_voice(voice, tmp_path / "out")

    assert not (tmp_path / "out").exists()


def test_an_export_that_fails_leaves_the_target_as_it_was(make, tmp_path, monkeypatch):
    voice, target = make(), tmp_path / "out"
    target.mkdir()
    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr(files, "write_json", lambda *given: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        export_voice(voice, target)

    assert sorted(tmp_path.iterdir()) == before
    assert list(target.iterdir()) == []


def test_who_is_told_how_much_is_written_can_end_it(make, tmp_path):
    voice, counts = make(content=bytes(3_000_000)), []

    def told(written):
        counts.append(written)
        if written > 1_500_000:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        export_voice(voice, tmp_path / "out", told=told)

    assert len(counts) == 2 and [each.name for each in tmp_path.iterdir()] == ["run"]


def test_an_export_asks_for_room_before_it_begins(make, tmp_path, monkeypatch):
    voice = make()
    usage = namedtuple("Usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(1, 1, 1000))

    with pytest.raises(DiskFullError, match="needs about"):
        export_voice(voice, tmp_path / "out")

    assert not (tmp_path / "out").exists()
