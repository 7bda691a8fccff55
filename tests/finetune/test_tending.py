"""Runs in the list: named otherwise, put away, taken back, and never lost."""

from __future__ import annotations

import json

import pytest

from engines.errors import JobError, NameProblem, NotFoundError, SettingsError
from finetune import planning, runs, tending
from finetune.jobs import queue
from finetune.jobs.events import Planned
from finetune.runs import Plan
from tests.jobs_at_work import request
from tests.trainee import write_history


@pytest.fixture
def folder(workspace):
    return runs.create(workspace, Plan("Ada", "p1", 1, "trainee", "/base"))


def test_a_run_that_was_renamed_is_found_by_its_new_name_alone(workspace, folder):
    tending.rename(workspace, "Ada", " Countess ")

    assert runs.find(workspace, "countess").id == folder.id
    assert runs.read_plan(folder.plan_path).name == "Countess"
    assert json.loads(folder.plan_path.read_bytes())["name"] == "Ada"
    with pytest.raises(NotFoundError):
        runs.find(workspace, "Ada")
    assert planning.free_name(workspace, "Countess") == "Countess 2"


def test_a_name_that_another_run_has_is_refused(workspace, folder):
    runs.create(workspace, Plan("Bea", "p1", 1, "trainee", "/base"))

    with pytest.raises(NameProblem):
        tending.rename(workspace, folder.id, "bea")
    tending.rename(workspace, folder.id, "ADA")

    assert runs.find(workspace, folder.id).plan.name == "ADA"


def test_in_the_trash_a_run_keeps_everything_and_is_found_by_its_id(workspace, folder):
    (folder.checkpoints / "kept").touch()

    tending.trash(workspace, "Ada")

    assert runs.all(workspace) == []
    [away] = runs.all(workspace, trashed=True)
    assert away.id == folder.id and away.trashed_at and (folder.checkpoints / "kept").exists()
    assert runs.find(workspace, folder.id).id == folder.id
    for named in ("Ada", folder.id[:6]):
        with pytest.raises(NotFoundError):
            runs.find(workspace, named)
    assert runs.damaged(workspace) == []


def test_what_is_taken_back_gets_a_number_when_its_name_was_given_away(workspace, folder):
    tending.trash(workspace, "Ada")
    runs.create(workspace, Plan("Ada", "p1", 1, "trainee", "/base"))

    back = tending.restore(workspace, folder.id)

    assert back.plan.name == "Ada 2" and not back.trashed_at
    assert len(runs.all(workspace)) == 2


def test_taking_back_what_is_not_in_the_trash_changes_nothing(workspace, folder):
    assert tending.restore(workspace, folder.id).plan.name == "Ada"


def test_a_run_at_work_is_not_put_away(workspace, folder):
    job = queue.submit(workspace, request("count", 1000, 0.1))
    folder.note_job(job.id)

    with pytest.raises(JobError, match="at work"):
        tending.trash(workspace, "Ada")

    queue.stop(workspace, job.id)
    list(job.folder.follow(poll_seconds=0.05))


@pytest.mark.parametrize("content", ["", "[]", '{"name": 3}', '{"name": ""}'])
def test_a_damaged_note_leaves_the_run_as_it_was(workspace, folder, content):
    folder.shown_path.write_text(content)

    assert [run.plan.name for run in runs.all(workspace)] == ["Ada"]


def test_a_run_goes_on_with_half_as_many_clips_at_once_and_nothing_else_changed(workspace, folder):
    write_history(folder, Planned(0, 8, 1, False, "bf16", {}, 1.0, 1.0, None, []))
    made_at = runs.find(workspace, "Ada").started_at

    assert tending.lighten(runs.find(workspace, "Ada")) == 4
    assert tending.lighten(runs.find(workspace, "Ada")) == 2

    after = runs.find(workspace, "Ada")
    assert after.plan.train.micro_batch == 2 and after.started_at == made_at
    assert after.plan.engine == "trainee" and after.plan.base == "/base"


def test_one_clip_at_once_cannot_be_halved(workspace, folder):
    write_history(folder, Planned(0, 1, 8, False, "bf16", {}, 1.0, 1.0, None, []))

    with pytest.raises(SettingsError, match="one clip at a time already"):
        tending.lighten(runs.find(workspace, "Ada"))
