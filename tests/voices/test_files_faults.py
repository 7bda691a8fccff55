"""voices/files.py on a disk that fails at each of its operations, and that loses its power."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from engines.errors import DamagedFolderError
from tests.faults import (
    Outcome,
    Scenario,
    acknowledge,
    assert_told,
    enumerate_faults,
    enumerate_power_loss,
    needs_linux,
)
from voices import files

pytestmark = needs_linux

OLD, NEW = b"old " * 2000, b"new " * 3000
LIVING = ".tmp-1-0"  # the first process of the system never ends


class Promise(Scenario):
    """What holds for every writer here: errors in words, and nothing left after a sweep."""

    def check(self, folder: Path, outcome: Outcome) -> None:
        assert_told(outcome)
        if outcome.kind == "raised":
            assert outcome.errno is not None, f"{outcome} has lost its number"
        if outcome.kind == "raised" and outcome.was_full:
            assert outcome.is_a("DiskFullError"), f"{outcome} does not say that the disk is full"
        files.sweep(folder)
        assert files.leftovers(folder) == []
        self.holds(folder, bool(outcome.acknowledged))

    def holds(self, folder: Path, acknowledged: bool) -> None:
        """Raise unless what is there is old or, once acknowledged, new."""
        raise NotImplementedError


class ReplaceFile(Promise):
    def prepare(self, folder: Path) -> None:
        (folder / "file").write_bytes(OLD)

    def act(self, folder: Path) -> None:
        files.write_bytes(folder / "file", NEW)
        acknowledge("written")

    def holds(self, folder: Path, acknowledged: bool) -> None:
        assert (folder / "file").read_bytes() in ([NEW] if acknowledged else [OLD, NEW])
        assert [path.name for path in folder.iterdir()] == ["file"]


class StreamFile(ReplaceFile):
    """The same in many writes, as a download or a checkpoint makes them."""

    def act(self, folder: Path) -> None:
        with files.new_file(folder / "file") as file:
            for place in range(0, len(NEW), 4000):
                file.write(NEW[place : place + 4000])
                file.flush()
        acknowledge("written")


class FirstJson(Promise):
    def act(self, folder: Path) -> None:
        files.write_json(folder / "facts.json", {"name": "Tim"})
        acknowledge("written")

    def holds(self, folder: Path, acknowledged: bool) -> None:
        file = folder / "facts.json"
        assert file.exists() or not acknowledged
        assert not file.exists() or json.loads(file.read_bytes()) == {"name": "Tim"}


class SealFolder(Promise):
    """A folder with folders in it appears with everything, or not at all."""

    def act(self, folder: Path) -> None:
        fill(folder / "step-000123")
        acknowledge("sealed")

    def holds(self, folder: Path, acknowledged: bool) -> None:
        sealed = folder / "step-000123"
        assert sealed.exists() or not acknowledged
        if not sealed.exists():
            fill(sealed)  # and the next attempt works
        files.check_folder(sealed)
        assert (sealed / "deep" / "facts.json").read_bytes() == OLD
        assert [path.name for path in folder.iterdir()] == ["step-000123"]


class SealOverBroken(SealFolder):
    """What stands in the way without a manifest is kept, under whatever name."""

    def prepare(self, folder: Path) -> None:
        (folder / "step-000123").mkdir()
        (folder / "step-000123" / "half").write_bytes(b"somebody's")

    def holds(self, folder: Path, acknowledged: bool) -> None:
        if not files.exists(folder / "step-000123"):
            assert not acknowledged
            fill(folder / "step-000123")
        files.check_folder(folder / "step-000123")
        broken = [path for path in folder.iterdir() if path.name != "step-000123"]
        assert [(path / "half").read_bytes() for path in broken] == [b"somebody's"]


class SealBesideAnother(SealFolder):
    """A finished folder is not replaced, and refusing that harms neither."""

    def prepare(self, folder: Path) -> None:
        fill(folder / "step-000123")

    def act(self, folder: Path) -> None:
        with pytest.raises(FileExistsError):
            fill(folder / "step-000123", NEW)


class Sweep(Promise):
    """What a writer left behind goes; an interrupted sweep is finished by the next."""

    def prepare(self, folder: Path) -> None:
        (folder / "kept").write_bytes(OLD)
        orphan = f".tmp-{pid_of_the_dead()}-0"
        (folder / orphan / "deep").mkdir(parents=True)
        (folder / orphan / "deep" / "file").touch()
        (folder / f"{orphan}1").write_bytes(NEW)
        (folder / LIVING).write_bytes(NEW)

    def act(self, folder: Path) -> None:
        files.sweep(folder)
        acknowledge("swept")
        assert files.leftovers(folder) == []

    def holds(self, folder: Path, acknowledged: bool) -> None:
        assert sorted(path.name for path in folder.iterdir()) == [LIVING, "kept"]


def fill(path: Path, content: bytes = OLD) -> None:
    with files.new_folder(path) as folder:
        (folder / "deep").mkdir()
        (folder / "deep" / "facts.json").write_bytes(content)
        (folder / "model.safetensors").write_bytes(NEW)


def pid_of_the_dead() -> int:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return child


@pytest.mark.parametrize(
    "scenario",
    [ReplaceFile, StreamFile, FirstJson, SealFolder, SealOverBroken, SealBesideAnother, Sweep],
)
def test_whatever_fails_and_whenever_there_is_old_or_new(scenario, tmp_path):
    enumerate_faults(scenario, tmp_path)


@pytest.mark.parametrize(
    "scenario", [ReplaceFile, StreamFile, FirstJson, SealFolder, SealOverBroken]
)
def test_whenever_the_power_goes_there_is_old_or_new_and_new_once_acknowledged(scenario, tmp_path):
    enumerate_power_loss(scenario, tmp_path)


def test_a_folder_that_lost_a_file_does_not_count(tmp_path):
    fill(tmp_path / "voice")
    (tmp_path / "voice" / "model.safetensors").unlink()

    with pytest.raises(DamagedFolderError, match=r"model\.safetensors is missing"):
        files.check_folder(tmp_path / "voice")
