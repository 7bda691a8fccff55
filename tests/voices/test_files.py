"""What tests/faults does not enumerate: what a person sees of safe files."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys

import pytest

from engines.errors import DamagedFolderError, DiskFullError
from voices import files


def a_folder(path, **contents):
    with files.new_folder(path) as folder:
        for name, text in contents.items():
            (folder / name).write_text(text)
    return path


def test_a_file_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / "plan.json"
    files.write_json(path, {"batch": 1})

    files.write_json(path, {"batch": 2, "voice": "Ünï"})

    assert json.loads(path.read_text(encoding="utf-8")) == {"batch": 2, "voice": "Ünï"}
    assert [each.name for each in tmp_path.iterdir()] == ["plan.json"]


def test_a_block_that_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "plan.json"
    path.write_text("old")

    with pytest.raises(ZeroDivisionError), files.new_file(path) as file:
        file.write(b"half")
        raise ZeroDivisionError

    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["plan.json"]


def test_a_full_disk_is_named_with_what_is_free(tmp_path):
    with (
        pytest.raises(DiskFullError, match=r"is full \([\d,]+ MB free\)") as caught,
        files.new_file(tmp_path / "big"),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")

    assert "Free some space" in caught.value.fix
    assert caught.value.__cause__.errno == errno.ENOSPC


def test_a_folder_exists_only_with_its_manifest(tmp_path):
    whole = a_folder(tmp_path / "step-1", weights="abc", settings="{}")
    (tmp_path / "step-2").mkdir()
    (tmp_path / "step-2" / "weights").write_text("abc")

    assert files.exists(whole)
    assert not files.exists(tmp_path / "step-2")
    assert not files.exists(tmp_path / "step-3")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda folder: (folder / "weights").write_text("abX"), "not what was saved"),
        (lambda folder: (folder / "weights").write_text("abcd"), "not what was saved"),
        (lambda folder: (folder / "weights").unlink(), "is missing"),
        (lambda folder: (folder / files.MANIFEST).write_text("{}"), "no readable list"),
        (lambda folder: (folder / files.MANIFEST).write_text('{"files": []}'), "no readable list"),
        (lambda folder: (folder / files.MANIFEST).write_bytes(b"\xff\x00"), "no readable list"),
    ],
)
def test_a_damaged_folder_is_told_apart_from_a_whole_one(tmp_path, change, said):
    folder = a_folder(tmp_path / "voice", weights="abc")
    change(folder)

    with pytest.raises(DamagedFolderError, match=said):
        files.check_folder(folder)


def test_a_folder_with_a_file_cut_short_does_not_exist(tmp_path):
    folder = a_folder(tmp_path / "voice", weights="abc")
    (folder / "weights").write_text("ab")

    assert not files.exists(folder)


def test_a_finished_folder_is_never_replaced(tmp_path):
    folder = a_folder(tmp_path / "step-1", weights="abc")

    with pytest.raises(FileExistsError):
        a_folder(folder, weights="other")

    assert (folder / "weights").read_text() == "abc"


def test_a_broken_folder_makes_way_but_is_kept(tmp_path):
    (tmp_path / "step-1").mkdir()
    (tmp_path / "step-1" / "weights").write_text("half")

    folder = a_folder(tmp_path / "step-1", weights="whole")

    assert (folder / "weights").read_text() == "whole"
    [kept] = tmp_path.glob("step-1.broken-*")
    assert (kept / "weights").read_text() == "half"


def test_sweeping_spares_what_a_living_process_writes(tmp_path):
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], **TEXT)
    ours, left = tmp_path / f".tmp-{os.getpid()}-aa", tmp_path / f".tmp-{ended.stdout.strip()}-bb"
    for folder in (ours, left):
        folder.mkdir()
        (folder / "weights").write_text("half")
    (tmp_path / f".tmp-{ended.stdout.strip()}-cc").write_text("half")
    (tmp_path / "kept").write_text("whole")

    files.sweep(tmp_path)

    assert {each.name for each in tmp_path.iterdir()} == {ours.name, "kept"}


TEXT = {"capture_output": True, "text": True, "check": True}


def test_nested_files_are_in_the_manifest(tmp_path):
    with files.new_folder(tmp_path / "voice") as folder:
        (folder / "samples").mkdir()
        (folder / "samples" / "one.flac").write_bytes(b"fLaC")

    assert list(files.read_manifest(tmp_path / "voice")) == ["samples/one.flac"]
