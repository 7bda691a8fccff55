"""What a job is told of a wish, and which Whisper a wish means."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from engines.errors import NotDownloadedError, NotFoundError, SettingsError
from finetune import gpu, projects, runs, submitting
from finetune.gpu import Card, Gpus
from finetune.hearing import models
from finetune.jobs import queue
from finetune.making import read_make_wish
from finetune.runs import Plan
from finetune.settings import CutSettings, TrainSettings
from finetune.wishes import read_wish
from tests.whisper import hearing


@pytest.fixture
def requests(monkeypatch):
    """What is asked of the queue, which starts nothing."""
    asked = []

    def submit(workspace, request):
        asked.append(request)
        return SimpleNamespace(id=f"job {len(asked)}")

    monkeypatch.setattr(queue, "submit", submit)
    return asked


def with_cards(monkeypatch, *total_mib):
    """Cards on which nothing is free: what is advised must not depend on it."""
    cards = tuple(Card(at, total_mib=total, free_mib=0) for at, total in enumerate(total_mib))
    monkeypatch.setattr(gpu, "read", lambda: Gpus(cards))


@pytest.mark.parametrize(
    ("cards", "whisper", "needs"),
    [((), "small", "project-"), ((8000,), "", "project-"), ((8000,), "small", "gpu-0")],
)
def test_a_work_waits_for_the_gpu_only_where_one_hears(
    workspace, requests, monkeypatch, cards, whisper, needs
):
    with_cards(monkeypatch, *cards)
    item = projects.create(workspace, "Ada")

    submitting.submit(workspace, item, submitting.wish_for(workspace, item, whisper=whisper), "x")

    assert requests[0].needs.startswith(needs)
    assert needs == "gpu-0" or requests[0].needs == f"project-{item.id}"


def test_what_was_wished_for_lies_in_the_project_and_the_job_is_told_where(workspace, requests):
    item = projects.create(workspace, "Ada")
    wish = submitting.wish_for(workspace, item, sources=("a", "b"), text="ü.srt")
    other = submitting.wish_for(workspace, item, sources=("a",))

    for each in (wish, other, wish):
        submitting.submit(workspace, item, each, "Import")

    first, second, again = requests
    assert first == again and first.once != second.once
    [*_, module, path] = first.argv
    assert module == "finetune.building" and read_wish(Path(path)) == wish
    assert Path(path).parent == projects.folder_of(workspace, item) / "wishes"
    assert first.save_seconds + first.end_seconds <= 10


def test_a_path_is_made_whole_before_a_job_gets_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.wav").touch()

    assert submitting.there("a.wav") == tmp_path / "a.wav"
    with pytest.raises(NotFoundError, match="nothing at"):
        submitting.there("b.wav")


def test_a_whisper_in_a_folder_is_named_by_its_whole_path(tmp_path, monkeypatch):
    monkeypatch.chdir(hearing.MODEL.parent)

    found = submitting.which_whisper(f"./{hearing.MODEL.name}", tmp_path)

    assert Path(found) == hearing.MODEL


def test_a_whisper_that_is_not_here_is_named_only_when_it_may_be_downloaded(tmp_path, monkeypatch):
    monkeypatch.setattr(models, "_in_cache", lambda *model: None)
    with pytest.raises(NotDownloadedError, match="not on this computer"):
        submitting.which_whisper("large", tmp_path)

    assert submitting.which_whisper("large", tmp_path, download=True) == "large-v3"


def test_the_advised_whisper_follows_the_gpu_and_the_language(tmp_path, monkeypatch):
    with_cards(monkeypatch)
    assert submitting.which_whisper("", tmp_path, "en", download=True) == "small.en"
    with_cards(monkeypatch, 1000, None, 40_000)
    assert submitting.which_whisper("", tmp_path, "de", download=True) == "large-v3"


def test_a_whisper_that_knows_only_english_is_refused_for_another_language(tmp_path):
    with pytest.raises(SettingsError, match="only English") as caught:
        submitting.which_whisper("small.en", tmp_path, "de", download=True)

    assert "Take small or turbo for de" in caught.value.fix


def test_settings_hold_from_when_they_were_submitted(workspace, requests):
    """A job that waited long does not bring old ones back."""
    item = projects.create(workspace, "Ada")
    early = submitting.wish_for(workspace, item)
    chosen = submitting.wish_for(workspace, item, cut=CutSettings(max_seconds=8))

    submitting.submit(workspace, item, early, "Check")
    submitting.submit(workspace, item, chosen, "Dataset")

    with projects.open_project(projects.folder_of(workspace, item)) as project:
        assert project.settings(CutSettings).max_seconds == 8
    assert submitting.wish_for(workspace, item).cut.max_seconds == 8


# ---- Trainings ----


@pytest.mark.parametrize(
    ("cards", "device", "needs"),
    [((), "auto", "cpu"), ((8000,), "auto", "gpu-0"), ((8000,), "cpu", "cpu")],
)
def test_a_training_waits_for_what_computes_it(
    workspace, requests, monkeypatch, cards, device, needs
):
    with_cards(monkeypatch, *cards)
    plan = Plan("Ada", "p", 1, "silent", "/base", train=TrainSettings(device=device))
    folder = runs.create(workspace, plan)

    submitting.submit_training(workspace, folder)

    [request] = requests
    assert request.needs == needs and request.once == f"run-{folder.id}"
    assert list(request.argv) == [sys.executable, "-m", "finetune.training", str(folder.path)]
    assert (request.save_seconds, request.end_seconds) == (120, 20)


def test_what_is_to_be_made_is_the_same_wish_when_it_is_typed_again(workspace, requests):
    item = projects.create(workspace, "Ada")
    wish = submitting.wish_for(workspace, item, sources=("a",), cut=CutSettings(max_seconds=8))
    plan = Plan("Ada", item.id, 0, "silent", "/base", engine_settings={"a": 1})

    for each in (plan, plan, replace(plan, train=TrainSettings(epochs=9))):
        submitting.submit_making(workspace, item, wish, each)

    first, again, other = requests
    assert first == again and first.once != other.once
    [*_, module, path] = first.argv
    told = read_make_wish(Path(path))
    assert module == "finetune.making" and told.plan == plan
    assert read_wish(Path(told.build)) == wish
    with projects.open_project(projects.folder_of(workspace, item)) as project:
        assert project.settings(CutSettings).max_seconds == 8
