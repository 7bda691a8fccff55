"""The history of a run: every event of learning, whatever the disk does meanwhile."""

from __future__ import annotations

import errno
import os

import pytest

from finetune import runs
from finetune.curves import Histories
from finetune.jobs.events import Measured, Said, Saved, Step
from finetune.runs import RunFolder
from finetune.training.told import Told


@pytest.fixture
def run(tmp_path):
    return RunFolder(tmp_path)


def step(number):
    return Step(number, 9, 0, 1.0 / 3, {"mel": 0.5}, 1e-5, 1.0, 3.0, 0.1, {"data": 1.0}, {})


class Disk:
    """Writes as the system does, until it is told to be full: then so many bytes still fit."""

    def __init__(self, monkeypatch):
        self.fits = None
        self.error = errno.ENOSPC
        self._write = os.write
        monkeypatch.setattr("finetune.training.told.os.write", self)

    def __call__(self, file, content):
        if self.fits is None:
            return self._write(file, content)
        if not self.fits:
            raise OSError(self.error, os.strerror(self.error))
        part, self.fits = content[: self.fits], 0
        return self._write(file, part)


def test_what_is_about_learning_is_in_the_history_and_everything_goes_to_the_job(run):
    heard = []
    tell = Told(heard.append, run.history_path)
    every = [step(1), Said("Hello."), Measured(1, 0.5, {}), Saved(1, "checkpoints/x", 1.0, 0.1)]

    for event in every:
        tell(event)

    assert heard == every
    assert [type(each) for each in runs.history(run)] == [Step, Measured, Saved]
    assert list(Histories().of(run).said) == ["Hello."]


def test_it_goes_on_where_another_job_ended(run):
    Told(lambda event: None, run.history_path)(step(1))
    Told(lambda event: None, run.history_path)(step(2))

    assert runs.history(run) == [step(1), step(2)]


def test_a_line_that_was_cut_off_costs_no_other_one(run):
    Told(lambda event: None, run.history_path)(step(1))
    with run.history_path.open("ab") as file:
        file.write(b'{"v": 1, "kind": "St')

    tell = Told(lambda event: None, run.history_path)
    tell(step(2))
    tell(step(3))

    assert runs.history(run) == [step(1), step(2), step(3)]


def test_on_a_full_disk_it_is_held_back_and_written_later_in_order(run, monkeypatch):
    heard, disk = [], Disk(monkeypatch)
    tell = Told(heard.append, run.history_path)
    tell(step(1))

    disk.fits = 0
    tell(step(2))
    tell(Said("The disk is full."))
    assert heard == [step(1)]
    disk.fits = None
    tell(step(3))

    assert heard == [step(1), step(2), Said("The disk is full."), step(3)]
    assert runs.history(run) == [step(1), step(2), step(3)]


@pytest.mark.parametrize("fits", [1, 40, 100])
def test_a_line_of_which_only_a_part_fits_is_written_again(run, monkeypatch, fits):
    heard, disk = [], Disk(monkeypatch)
    tell = Told(heard.append, run.history_path)
    tell(step(1))

    disk.fits = fits
    tell(step(2))
    tell(step(3))
    disk.fits = None
    tell(step(4))

    assert runs.history(run) == [step(number) for number in (1, 2, 3, 4)]
    assert heard == [step(number) for number in (1, 2, 3, 4)]


def test_a_job_that_cannot_be_told_is_told_later(run):
    heard, full = [], [True]

    def say(event):
        if full:
            full.pop()
            raise OSError(errno.EDQUOT, "Disk quota exceeded")
        heard.append(event)

    tell = Told(say, run.history_path)
    tell(step(1))
    tell(step(2))

    assert heard == [step(1), step(2)]
    assert runs.history(run) == [step(1), step(2)]


def test_another_fault_of_the_disk_is_not_kept_quiet(run, monkeypatch):
    disk = Disk(monkeypatch)
    tell = Told(lambda event: None, run.history_path)
    disk.fits, disk.error = 0, errno.EIO

    with pytest.raises(OSError, match="Input/output"):
        tell(step(1))


def test_what_is_told_before_a_checkpoint_is_on_the_disk_with_it(run, monkeypatch):
    synced = []
    monkeypatch.setattr(
        "finetune.training.told.os.fsync", lambda file: synced.append(len(runs.history(run)))
    )
    tell = Told(lambda event: None, run.history_path)

    tell(step(1))
    tell(Saved(1, "checkpoints/step-000001", 1.0, 0.1))

    assert synced[-1] == 2
