"""Bases: found where they are, downloaded on consent, converted once."""

from __future__ import annotations

import os

import pytest

import engines
from engines.errors import DownloadError, EngineError, NotDownloadedError, NotFoundError
from finetune import bases, downloads
from finetune.downloads import Wanted
from finetune.jobs.events import Said
from tests import trainee
from tests.trainee import ENGINE, base_in
from voices import files

FIRST, SECOND = ENGINE.bases


@pytest.fixture
def models(tmp_path):
    (tmp_path / "models").mkdir()
    return tmp_path / "models"


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """A hub that has the base and gives it at once; what was asked of it."""
    asked = []
    source = base_in(tmp_path / "hub")

    def listing(repository, patterns, stop, revision):
        asked.append((repository, revision))
        return [
            Wanted("https://hub/x", name) for name in sorted(each.name for each in source.iterdir())
        ]

    def fetch(wanted, folder, progress, stop):
        with files.new_folder(folder) as new:
            for each in wanted:
                (new / each.name).write_bytes((source / each.name).read_bytes())

    monkeypatch.setattr(downloads, "hub_files", listing)
    monkeypatch.setattr(downloads, "download", fetch)
    asked.append(source)
    return asked


def fetch(models, base=FIRST, agreed=True):
    return bases.download_base(ENGINE, base, models, agreed, lambda *_: None, lambda: False)


# ---- Where one is ----


def test_a_folder_that_a_person_names_is_the_base(models, tmp_path, monkeypatch):
    base_in(tmp_path / "mine")
    monkeypatch.chdir(tmp_path)

    assert bases.find_base(ENGINE, "mine", models) == tmp_path / "mine"
    assert bases.find_base(ENGINE, str(tmp_path / "mine"), models) == tmp_path / "mine"


def test_what_a_base_lacks_is_said_by_name_with_what_to_do(models, tmp_path):
    base_in(tmp_path / "mine")
    (tmp_path / "mine" / "config.json").unlink()

    with pytest.raises(EngineError, match=r"config\.json is missing") as caught:
        bases.find_base(ENGINE, str(tmp_path / "mine"), models)

    assert "Copy what is missing" in caught.value.fix
    (tmp_path / "mine" / "model.bin").unlink()
    with pytest.raises(EngineError, match=r"model\.bin and config\.json are missing"):
        bases.find_base(ENGINE, str(tmp_path / "mine"), models)


def test_a_folder_that_is_not_there_is_said(models, tmp_path):
    with pytest.raises(NotFoundError, match="no folder"):
        bases.find_base(ENGINE, str(tmp_path / "nowhere"), models)


@pytest.mark.parametrize("named", ["", "trainee", "first", "trainee-first"])
def test_a_downloaded_base_is_found_by_each_of_its_names(models, hub, named):
    there = fetch(models)

    assert bases.find_base(ENGINE, named, models) == there == models / "trainee-first"


def test_a_base_that_is_not_here_names_the_command_and_the_licence(models):
    with pytest.raises(NotDownloadedError, match="not on this computer") as caught:
        bases.find_base(ENGINE, "", models)

    assert "launch.py models download trainee`" in caught.value.fix
    assert "Learner's Licence" in caught.value.fix and "12 MB" in caught.value.fix


def test_a_base_that_nobody_can_download_names_no_command(models):
    with pytest.raises(NotDownloadedError) as caught:
        bases.find_base(ENGINE, "second", models)

    assert "models download" not in caught.value.fix and "--base" in caught.value.fix


def test_a_downloaded_base_that_was_damaged_is_not_used(models, hub):
    (fetch(models) / "model.bin").unlink()

    with pytest.raises(NotDownloadedError, match="damaged"):
        bases.find_base(ENGINE, "", models)


def test_every_base_is_listed_with_where_it_is(models, hub, monkeypatch):
    monkeypatch.setattr(engines, "ENGINES", {"trainee": "tests.trainee"})
    there = fetch(models)

    first, second = bases.listed(models)

    assert (first.name, first.folder, first.problem) == ("trainee", there, "")
    assert (second.name, second.folder) == ("trainee-second", None)
    (there / "model.bin").unlink()
    assert [each.problem for each in bases.listed(models)] == ["damaged: download it again", ""]
    assert bases.downloadable("trainee") == (ENGINE, FIRST)
    assert bases.downloadable("turbo") is None


# ---- How one comes here ----


def test_nothing_is_downloaded_before_somebody_agreed_to_the_licence(models, hub):
    with pytest.raises(NotDownloadedError, match="Learner's Licence") as caught:
        fetch(models, agreed=False)

    assert "huggingface.co/somebody/trainee" in caught.value.fix and "--agree" in caught.value.fix
    assert len(hub) == 1 and not any(models.iterdir())


def test_a_base_that_is_here_is_not_fetched_again(models, hub):
    fetch(models)

    assert fetch(models, agreed=False) == models / "trainee-first"
    assert hub[1:] == [("somebody/trainee", "main")]


def test_a_repository_that_lacks_a_file_is_not_half_downloaded(models, hub):
    (hub[0] / "config.json").unlink()

    with pytest.raises(DownloadError, match=r"does not have config\.json"):
        fetch(models)

    assert not any(models.iterdir())


def test_a_base_without_a_source_says_so(models, hub):
    with pytest.raises(NotFoundError, match="cannot be downloaded"):
        fetch(models, SECOND)


# ---- How an engine gets it ----


@pytest.fixture
def made(models, tmp_path, monkeypatch):
    """Convert a base; what was said, and how often the engine was asked."""
    calls = []
    convert = trainee.Trainee.convert
    monkeypatch.setattr(
        trainee.Trainee, "convert", lambda *told: (calls.append(told), convert(*told))[1]
    )
    base_in(tmp_path / "base")

    def act(folder=tmp_path / "base"):
        said = []
        there = bases.converted(ENGINE, folder, models, said.append)
        return there, [each.text for each in said if isinstance(each, Said)], len(calls)

    return act


def test_a_base_is_converted_once_and_says_what_it_does(made, models):
    first, said, calls = made()

    assert first.parent == models / "converted" and first.name.startswith("trainee-")
    assert (first / "model.safetensors").read_bytes() == b"weights"
    files.check_folder(first)
    assert calls == 1 and "is converted" in said[-1]
    assert made() == (first, [], 1)


def test_the_same_base_in_another_folder_is_the_same_conversion(made, tmp_path):
    first, *_ = made()

    again, _, calls = made(base_in(tmp_path / "copy"))

    assert again == first and calls == 1


def test_another_content_is_another_conversion(made, tmp_path):
    first, *_ = made()
    base_in(tmp_path / "base", b"other weights")

    second, _, calls = made()

    assert second != first and calls == 2


def test_files_that_did_not_change_are_not_read_again(made, monkeypatch):
    made()
    monkeypatch.setattr(bases, "_sha256", lambda path: pytest.fail("read"))

    made()


def test_a_file_of_the_same_size_with_another_time_is_read_again(made, tmp_path):
    first, *_ = made()
    base_in(tmp_path / "base", b"weightz weights"[:7])
    os.utime(tmp_path / "base" / "model.bin", ns=(1, 1))

    with pytest.raises(EngineError, match="no weights"):
        made()

    assert first.is_dir()


def test_what_is_no_base_leaves_nothing_behind(made, models, tmp_path):
    base_in(tmp_path / "base", b"nonsense")

    with pytest.raises(EngineError, match="no weights"):
        made()

    assert [each.name for each in (models / "converted").iterdir() if each.is_dir()] == []


def test_a_conversion_that_was_damaged_is_made_again(made):
    first, *_ = made()
    (first / "model.safetensors").unlink()

    again, _, calls = made()

    assert again == first and calls == 2
    files.check_folder(again)


@pytest.mark.parametrize("content", ["", "[1]", '{"x": 3}', "{"])
def test_a_memory_that_cannot_be_read_costs_a_reading(made, models, content):
    first, *_ = made()
    (models / "converted" / "read.json").write_text(content)

    again, said, _ = made()

    assert again == first and "is read" in said[0]
