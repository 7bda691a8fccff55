"""From recordings to a voice in one work that goes on where it was cut off."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import engines
from engines.errors import DatasetError
from finetune import building, making, projects, runs, submitting
from finetune.datasets import Dataset, Example
from finetune.jobs.folder import JobFolder
from finetune.jobs.worker import Job, StopWork
from finetune.making import MakeWish
from finetune.runs import Plan
from finetune.wishes import REPORT, write_wish
from tests import trainee
from tests.conftest import ROOT
from tests.jobs_at_work import request
from tests.stores import add_recording
from tests.trainee import base_in
from voices import files, names
from voices.workspace import now


@pytest.fixture(autouse=True)
def loop(monkeypatch):
    """Training stands in for itself: what it is given, and what it does."""
    monkeypatch.setitem(engines.ENGINES, "trainee", "tests.trainee")
    module = ModuleType(making._TRAINING)
    module.train = trainee.train
    monkeypatch.setitem(sys.modules, making._TRAINING, module)
    return module


@pytest.fixture(autouse=True)
def built(monkeypatch):
    """What building finds in the recordings: clips so long, by whoever changes the list."""
    seconds = [2.0, 3.0, 4.0]

    def work(job, wish):
        with projects.open_project(Path(wish.project)) as project:
            if not project.recordings.all():
                add_recording(project.store, "r0")
                project.recordings.set_language("r0", "en")
            clips = [
                Example(at, "r0", at * 10.0, at * 10.0 + s, "x") for at, s in enumerate(seconds)
            ]
            version = project.versions.freeze(Dataset(tuple(clips[1:]), (clips[0],), 0))
        files.write_json(job.folder.path / REPORT, {"version": version.number, "clips": 3})
        return "3 clips."

    monkeypatch.setattr(building, "work", work)
    return seconds


@pytest.fixture
def wish(workspace, tmp_path):
    """A wish to make Ada of recordings."""
    item = projects.create(workspace, "Ada")
    build = submitting.wish_for(workspace, item, sources=("talks",), freeze=True)
    write_wish(build, tmp_path / "build.json")
    plan = Plan("Ada", item.id, 0, "trainee", str(base_in(tmp_path / "base")))
    make = MakeWish(str(workspace.root), str(tmp_path / "build.json"), plan)
    making.write_make_wish(make, tmp_path / "wish.json")
    return tmp_path / "wish.json"


@pytest.fixture
def make(workspace, wish):
    """Make it, as a job; what it says in the end."""

    def act():
        folder = JobFolder(workspace.jobs / names.new_id())
        folder.write_request(request("make"))
        with workspace.store.change() as store:
            store.execute(
                "INSERT INTO jobs VALUES (?, 1, '', '', 'started', '', ?)", (folder.id, now())
            )
        return folder, making.work(Job(folder), wish)

    return act


def test_recordings_become_a_dataset_a_run_and_a_voice(workspace, make):
    job, said = make()

    [run] = runs.all(workspace)
    report = json.loads((job.path / REPORT).read_bytes())
    assert said == "Ada is made."
    assert (run.plan.version, run.plan.name, run.step) == (1, "Ada", 3)
    assert run.folder.is_finished and run.job.id == job.id
    assert report["run"] == run.id and report["clips"] == 3


def test_what_was_made_once_is_not_made_again(workspace, make):
    make()

    _, said = make()

    [run] = runs.all(workspace)
    assert "made of just this before" in said and run.id in said


def test_a_training_that_was_stopped_goes_on_in_the_same_run(workspace, make, loop):
    def stops(job, folder):
        job.folder.ask_to_stop()
        trainee.train(job, folder)

    loop.train = stops
    with pytest.raises(StopWork):
        make()
    [begun] = runs.all(workspace)
    loop.train = trainee.train

    job, said = make()

    [run] = runs.all(workspace)
    assert (begun.step, run.step, run.id) == (1, 3, begun.id)
    assert said == "Ada is made." and run.folder.job_ids()[-1] == job.id
    assert [event.step for event in runs.history(run.folder)][:3] == [1, 2, 3]


def test_corrected_clips_are_another_dataset_and_a_run_of_their_own(workspace, make, built):
    make()
    built[0] = 2.5

    _, said = make()

    second, first = runs.all(workspace)
    assert (first.plan.version, second.plan.version) == (1, 2)
    assert second.plan.name == "Ada 2" and said == "Ada 2 is made."


def test_clips_that_the_engine_cannot_learn_from_are_named_before_a_run_begins(
    workspace, make, built
):
    built[0] = 10.5

    with pytest.raises(DatasetError, match=r"clip 0 \(10\.5 s\)"):
        make()

    assert runs.all(workspace) == []


def test_reading_a_wish_brings_neither_torch_nor_what_listens():
    code = "import sys, finetune.making; print({'torch', 'finetune.building'} & {*sys.modules})"

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)

    assert done.stdout.strip() == "set()", done.stderr
