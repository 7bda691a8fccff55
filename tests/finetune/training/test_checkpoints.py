"""Checkpoints are whole or not there; the last two stay, and the best beside them."""

from __future__ import annotations

import errno
import json
import shutil
from collections import namedtuple
from dataclasses import replace

import pytest
import torch

from engines.errors import DiskFullError
from finetune.jobs.worker import StopWork
from finetune.runs import RunFolder
from finetune.training import checkpoints
from finetune.training.checkpoints import Snapshot
from tests.finetune.training.learning import SETTINGS, Lesson
from voices import files

Usage = namedtuple("Usage", "total used free")
ROOM = Usage(10**12, 0, 10**12)


@pytest.fixture
def run(tmp_path):
    run = RunFolder(tmp_path / "20261121-run")
    for each in (run.path, run.checkpoints, run.best):
        each.mkdir()
    return run


@pytest.fixture(autouse=True)
def disk(monkeypatch):
    """A disk with as much room as a test says, gibibytes by default."""
    room = [ROOM]
    monkeypatch.setattr(
        shutil, "disk_usage", lambda path: room[-1] if len(room) == 1 else room.pop()
    )
    return room


def snapshot(step, average=False):
    tensors = {"one": torch.full((4, 3), float(step)), "count": torch.tensor(step)}
    return Snapshot(
        step,
        {"epoch": 1, "usual": [0.1 + 0.2, 1e-17]},
        tensors,
        {"model/0/step": torch.tensor(float(step))},
        {name: each + 1 for name, each in tensors.items()} if average else {},
        {"0/torch": torch.arange(9, dtype=torch.uint8)},
    )


def damage(file):
    """Turn one byte round, in the middle, so that the size stays."""
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    # Not in place: a hard link of it must not be damaged with it.
    file.unlink()
    file.write_bytes(content)


def steps(parent):
    return sorted(each.name for each in parent.iterdir())


def test_a_checkpoint_comes_back_as_it_was_to_the_last_bit(run):
    before = snapshot(7, average=True)
    checkpoints.save(run, before)

    found = checkpoints.load_newest(run, pytest.fail)

    assert found.step == 7
    assert found.state == {"v": 1, **before.state}
    for part in ("weights", "optimizer", "average", "random"):
        saved, loaded = getattr(before, part), getattr(found, part)
        assert saved.keys() == loaded.keys()
        assert all(torch.equal(saved[name], loaded[name]) for name in saved)
        assert all(saved[name].dtype == loaded[name].dtype for name in saved)


@pytest.mark.parametrize("kind", checkpoints._NAMES)
def test_numbers_of_every_kind_and_shape_come_back_as_they_were(run, kind):
    def some(*shape):
        return torch.randint(0, 2, shape).to(kind)

    tensors = {"0": some(), "none": some(0, 3), "turned": some(3, 2).T, "ä/1": some(2, 3, 4)}
    checkpoints.save(run, Snapshot(1, {}, {**tensors, "byte": torch.tensor(7, dtype=torch.uint8)}))

    found = checkpoints.load_newest(run, pytest.fail).weights

    assert all(torch.equal(found[name], each) for name, each in tensors.items())
    assert all(found[name].dtype == kind for name in tensors)


def test_only_two_stay_and_the_old_one_goes_after_the_new_one_stands(run, monkeypatch):
    stood = []
    remove = files.remove_folder
    monkeypatch.setattr(
        files,
        "remove_folder",
        lambda old: (stood.append((old.name, steps(run.checkpoints))), remove(old)),
    )

    for step in (5, 10, 15):
        checkpoints.save(run, snapshot(step))

    assert stood == [("step-000005", ["step-000005", "step-000010", "step-000015"])]
    assert steps(run.checkpoints) == ["step-000010", "step-000015"]


def test_the_newest_is_the_one_with_the_highest_number(run):
    for step in (999_995, 1_000_000):  # seven digits sort before six
        checkpoints.save(run, snapshot(step))

    assert checkpoints.load_newest(run, pytest.fail).step == 1_000_000


@pytest.mark.parametrize("part", ["weights.safetensors", "state.json", "manifest.json"])
def test_a_damaged_newest_one_is_told_and_the_one_before_it_taken(run, part):
    said = []
    for step in (5, 10):
        checkpoints.save(run, snapshot(step))
    damage(run.checkpoints / "step-000010" / part)

    found = checkpoints.load_newest(run, said.append)

    assert found.step == 5
    assert len(said) == 1 and "step-000010" in said[0] and "before it is taken" in said[0]


def test_a_newest_one_that_the_disk_cannot_read_is_told_as_well(run, monkeypatch):
    for step in (5, 10):
        checkpoints.save(run, snapshot(step))
    check, said = files.check_folder, []

    def failing(folder, **how):
        if folder.name == "step-000010":
            raise OSError(errno.EIO, "Input/output error")
        check(folder, **how)

    monkeypatch.setattr(files, "check_folder", failing)

    assert checkpoints.load_newest(run, said.append).step == 5
    assert len(said) == 1 and "step-000010" in said[0]


def test_where_none_is_whole_there_is_none_and_each_is_told(run):
    said = []
    for step in (5, 10):
        checkpoints.save(run, snapshot(step))
        (run.checkpoints / f"step-{step:06}" / "weights.safetensors").unlink()

    assert checkpoints.load_newest(run, said.append) is None
    assert len(said) == 2


def test_a_damaged_one_is_written_anew_when_the_run_comes_to_its_step_again(run):
    """Its sizes are right: whoever only looks at those takes it for whole."""
    for step in (5, 10):
        checkpoints.save(run, snapshot(step))
    damage(run.checkpoints / "step-000010" / "weights.safetensors")

    again = checkpoints.save(run, snapshot(10))
    checkpoints.keep_best(run, again, 10, "because")

    assert checkpoints.load_newest(run, pytest.fail).step == 10
    assert float(checkpoints.best(run)[2]["one"][0, 0]) == 10


def test_what_is_newer_than_where_a_run_goes_on_does_not_push_out_what_is_whole(run):
    for step in (5, 10):
        checkpoints.save(run, snapshot(step))
    damage(run.checkpoints / "step-000010" / "weights.safetensors")
    found = checkpoints.load_newest(run, lambda text: None)

    checkpoints.let_go_of_newer(run, found.step)
    checkpoints.save(run, snapshot(9))

    assert steps(run.checkpoints) == ["step-000005", "step-000009"]


def test_saving_a_step_twice_leaves_the_first(run):
    first = checkpoints.save(run, snapshot(5))
    inode = (first / "weights.safetensors").stat().st_ino

    second = checkpoints.save(run, snapshot(5))

    assert (second / "weights.safetensors").stat().st_ino == inode


# ---- The best ----


def test_the_best_is_the_same_file_while_its_checkpoint_stays(run):
    best = checkpoints.keep_best(run, checkpoints.save(run, snapshot(5)), 5, "sounds best")
    weights = best / "weights.safetensors"

    assert weights.stat().st_nlink == 2
    for step in (10, 15):
        checkpoints.save(run, snapshot(step))
    assert weights.stat().st_nlink == 1
    assert checkpoints.best(run)[:2] == (5, "sounds best")


def test_the_best_of_a_run_with_an_average_is_the_average(run):
    checkpoints.keep_best(run, checkpoints.save(run, snapshot(5, average=True)), 5, "calm")

    assert float(checkpoints.best(run)[2]["one"][0, 0]) == 6


def test_there_is_one_best_and_it_is_never_missing(run, monkeypatch):
    checkpoints.keep_best(run, checkpoints.save(run, snapshot(5)), 5, "first")
    there = []
    remove = files.remove_folder
    monkeypatch.setattr(
        files, "remove_folder", lambda old: (there.append(checkpoints.best(run)[0]), remove(old))
    )

    checkpoints.keep_best(run, checkpoints.save(run, snapshot(10)), 10, "second")

    assert there == [10]
    assert steps(run.best) == ["best-000010"]


def test_a_disk_without_links_gets_a_copy(run, monkeypatch):
    def no_links(self, target):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr("pathlib.Path.hardlink_to", no_links)

    checkpoints.keep_best(run, checkpoints.save(run, snapshot(5)), 5, "copied")

    assert float(checkpoints.best(run)[2]["one"][0, 0]) == 5


def test_a_damaged_best_is_told_and_not_taken(run):
    said = []
    best = checkpoints.keep_best(run, checkpoints.save(run, snapshot(5)), 5, "first")
    damage(best / "weights.safetensors")

    assert checkpoints.best(run, said.append) is None
    assert len(said) == 1 and "best-000005" in said[0]


def test_a_damaged_best_is_kept_anew_when_the_run_comes_to_its_step_again(run):
    saved = checkpoints.save(run, snapshot(5))
    damage(checkpoints.keep_best(run, saved, 5, "first") / "weights.safetensors")

    checkpoints.keep_best(run, saved, 5, "again")

    assert checkpoints.best(run)[:2] == (5, "again")


# ---- Room ----


def test_a_run_that_could_not_end_is_refused_with_what_it_needs(run, disk):
    disk[:] = [Usage(0, 0, 8_000_000_000)]

    with pytest.raises(DiskFullError, match=r"needs 10\.0 GB .* 8\.0 GB\s+are free") as caught:
        checkpoints.refuse_without_room(run, 2_000_000_000, 3_000_000_000)

    assert "Free some space" in caught.value.fix


def test_a_run_that_goes_on_counts_what_it_has_already(run, disk):
    checkpoints.save(run, snapshot(5))
    folder = run.checkpoints / "step-000005"
    size = sum(each.stat().st_size for each in folder.glob("*.safetensors"))
    disk[:] = [Usage(0, 0, 1_000_000_000 + 3000 - size)]

    checkpoints.refuse_without_room(run, 1000, 0)
    shutil.rmtree(folder)
    with pytest.raises(DiskFullError):
        checkpoints.refuse_without_room(run, 1000, 0)


def test_the_same_file_under_two_names_is_counted_once(run, disk):
    checkpoints.keep_best(run, checkpoints.save(run, snapshot(5)), 5, "best")
    size = sum(each.stat().st_size for each in run.checkpoints.rglob("*.safetensors"))
    disk[:] = [Usage(0, 0, 1_000_000_000 + 3000 - size - 1)]

    with pytest.raises(DiskFullError):
        checkpoints.refuse_without_room(run, 1000, 0)


def patiently(run, said, stop=lambda: False, pause=lambda seconds: None, best=""):
    return checkpoints.save_with_patience(run, snapshot(5), said.append, stop, pause, best)


def test_a_full_disk_pauses_and_says_so_once_and_it_goes_on_when_there_is_room(run, disk):
    said, paused = [], []
    disk[:] = [ROOM, *[Usage(0, 0, 10)] * 3]

    folder = patiently(run, said, pause=paused.append)

    assert len(paused) == 3 and all(0 < seconds <= 10 for seconds in paused)
    assert len(said) == 1 and said[0].startswith("Paused before saving step 5")
    assert files.exists(folder)


def test_a_disk_that_fills_up_while_saving_pauses_as_well(run, monkeypatch):
    said, fails = [], [errno.ENOSPC, errno.EDQUOT]
    write = checkpoints._write

    def filling(*given):
        if fails:
            raise OSError(fails.pop(), "No space left on device")
        write(*given)

    monkeypatch.setattr(checkpoints, "_write", filling)

    patiently(run, said)

    assert len(said) == 1 and checkpoints.load_newest(run, pytest.fail).step == 5
    assert steps(run.checkpoints) == ["step-000005"]


def test_a_disk_that_is_full_when_the_best_is_kept_pauses_as_well(run, monkeypatch):
    said, fails = [], [True]
    keep_best = checkpoints.keep_best

    def filling(*given):
        if fails:
            fails.pop()
            raise DiskFullError("The disk is full.", "Free some space.")
        return keep_best(*given)

    monkeypatch.setattr(checkpoints, "keep_best", filling)

    patiently(run, said, best="it sounds best")

    assert len(said) == 1
    assert checkpoints.best(run)[:2] == (5, "it sounds best")


def test_an_error_that_is_not_about_room_is_not_waited_for(run, monkeypatch):
    def broken(*given):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(checkpoints, "_write", broken)

    with pytest.raises(OSError, match="Input/output"):
        patiently(run, [])


def test_a_wish_to_stop_ends_the_waiting(run, disk):
    asked = iter([False, False, True])
    disk[:] = [Usage(0, 0, 10)]

    with pytest.raises(StopWork, match="The checkpoint before it is kept") as caught:
        patiently(run, [], stop=lambda: next(asked))

    assert "GB are free" in str(caught.value)
    assert steps(run.checkpoints) == []


def test_what_is_written_for_people_to_read_is_json(run):
    folder = checkpoints.save(run, snapshot(5))
    best = checkpoints.keep_best(run, folder, 5, "klingt gut: ähnlich")

    assert json.loads((folder / "state.json").read_bytes())["step"] == 5
    assert json.loads((best / "best.json").read_bytes())["reason"] == "klingt gut: ähnlich"


def test_a_run_that_goes_on_lets_go_of_what_is_damaged(tmp_path):
    settings = replace(SETTINGS, epochs=2)
    lesson = Lesson(tmp_path, settings).learn()
    assert steps(lesson.run.checkpoints) == ["step-000008", "step-000010"]
    damage(lesson.run.checkpoints / "step-000010" / "random.safetensors")

    again = Lesson(tmp_path, settings, wishes=lambda wish: wish == "stop")
    with pytest.raises(StopWork):
        again.learn()

    assert steps(lesson.run.checkpoints) == ["step-000008"]
    assert "random.safetensors is not what was saved" in again.said
