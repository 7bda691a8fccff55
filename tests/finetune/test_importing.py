"""Recordings come in whole, once each, and a bad one never stops the good ones."""

from __future__ import annotations

import hashlib
import shutil

import numpy as np
import pytest
import soundfile

from finetune import importing
from finetune.importing import Source, bring_in, sources_in
from finetune.jobs.worker import StopWork
from finetune.media import reading
from finetune.recordings import Recordings
from tests.finetune.media.making import speech


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "from the stick"
    path.mkdir()
    return path


@pytest.fixture
def talk(folder):
    path = folder / "talk 1.wav"
    soundfile.write(path, speech(3.0, 16000), 16000)
    return path


def bring(project, path, stop=lambda: False, told=lambda done, total: None):
    return bring_in(project, Source(path, path.name), told, stop)


def names(sources):
    return [source.name for source in sources]


def files_of(project):
    return sorted(
        path.name for each in (project.originals, project.working) for path in each.iterdir()
    )


def test_a_recording_is_kept_as_received_and_decoded_once(project, talk):
    told = []

    brought = bring(project, talk, told=lambda *so_far: told.append(so_far))

    recording = brought.recording
    assert project.original_of(recording).read_bytes() == talk.read_bytes()
    assert recording.sha256 == hashlib.sha256(talk.read_bytes()).hexdigest()
    assert reading.seconds(project.working_of(recording.id)) == pytest.approx(3.0, abs=0.01)
    assert project.recordings.all() == [recording]
    assert brought.sentences and not brought.known
    assert told[-1][0] == pytest.approx(3.0, abs=0.01)


def test_the_same_content_under_another_name_comes_in_once(project, talk, folder):
    first = bring(project, talk)
    copy = shutil.copy(talk, folder / "copy.mp3")

    second = bring(project, copy)

    assert second.known and second.recording == first.recording
    assert "as talk 1.wav" in second.sentences[0]
    assert len(files_of(project)) == 2


def test_what_is_in_the_trash_and_comes_in_again_is_taken_back(project, talk):
    first = bring(project, talk)
    project.recordings.trash(first.recording.id)

    second = bring(project, talk)

    assert second.known and project.recordings.all() == [second.recording] == [first.recording]
    assert len(files_of(project)) == 2


def test_a_file_that_cannot_be_used_is_a_verdict_and_leaves_nothing(project, folder):
    path = folder / "notes.wav"
    path.write_text("not a sound at all\n" * 100)

    brought = bring(project, path)

    assert brought.recording is None and brought.verdict == "bad"
    assert "notes.wav" in brought.sentences[0]
    assert files_of(project) == [] and project.recordings.all() == []


def test_a_stop_leaves_nothing(project, talk):
    with pytest.raises(StopWork):
        bring(project, talk, stop=lambda: True)

    assert files_of(project) == [] and project.recordings.all() == []


def test_a_content_that_comes_in_twice_at_once_is_one_recording(project, talk, monkeypatch):
    first = bring(project, talk)
    seen = iter([None, first.recording])
    monkeypatch.setattr(Recordings, "with_content", lambda self, sha256: next(seen), raising=True)

    second = bring(project, talk)

    assert second.known and second.recording == first.recording
    assert len(files_of(project)) == 2


def test_silence_comes_in_and_says_so(project, folder):
    soundfile.write(folder / "silence.wav", np.zeros(48000), 16000)

    brought = bring(project, folder / "silence.wav")

    assert brought.verdict == "bad" and "nothing but silence" in brought.sentences[0]


def test_a_folder_gives_its_recordings_as_people_count_them_and_leaves_texts_out(folder):
    (folder / "day 2").mkdir()
    for name in ("take 10.wav", "take 2.wav", "metadata.csv", "._take 2.wav", "day 2/take 1.ogg",
                 "no ending", ".hidden.wav", "cover.JPG"):  # fmt: skip
        (folder / name).write_bytes(b"x")

    found = sources_in([folder, folder / "metadata.csv"])

    assert names(found) == [
        "day 2/take 1.ogg",
        "no ending",
        "take 2.wav",
        "take 10.wav",
        "metadata.csv",
    ]


def test_a_working_copy_that_is_gone_is_made_again(project, talk):
    recording = bring(project, talk).recording
    working = project.working_of(recording.id)
    before = working.read_bytes()
    working.unlink()

    importing.make_working_again(project, recording, lambda done, total: None, lambda: False)

    assert working.read_bytes() == before
