"""Which Whisper there is, is advised, is found; the real one is the tiny one of the tests."""

from __future__ import annotations

import hashlib
import shutil

import pytest
from faster_whisper.utils import _MODELS

from engines.errors import DownloadError, EngineError, NotDownloadedError, NotFoundError
from finetune import downloads
from finetune.downloads import Wanted
from finetune.hearing import models
from finetune.hearing.models import CATALOGUE, advised, fetch, find, folder_of, model_of
from finetune.jobs.worker import StopWork
from tests.whisper.hearing import MODEL
from voices import files


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """Where downloaded models lie; no other program has any."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("TIMBRE_OFFLINE", raising=False)
    folder = tmp_path / "models"
    folder.mkdir()
    return folder


def put(shelf, name):
    with files.new_folder(shelf / f"whisper-{name}") as folder:
        shutil.copytree(MODEL, folder, dirs_exist_ok=True)


def copy(tmp_path, without=()):
    """A folder of a person, as another program made it."""
    folder = tmp_path / "mine"
    shutil.copytree(MODEL, folder, ignore=shutil.ignore_patterns(*without))
    return folder


def keep_in_cache(cache, repository, without=()):
    """As huggingface_hub keeps what it has downloaded."""
    place = cache / f"models--{repository.replace('/', '--')}"
    (place / "refs").mkdir(parents=True)
    (place / "refs" / "main").write_text("c0ffee")
    ignored = shutil.ignore_patterns(*without)
    shutil.copytree(MODEL, place / "snapshots" / "c0ffee", ignore=ignored)
    return place / "snapshots" / "c0ffee"


def test_every_size_that_faster_whisper_knows_is_there_from_the_same_place():
    assert {name: model_of(name).repository for name in _MODELS} == _MODELS
    assert {model.name for model in CATALOGUE} == set(_MODELS) - set(models.OTHER_NAMES)


def test_every_whisper_says_what_it_is():
    for model in CATALOGUE:
        assert 70 <= model.size_mb <= 3200
        assert model.good_for.endswith(".") and len(model.good_for) < 80
        assert model.licence == "MIT"


def test_those_for_english_only_are_told_apart():
    english = {model.name for model in CATALOGUE if not model.hears("de")}

    assert english == {name for name in _MODELS if name.endswith(".en") or "distil" in name}
    assert all(model.hears("en") for model in CATALOGUE)
    assert model_of("small").hears(None) and not model_of("small.en").hears(None)


def test_an_unknown_name_is_answered_with_what_there_is(shelf):
    with pytest.raises(NotFoundError, match="no Whisper called 'huge'") as caught:
        find("huge", shelf)

    assert "tiny, tiny.en, base" in caught.value.fix


@pytest.mark.parametrize(
    ("memory_mib", "language", "name"),
    [
        (24_000, "de", "large-v3"),
        (4347, "en", "large-v3"),
        (4346, "de", "turbo"),
        (2945, None, "turbo"),
        (2000, "de", "small"),
        (0, "en", "small.en"),
        (None, "en", "small.en"),
        (None, "ja", "small"),
        (None, None, "small"),
    ],
)
def test_advice_follows_the_memory_and_the_language(memory_mib, language, name):
    advice = advised(memory_mib, language)

    assert advice.name == name
    assert advice.reason.endswith(".")
    assert model_of(name).hears(language)


def test_a_folder_of_a_person_is_taken_as_it_is(tmp_path, shelf):
    folder = copy(tmp_path)

    found = find(str(folder), shelf)

    assert (found.name, found.folder) == ("mine", folder)
    assert found.size_mb == pytest.approx(2.22, abs=0.01)
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        path.name for path in MODEL.iterdir()
    )


def test_a_folder_that_is_not_there_is_named(tmp_path, shelf):
    with pytest.raises(NotFoundError, match="There is nothing at"):
        find(str(tmp_path / "gone"), shelf)


@pytest.mark.parametrize("weights", ["model.safetensors", "pytorch_model.bin"])
def test_weights_for_transformers_are_answered_with_how_to_convert_them(tmp_path, shelf, weights):
    folder = copy(tmp_path, without=["model.bin"])
    (folder / weights).touch()

    with pytest.raises(EngineError, match="weights for transformers") as caught:
        find(str(folder), shelf)

    assert f'ct2-transformers-converter --model "{folder}"' in caught.value.fix
    assert "tokenizer.json" in caught.value.fix


def test_a_file_of_openai_is_answered_with_what_to_take(tmp_path, shelf):
    (tmp_path / "small.pt").touch()

    with pytest.raises(EngineError, match=r"small\.pt is a file") as caught:
        find(str(tmp_path / "small.pt"), shelf)

    assert "by its name" in caught.value.fix


def test_a_folder_without_any_model_is_named(tmp_path, shelf):
    with pytest.raises(EngineError, match="holds no Whisper"):
        find(str(tmp_path), shelf)


@pytest.mark.parametrize(
    "content",
    [b"", b"version https://git-lfs.github.com/spec/v1", b"\x06\0\0\0\x10\0TransformerSpec"],
)
def test_another_model_is_not_taken_for_a_whisper(tmp_path, shelf, content):
    folder = copy(tmp_path)
    (folder / "model.bin").write_bytes(content)

    with pytest.raises(EngineError, match="holds no Whisper"):
        find(str(folder), shelf)


@pytest.mark.parametrize("missing", ["config.json", "tokenizer.json", "vocabulary.json"])
def test_a_folder_that_lacks_a_file_is_told_which(tmp_path, shelf, missing):
    folder = copy(tmp_path, without=[missing])

    with pytest.raises(EngineError, match=f"lacks {missing.removesuffix('json')}"):
        find(str(folder), shelf)


def test_a_name_is_never_a_folder_that_lies_beside_the_program(tmp_path, shelf, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(MODEL, tmp_path / "tiny")

    with pytest.raises(NotDownloadedError):
        find("tiny", shelf)


def test_a_downloaded_one_is_found_by_either_of_its_names(shelf):
    put(shelf, "turbo")

    assert find("turbo", shelf) == find("large-v3-turbo", shelf)
    assert find("turbo", shelf).folder == shelf / "whisper-turbo"


def test_a_downloaded_one_that_lost_a_file_is_not_used(shelf):
    put(shelf, "tiny")
    (shelf / "whisper-tiny" / "config.json").unlink()

    with pytest.raises(NotDownloadedError, match="on this computer, but damaged"):
        find("tiny", shelf)


def test_what_another_program_has_downloaded_is_used_where_it_lies(shelf, tmp_path):
    snapshot = keep_in_cache(tmp_path / "hub", "Systran/faster-whisper-tiny")

    assert find("tiny", shelf, tmp_path / "hub").folder == snapshot
    assert list(shelf.iterdir()) == []


@pytest.mark.parametrize("missing", ["model.bin", "tokenizer.json", "vocabulary.json"])
def test_what_another_program_has_half_downloaded_is_not_used(shelf, tmp_path, missing):
    keep_in_cache(tmp_path / "hub", "Systran/faster-whisper-tiny", without=[missing])

    with pytest.raises(NotDownloadedError):
        find("tiny", shelf, tmp_path / "hub")


def test_one_that_is_not_here_says_its_size_and_every_way_on(shelf):
    with pytest.raises(NotDownloadedError, match=r"large-v3 \(3,090 MB\)") as caught:
        find("large", shelf)

    for way in ("Download it", "choose a folder", "bring the text", "record with prompts"):
        assert way in caught.value.fix


def test_offline_a_download_is_not_proposed(shelf, monkeypatch):
    monkeypatch.setenv("TIMBRE_OFFLINE", "1")

    with pytest.raises(NotDownloadedError, match="told to stay offline") as caught:
        find("tiny", shelf)

    assert "ownload" not in caught.value.fix
    assert caught.value.fix.startswith("Choose a folder")


@pytest.fixture
def hub(monkeypatch):
    """A hub that has the tiny Whisper, and answers at once."""
    asked = []

    def listed(repository, patterns, stop, revision="main"):
        asked.append((repository, patterns))
        return [
            Wanted(path.name, path.name, path.stat().st_size, sha256(path))
            for path in MODEL.iterdir()
        ]

    def append(each, part, tally, stop):
        if stop():
            raise StopWork("Stopped.")
        part.write_bytes((MODEL / each.url).read_bytes())

    monkeypatch.setattr(downloads, "hub_files", listed)
    monkeypatch.setattr(downloads, "_append", append)
    monkeypatch.setattr("finetune.https.refuse_open_line", lambda url: None)
    return asked


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_fetched_one_is_sealed_and_found(shelf, hub):
    told = []

    fetched = fetch("large-v3-turbo", shelf, lambda *now: told.append(now), lambda: False)

    assert fetched == find("turbo", shelf)
    files.check_folder(folder_of(model_of("turbo"), shelf))
    assert hub == [("mobiuslabsgmbh/faster-whisper-large-v3-turbo", models.PATTERNS)]
    assert told[-1][0] == told[-1][1] > 2_000_000


def test_one_that_is_there_is_not_fetched_again(shelf, hub):
    put(shelf, "tiny")

    assert fetch("tiny", shelf, lambda done, total: None, lambda: False) == find("tiny", shelf)
    assert hub == []


def test_a_damaged_one_is_replaced_and_kept_aside(shelf, hub):
    put(shelf, "tiny")
    (shelf / "whisper-tiny" / "config.json").unlink()

    fetch("tiny", shelf, lambda done, total: None, lambda: False)

    assert find("tiny", shelf).folder == shelf / "whisper-tiny"
    assert len(list(shelf.glob("whisper-tiny.broken-*"))) == 1


def test_a_stopped_fetch_leaves_no_model(shelf, hub):
    with pytest.raises(StopWork):
        fetch("tiny", shelf, lambda done, total: None, lambda: True)

    with pytest.raises(NotDownloadedError, match="is not on this computer yet"):
        find("tiny", shelf)


def test_offline_nothing_is_fetched(shelf, monkeypatch):
    monkeypatch.setenv("TIMBRE_OFFLINE", "1")

    with pytest.raises(DownloadError, match="told to stay offline"):
        fetch("tiny", shelf, lambda done, total: None, lambda: False)


@pytest.mark.parametrize("name", ["x" * 5000, "/" + "x" * 5000, "a\0b", "~/" + "晚" * 300])
def test_a_name_that_no_disk_could_have_is_not_found(shelf, name):
    with pytest.raises(NotFoundError):
        find(name, shelf)
