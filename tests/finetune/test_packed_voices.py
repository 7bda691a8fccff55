"""A voice packed to be taken along: once, whole or not at all, as a job that tells how far it is."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
import soundfile

import engines
from engines.errors import (
    BundleError,
    DamagedFolderError,
    DiskFullError,
    EngineError,
    NotFoundError,
    SettingsError,
)
from finetune import packed_voices
from finetune.jobs import queue
from finetune.jobs.events import Progress, from_line
from finetune.jobs.folder import JobFolder
from finetune.jobs.worker import Job, StopWork
from finetune.packed_voices import NOTE
from tests import finished, tape
from voices import bundle, files, library
from voices.library import Consent

MB = 3_000_000


@pytest.fixture(autouse=True)
def not_started(monkeypatch):
    """Queue jobs without starting any."""
    monkeypatch.setattr(queue, "advance", lambda workspace: None)
    monkeypatch.setitem(engines.ENGINES, tape.NAME, "tests.tape")


@pytest.fixture
def voice(workspace, tmp_path):
    made = finished.voice(tmp_path / "made", "The run's name")
    return library.keep(workspace, made, "Ada", Consent("Ada L.", True))


@pytest.fixture
def taped(workspace, tmp_path):
    """One whose engine has it written by a process of its own."""

    def made(content=b"weights"):
        with files.new_folder(tmp_path / "tape") as new:
            (new / "engine").mkdir()
            (new / "engine" / "weights.bin").write_bytes(content)
            soundfile.write(new / "reference.flac", np.sin(np.arange(22050) / 20) / 4, 22050)
            files.write_json(new / "voice.json", {"name": "Ada", "engine": tape.NAME})
        return library.keep(workspace, tmp_path / "tape", "Tape")

    return made


@pytest.fixture
def job(tmp_path):
    folder = tmp_path / "job"
    (folder / "control").mkdir(parents=True)
    return Job(JobFolder(folder))


def wish(workspace, voice, kind="timbre", form=""):
    asked = packed_voices.submit(workspace, voice, kind, form)
    return packed_voices.read_wish(Path(asked.request.argv[-1]))


def packed(workspace, voice, kind="timbre", form=""):
    """The file of a form; None when it is not there."""
    every = packed_voices.packings(workspace, library.find(workspace, voice.id))
    [found] = [each.packed for each in every if (each.kind, each.form) == (kind, form)]
    return found


def told(job):
    events = job.folder.events_path.read_text().splitlines()
    return [each for each in map(from_line, events) if isinstance(each, Progress)]


def cached(workspace, voice):
    """The folders that hold a file, or a part of one."""
    place = workspace.cache / "voices" / voice.id
    return [each for each in place.iterdir() if each.is_dir()] if place.exists() else []


def say_each(monkeypatch):
    """Tell every step, however soon it comes after the last."""
    monkeypatch.setattr("finetune.jobs.telling.EVERY_SECONDS", 0)


# ---- What is packed ----


def test_a_timbre_file_holds_the_voice_under_its_name_and_tells_its_bytes(
    workspace, voice, job, monkeypatch
):
    say_each(monkeypatch)

    said = packed_voices.work(job, wish(workspace, voice))

    there = packed(workspace, voice)
    manifest = bundle.look(there.path)
    assert (manifest.name, dict(manifest.consent)["whose"]) == ("Ada", "Ada L.")
    assert said == f"Ada is packed, {there.bytes / 1e6:,.1f} MB."
    steps = [each.done for each in told(job)]
    assert len(steps) > 20 and steps == sorted(steps)
    assert told(job)[-1].unit == "MB packed"
    assert told(job)[-1].total == pytest.approx(there.bytes / 1e6, abs=0.1)
    assert steps[-1] == pytest.approx(told(job)[-1].total, abs=0.1)


def test_a_zip_holds_what_other_programs_load_with_the_name_and_consent_of_now(
    workspace, voice, job, monkeypatch
):
    say_each(monkeypatch)
    library.shelf(workspace).rename(voice.id, "Ada/Berta")

    packed_voices.work(job, wish(workspace, library.find(workspace, voice.id), "zip"))

    with zipfile.ZipFile(packed(workspace, voice, "zip").path) as archive:
        assert archive.testzip() is None
        held = set(archive.namelist())
        facts = json.loads(archive.read("Ada_Berta/timbre.json"))
    assert {"Ada_Berta/model.safetensors", "Ada_Berta/wavs/reference.wav"} <= held
    assert (facts["name"], facts["consent"]) == ("Ada/Berta", {"whose": "Ada L.", "agreed": True})
    assert {each.unit for each in told(job)} == {"MB written", "MB packed"}
    [place] = cached(workspace, voice)
    assert {each.name for each in place.iterdir()} == {"voice.zip", NOTE}


def test_the_form_of_an_engines_own_tools_is_meant_by_none(workspace, taped, job):
    voice = taped()
    packed_voices.work(job, wish(workspace, voice, "zip"))

    assert packed_voices.submit(workspace, voice, "zip", "recorder") is None
    with zipfile.ZipFile(packed(workspace, voice, "zip", "recorder").path) as archive:
        assert archive.read("Tape/tape.txt") == b"Tape, 7, reference.flac"


# ---- Once ----


def test_asked_twice_at_once_is_one_job_and_once_packed_is_none(workspace, voice, job):
    first, second = (packed_voices.submit(workspace, voice, "timbre") for _ in range(2))
    other = packed_voices.submit(workspace, voice, "zip")
    packed_voices.work(job, wish(workspace, voice))

    assert first.id == second.id != other.id
    assert first.request.needs == other.request.needs == f"voice-{voice.id}"
    assert packed_voices.submit(workspace, voice, "timbre") is None


def changes():
    def rename(workspace, voice):
        library.shelf(workspace).rename(voice.id, "Berta")

    def consent(workspace, voice):
        library.record_consent(workspace, voice, Consent("Ada L.", False))

    def weights(workspace, voice):
        shutil.rmtree(voice.folder)
        with files.new_folder(voice.folder) as new:
            finished.voice(new.with_name("other"), "Ada")
            library.link_files(new.with_name("other"), new)
            files.write_json(new / "voice.json", {**voice.facts, "why": "It is better."})

    return [rename, consent, weights]


@pytest.mark.parametrize("change", changes(), ids=lambda each: each.__name__)
def test_a_voice_that_changed_is_packed_anew_and_the_old_file_goes(workspace, voice, job, change):
    packed_voices.work(job, wish(workspace, voice))
    old = packed(workspace, voice)

    change(workspace, voice)
    changed = library.find(workspace, voice.id)
    with pytest.raises(NotFoundError, match="not there any more"):
        packed_voices.find(workspace, changed, old.id)
    assert packed(workspace, voice) is None
    packed_voices.work(job, wish(workspace, changed))

    new = packed(workspace, voice)
    assert packed_voices.find(workspace, changed, new.id) == new
    assert cached(workspace, voice) == [new.path.parent] and not old.path.exists()


def test_a_second_form_leaves_the_first(workspace, voice, job):
    packed_voices.work(job, wish(workspace, voice))
    packed_voices.work(job, wish(workspace, voice, "zip"))

    assert packed(workspace, voice) and packed(workspace, voice, "zip")


def test_what_is_packed_when_a_job_begins_is_not_packed_again(workspace, voice, job):
    wished = wish(workspace, voice)
    packed_voices.work(job, wished)
    before = packed(workspace, voice).path.stat().st_mtime_ns

    packed_voices.work(job, wished)

    assert packed(workspace, voice).path.stat().st_mtime_ns == before


def test_a_cache_that_was_deleted_is_no_file(workspace, voice, job):
    packed_voices.work(job, wish(workspace, voice))
    packed(workspace, voice).path.unlink()
    assert packed(workspace, voice) is None

    packed_voices.work(job, wish(workspace, voice))

    assert packed(workspace, voice).path.exists()


# ---- What stops it ----


@pytest.mark.parametrize("kind", ["timbre", "zip"])
def test_a_stop_leaves_nothing_half(workspace, voice, job, kind, monkeypatch):
    say_each(monkeypatch)
    wished = wish(workspace, voice, kind)
    stop_when(job, monkeypatch, lambda done: done > MB / 1e6)

    with pytest.raises(StopWork):
        packed_voices.work(job, wished)

    assert cached(workspace, voice) == [] and told(job)[-1].done > 1
    assert packed(workspace, voice, kind) is None


def stop_when(job, monkeypatch, is_far):
    """Ask to stop once so much is told."""
    say = job.say

    def heard(event):
        say(event)
        if isinstance(event, Progress) and is_far(event.done):
            job.folder.ask_to_stop()

    monkeypatch.setattr(job, "say", heard)


def test_a_stop_ends_the_process_that_writes_another_form(workspace, taped, job, monkeypatch):
    voice = taped()
    wished = wish(workspace, voice, "zip")
    monkeypatch.setattr("finetune.voice_export._module_for", lambda engine, form: "tests.sleeps")
    job.folder.ask_to_stop()

    with pytest.raises(StopWork):
        packed_voices.work(job, wished)

    assert cached(workspace, voice) == []


def test_what_a_killed_packing_left_is_no_file_and_is_cleared(workspace, voice, job):
    wished = wish(workspace, voice, "zip")
    packed_voices.work(job, wished)
    place = packed(workspace, voice, "zip").path.parent
    (place / NOTE).unlink()
    (place / "folder").mkdir()
    assert packed(workspace, voice, "zip") is None

    packed_voices.work(job, wished)

    assert {each.name for each in place.iterdir()} == {"voice.zip", NOTE}


def test_what_its_engine_cannot_write_is_said_and_leaves_nothing(workspace, taped, job):
    voice = taped(tape.BROKEN)

    with pytest.raises(EngineError, match="cannot be played"):
        packed_voices.work(job, wish(workspace, voice, "zip"))

    assert cached(workspace, voice) == []


def test_a_voice_in_the_trash_is_not_packed(workspace, voice, job):
    wished = wish(workspace, voice)
    packed_voices.work(job, wished)
    there = packed(workspace, voice)
    library.shelf(workspace).trash(voice.id)
    trashed = library.find(workspace, voice.id)

    for asked in (
        lambda: packed_voices.submit(workspace, trashed, "timbre"),
        lambda: packed_voices.find(workspace, trashed, there.id),
        lambda: packed_voices.work(job, wished),
    ):
        with pytest.raises(NotFoundError, match="Ada is in the trash") as caught:
            asked()
        assert "Take it back first" in caught.value.fix


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_voice_that_is_deleted_meanwhile_is_said_to_be(workspace, voice, job, when, monkeypatch):
    wished = wish(workspace, voice)
    if when == "before":
        with workspace.store.change() as store:
            store.execute("DELETE FROM voices")
    else:
        monkeypatch.setattr(
            packed_voices.travel, "pack", lambda voice, *rest: shutil.rmtree(voice.folder) or 1 / 0
        )

    with pytest.raises(NotFoundError, match="deleted meanwhile"):
        packed_voices.work(job, wished)

    assert cached(workspace, voice) == []


def test_a_damaged_voice_is_not_packed(workspace, voice, job):
    model = voice.folder / "engine" / "model.safetensors"
    content = bytearray(model.read_bytes())
    content[-5] ^= 1
    model.unlink()  # its bytes are shared with the folder that it was kept from
    model.write_bytes(content)

    for kind in ("timbre", "zip"):
        with pytest.raises(DamagedFolderError, match=r"model\.safetensors is not what was saved"):
            packed_voices.work(job, wish(workspace, voice, kind))
    assert cached(workspace, voice) == []


@pytest.mark.parametrize(("kind", "times"), [("timbre", 1), ("zip", 2)])
def test_too_little_room_is_said_before_anything_is_written(
    workspace, voice, kind, times, monkeypatch
):
    size = sum(each.size for each in files.read_manifest(voice.folder).values())
    usage = namedtuple("Usage", "total used free")
    room = times * size + 50_000_000
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(9, 9, room - 1))

    with pytest.raises(DiskFullError, match="Packing Ada takes about") as caught:
        packed_voices.submit(workspace, voice, kind)

    assert "Free some space" in caught.value.fix and queue.jobs(workspace) == []
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(9, 9, room))
    assert packed_voices.submit(workspace, voice, kind)


@pytest.mark.parametrize(
    ("kind", "form"), [("timbre", "piper"), ("zip", "../../x"), ("zip", "coqui")]
)
def test_a_form_that_it_has_not_is_refused(workspace, voice, kind, form):
    with pytest.raises(SettingsError):
        packed_voices.submit(workspace, voice, kind, form)

    assert cached(workspace, voice) == [] and queue.jobs(workspace) == []


def test_of_an_engine_that_is_not_here_no_other_form_is_offered(workspace, voice, job, monkeypatch):
    monkeypatch.delitem(engines.ENGINES, "pocket")

    every = packed_voices.packings(workspace, voice)

    assert [(each.kind, each.form) for each in every] == [("timbre", "")]
    with pytest.raises(BundleError, match="no engine called 'pocket'"):
        packed_voices.work(job, wish(workspace, voice))
    assert cached(workspace, voice) == []


def test_the_page_sees_the_job_until_the_file_is_there(workspace, voice, job):
    asked = packed_voices.submit(workspace, voice, "timbre")
    timbre, plain, _ = packed_voices.packings(workspace, voice)
    assert (timbre.job.id, timbre.packed, plain.job) == (asked.id, None, None)

    packed_voices.work(job, wish(workspace, voice))

    timbre = packed_voices.packings(workspace, voice)[0]
    assert timbre.job is None and timbre.packed
