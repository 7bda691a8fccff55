"""A voice of another program taken in as a job: it tells which voice it became, or leaves nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from engines.errors import AudioError, EngineError, NotFoundError, SettingsError
from finetune import adopted_voices
from finetune.jobs import queue
from finetune.jobs.folder import JobFolder
from finetune.jobs.worker import Job, StopWork
from tests import jobs_at_work
from voices import adopting, library


@pytest.fixture
def not_started(monkeypatch):
    """Queue jobs without starting any."""
    monkeypatch.setattr(queue, "advance", lambda workspace: None)


@pytest.fixture
def theirs(tmp_path):
    """A folder that is recognised, and has what it is spoken like."""
    folder = tmp_path / "Grandma"
    folder.mkdir()
    (folder / "config.json").write_text('{"model": "xtts", "languages": ["en", "de"]}')
    tone(folder / "reference.wav", 4)
    return folder


def tone(path, seconds):
    soundfile.write(path, np.sin(np.arange(16000 * seconds) / 20) / 4, 16000)
    return path


@pytest.fixture
def job(tmp_path):
    folder = tmp_path / "job"
    (folder / "control").mkdir(parents=True)
    return Job(JobFolder(folder))


def wish_of(asked):
    return adopted_voices.read_wish(Path(asked.request.argv[-1]))


def nothing_is_left(workspace):
    return not library.listed(workspace) and not [*workspace.voices.iterdir()]


def test_the_job_takes_it_in_as_it_was_wished_and_notes_which_voice_it_became(
    workspace, theirs, job, not_started, monkeypatch, tmp_path
):
    monkeypatch.setattr(adopting, "_adopt", lambda found, into, meanwhile: (into / "m").touch())
    mine = tone(tmp_path / "mine.wav", 7)
    asked = adopted_voices.submit(workspace, theirs, "Ada", "de", str(mine))

    said = adopted_voices.work(job, wish_of(asked))

    [voice] = library.listed(workspace)
    assert said == "Ada is in the library." and asked.request.title == "Take in Ada"
    assert (voice.name, voice.language) == ("Ada", "de")
    assert soundfile.info(voice.folder / "reference.flac").duration == 7
    [ended] = queue.jobs(workspace)
    assert adopted_voices.voice_of(ended) == ""
    (job.folder.path / "report.json").rename(ended.folder.path / "report.json")
    assert adopted_voices.voice_of(ended) == voice.id


def test_asked_twice_at_once_is_one_job_and_another_wish_another(workspace, theirs, not_started):
    first, second = (adopted_voices.submit(workspace, theirs, "", "en") for _ in range(2))
    other = adopted_voices.submit(workspace, theirs, "", "de")

    assert first.id == second.id != other.id


@pytest.mark.parametrize(
    ("wished", "kind"),
    [
        ({}, SettingsError),
        ({"language": "tlh"}, SettingsError),
        ({"language": "en", "reference": "/nowhere/x.wav"}, NotFoundError),
        ({"language": "en", "reference": __file__}, AudioError),
    ],
)
def test_what_is_wrong_at_once_is_refused_before_anything_is_queued(
    workspace, theirs, not_started, wished, kind
):
    with pytest.raises(kind):
        adopted_voices.submit(workspace, theirs, **wished)

    assert queue.jobs(workspace) == [] and [*workspace.cache.iterdir()] == []


def test_a_folder_of_something_else_is_refused_at_once(workspace, tmp_path, not_started):
    with pytest.raises(EngineError, match="no voice that can be taken in"):
        adopted_voices.submit(workspace, tmp_path)


def test_a_stop_ends_its_process_and_leaves_nothing(
    workspace, theirs, job, not_started, monkeypatch
):
    asked = adopted_voices.submit(workspace, theirs, "", "en")
    monkeypatch.setattr(adopting.foreign, "__name__", "tests.sleeps")
    job.folder.ask_to_stop()

    with pytest.raises(StopWork, match="nothing of it was kept"):
        adopted_voices.work(job, wish_of(asked))

    assert nothing_is_left(workspace)


def test_what_its_reader_refuses_ends_the_job_in_words(workspace, theirs):
    asked = adopted_voices.submit(workspace, theirs, "", "en")

    list(asked.folder.follow(poll_seconds=0.05))

    outcome = asked.folder.outcome()
    assert outcome.cause == "bad-input"
    assert outcome.what == "The voice cannot be taken in. Grandma has no vocab.json."
    assert outcome.fix and nothing_is_left(workspace)


def test_only_a_job_that_takes_a_voice_in_is_found(workspace, not_started):
    other = queue.submit(workspace, jobs_at_work.request("count", 1))

    with pytest.raises(NotFoundError, match="takes no voice in"):
        adopted_voices.find(workspace, other.id)
