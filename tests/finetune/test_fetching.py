"""A download is a job: it goes on without the page, and begins only when it may."""

from __future__ import annotations

import json

import pytest

from engines.errors import DownloadError, NotFoundError, SettingsError
from finetune import bases, downloads, fetching
from finetune.downloads import Wanted
from finetune.hearing import models
from finetune.jobs import queue
from finetune.jobs.events import from_line
from finetune.jobs.folder import JobFolder
from finetune.jobs.worker import Job
from voices import files


@pytest.fixture
def not_started(monkeypatch):
    """Queue jobs without starting any."""
    monkeypatch.setattr(queue, "advance", lambda workspace: None)


def test_a_whisper_is_queued_once_however_often_it_is_asked_for(workspace, not_started):
    first, second = (fetching.submit(workspace, "tiny") for _ in range(2))

    assert first.id == second.id
    assert first.request.argv[-2:] == (str(workspace.root / "models"), "tiny")
    assert (first.request.kind, first.request.title) == ("download", "Download tiny")


def test_a_base_is_not_queued_before_its_licence_is_agreed_to(workspace, not_started):
    with pytest.raises(SettingsError, match="Coqui Public Model License"):
        fetching.submit(workspace, "xtts")

    assert queue.jobs(workspace) == []
    assert fetching.submit(workspace, "xtts", agreed=True).request.kind == "download"


def test_what_nobody_offers_is_refused(workspace, not_started):
    for name in ("../x", "", "--help", "http://x/"):
        with pytest.raises(NotFoundError):
            fetching.submit(workspace, name, agreed=True)


def test_nothing_is_queued_while_timbre_stays_offline(workspace, not_started, monkeypatch):
    monkeypatch.setenv("TIMBRE_OFFLINE", "1")

    with pytest.raises(DownloadError, match="offline"):
        fetching.submit(workspace, "tiny")


def test_the_job_tells_how_much_has_arrived_and_leaves_the_model(tmp_path, monkeypatch):
    def fetch(wanted, folder, progress, stop):
        progress(0, 4_000_000)
        with files.new_folder(folder) as new:
            (new / "model.bin").write_bytes(b"x" * 10)
        progress(4_000_000, 4_000_000)

    monkeypatch.setattr(
        downloads, "hub_files", lambda *a, **b: [Wanted("https://x/y", "model.bin")]
    )
    monkeypatch.setattr(downloads, "download", fetch)
    monkeypatch.setattr(models, "_refuse_other", lambda folder: None)
    job = Job(JobFolder(tmp_path))

    said = fetching.work(job, tmp_path, "tiny")

    told = [from_line(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert said == "It is downloaded: tiny." and (told[-1].done, told[-1].total, told[-1].unit) == (
        4,
        4,
        "MB",
    )
    assert files.exists(tmp_path / "whisper-tiny")


def test_offers_say_what_is_here_damaged_or_half_way(workspace):
    folder = workspace.root / "models"
    with files.new_folder(folder / "whisper-tiny") as new:
        (new / "model.bin").write_bytes(b"x")
    (folder / "whisper-base").mkdir()
    (folder / "whisper-small.parts").mkdir()

    offers = {each.name: each for each in fetching.offers(workspace)}

    assert offers["tiny"].here and not offers["tiny"].problem
    assert not offers["base"].here and "damaged" in offers["base"].problem
    assert offers["small"].partly and not offers["turbo"].partly
    assert offers["pocket"].here and offers["pocket"].folder == ""
    assert offers["xtts"].folder and json.dumps([each.mb for each in offers.values()])


def test_every_base_that_is_offered_can_be_asked_for(workspace):
    for each in fetching.offers(workspace):
        if each.kind == "base":
            assert bases.downloadable(each.name)
