"""Keeping what was received."""

from __future__ import annotations

import hashlib
from collections import namedtuple

import pytest

from engines.errors import AudioError, DiskFullError
from finetune.jobs.worker import StopWork
from finetune.media import original
from finetune.media.original import Kept
from voices.names import is_id


def never():
    return False


def keep(*arguments) -> Kept:
    """Keep a recording with nothing done meanwhile."""
    with original.keep(*arguments) as kept:
        return kept


def ignore(done, total):
    pass


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "My Voice, take 2.WAV"
    path.write_bytes(bytes(range(256)) * 20_000)
    return path


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "recordings"
    path.mkdir()
    return path


def test_the_copy_is_identical_and_named_by_an_id(source, folder):
    told = []

    kept = keep(source, folder, lambda *so_far: told.append(so_far), never)

    assert kept.path.read_bytes() == source.read_bytes()
    assert kept.sha256 == hashlib.sha256(source.read_bytes()).hexdigest()
    assert is_id(kept.path.stem) and kept.path.suffix == ".wav" and kept.path.parent == folder
    assert told[-1] == (5_120_000, 5_120_000) and len(told) > 3


def test_two_copies_of_one_recording_tell_by_their_hash(source, folder):
    first, second = keep(source, folder, ignore, never), keep(source, folder, ignore, never)

    assert first.path != second.path and first.sha256 == second.sha256


@pytest.mark.parametrize("name", ["voice", "voice.", "a.b c", "a.ünï", "a." + "x" * 50, ".hidden"])
def test_only_a_plain_ending_is_kept(name, tmp_path, folder):
    (tmp_path / name).write_bytes(b"sound")

    path = keep(tmp_path / name, folder, ignore, never).path

    assert is_id(path.name)


def test_nothing_is_kept_when_what_is_done_meanwhile_fails(source, folder):
    with pytest.raises(ZeroDivisionError), original.keep(source, folder, ignore, never):
        raise ZeroDivisionError

    assert list(folder.iterdir()) == []


def test_a_stop_leaves_nothing(source, folder):
    with pytest.raises(StopWork):
        keep(source, folder, ignore, lambda: True)

    assert list(folder.iterdir()) == []


def test_too_little_room_is_said_before_anything_is_written(source, folder, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(original.shutil, "disk_usage", lambda path: usage(10, 10, 30_000_000))

    with pytest.raises(DiskFullError, match="30 MB free"):
        keep(source, folder, ignore, never)

    assert list(folder.iterdir()) == []


def test_a_recording_that_grows_while_it_is_copied_is_refused(source, folder):
    def grow(done, total):
        with source.open("ab") as file:
            file.write(b"more")

    with pytest.raises(AudioError, match="was changed"):
        keep(source, folder, grow, never)

    assert list(folder.iterdir()) == []


def test_what_is_no_file_is_a_sentence(tmp_path, folder):
    for path in (tmp_path, tmp_path / "gone.wav"):
        with pytest.raises(AudioError):
            keep(path, folder, ignore, never)
