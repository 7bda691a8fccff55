"""Finished voices: kept, found, tagged, put away and taken back."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from engines.errors import DamagedFolderError, NameProblem, NotFoundError
from voices import files, library
from voices.library import Consent
from voices.workspace import open_workspace


@pytest.fixture
def workspace(tmp_path):
    opened = open_workspace(tmp_path / "home")
    yield opened
    opened.close()


def finished(folder, **facts):
    """A finished voice, as a run leaves it."""
    with files.new_folder(folder) as new:
        (new / "engine").mkdir()
        (new / "engine" / "model.safetensors").write_bytes(os.urandom(64))
        (new / "reference.flac").write_bytes(b"fLaC")
        known = {"name": "Ada", "engine": "pocket", "language": "en", **facts}
        files.write_json(new / "voice.json", known)
    return folder


def named(voices):
    return [each.name for each in voices]


def test_a_voice_is_kept_whole_and_takes_no_room_twice(workspace, tmp_path):
    run = finished(tmp_path / "run")

    voice = library.keep(workspace, run, "Ada")

    files.check_folder(voice.folder)
    weights = voice.folder / "engine" / "model.safetensors"
    assert weights.samefile(run / "engine" / "model.safetensors")
    assert (voice.name, voice.engine, voice.language) == ("Ada", "pocket", "en")
    shutil.rmtree(run)
    files.check_folder(voice.folder)


def test_where_a_disk_has_no_links_it_is_copied(workspace, tmp_path, monkeypatch):
    def refuse(source, target):
        raise OSError("no links here")

    monkeypatch.setattr(os, "link", refuse)

    voice = library.keep(workspace, finished(tmp_path / "run"), "Ada")

    files.check_folder(voice.folder)


def test_a_damaged_one_is_not_taken_in(workspace, tmp_path):
    run = finished(tmp_path / "run")
    (run / "reference.flac").unlink()

    with pytest.raises(DamagedFolderError):
        library.keep(workspace, run, "Ada")

    assert not library.listed(workspace) and not list(workspace.voices.iterdir())


def test_a_name_that_is_taken_gets_a_number(workspace, tmp_path):
    run = finished(tmp_path / "run")

    kept = [library.keep(workspace, run, name) for name in ("Ada", "ada", "Ada")]

    assert named(kept) == ["Ada", "ada (2)", "Ada (3)"]


def test_voices_are_found_by_name_tag_language_engine_and_owner(workspace, tmp_path):
    run = finished(tmp_path / "run")
    ada = library.keep(workspace, run, "Ada", Consent("Ada Lovelace", True))
    german = library.keep(workspace, finished(tmp_path / "de", language="de"), "Berta")
    library.tag(workspace, ada, ["calm", "Story"], [])

    assert named(library.listed(workspace, "lovelace")) == ["Ada"]
    assert named(library.listed(workspace, "STORY calm")) == ["Ada"]
    assert named(library.listed(workspace, "de pocket")) == ["Berta"]
    assert named(library.listed(workspace, "pocket")) == ["Berta", "Ada"]
    assert not library.listed(workspace, "story berta")
    assert library.find(workspace, german.id[:6]).name == "Berta"
    with pytest.raises(NotFoundError):
        library.find(workspace, "nobody")


def test_favourites_come_first(workspace, tmp_path):
    run = finished(tmp_path / "run")
    first, *_ = [library.keep(workspace, run, name) for name in ("A", "B", "C")]

    library.favour(workspace, first, True)

    assert named(library.listed(workspace)) == ["A", "C", "B"]
    library.favour(workspace, first, False)
    assert named(library.listed(workspace)) == ["C", "B", "A"]


def test_tags_are_kept_once_and_taken_away_however_they_are_capitalised(workspace, tmp_path):
    voice = library.keep(workspace, finished(tmp_path / "run"), "Ada")

    voice = library.tag(workspace, voice, ["Calm", "calm ", "old"], [])
    assert voice.tags == ("calm", "old")
    assert library.tag(workspace, voice, [], ["OLD"]).tags == ("calm",)


@pytest.mark.parametrize("wrong", ["a,b", "x" * 41, ""])
def test_what_cannot_be_a_tag_is_refused(workspace, tmp_path, wrong):
    voice = library.keep(workspace, finished(tmp_path / "run"), "Ada")

    with pytest.raises(NameProblem):
        library.tag(workspace, voice, [wrong], [])


def test_whose_it_is_and_what_they_said_is_kept(workspace, tmp_path):
    voice = library.keep(workspace, finished(tmp_path / "run"), "Ada")
    assert voice.consent == Consent("", None)

    for agreed in (True, False, None):
        said = Consent("Ada", agreed)
        assert library.record_consent(workspace, voice, said).consent == said


def test_one_in_the_trash_is_out_of_sight_and_comes_back(workspace, tmp_path):
    voice = library.keep(workspace, finished(tmp_path / "run"), "Ada")
    shelf = library.shelf(workspace)

    shelf.trash(voice.id)

    assert not library.listed(workspace)
    assert named(library.listed(workspace, trashed=True)) == ["Ada"]
    shelf.restore(voice.id)
    assert named(library.listed(workspace)) == ["Ada"]
    files.check_folder(voice.folder)


def test_voices_whose_list_was_lost_are_listed_again(workspace, tmp_path):
    voice = library.keep(workspace, finished(tmp_path / "run", name="Ada"), "Mine")
    with workspace.store.change() as store:
        store.execute("DELETE FROM voices")
    (workspace.voices / "not an id").mkdir()

    [found] = library.list_again(workspace)

    assert (found.id, found.name) == (voice.id, "Ada")
    assert not library.list_again(workspace)


def test_a_voice_whose_facts_are_damaged_is_still_there(workspace, tmp_path):
    voice = library.keep(workspace, finished(tmp_path / "run"), "Ada")
    for damaged in ("[1]", "{", json.dumps(None)):
        (voice.folder / "voice.json").unlink(missing_ok=True)
        (voice.folder / "voice.json").write_text(damaged)

        assert library.find(workspace, "Ada").engine == ""
