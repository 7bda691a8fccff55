"""What is to be done next follows from how far a project is, and from nothing else."""

from __future__ import annotations

from itertools import product

import pytest

from finetune import listing, next_step, projects
from finetune.next_step import HowFar, next_for
from finetune.transcript import Values
from tests.stores import add_recording

FAR = {"recordings": 3, "clips": 40, "seconds": 300.0, "to_look_at": 0, "frozen": True}


def after(**changed):
    return next_for(HowFar(**{**FAR, **changed})).name


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"recordings": 0, "clips": 0, "frozen": False}, "record"),
        ({"clips": 0, "frozen": False}, "build"),
        ({"clips": 0, "frozen": False, "building": True}, "wait.build"),
        ({"seconds": 20.0, "frozen": False}, "more"),
        ({"to_look_at": 4, "frozen": False}, "look"),
        ({"frozen": False}, "freeze"),
        ({"to_look_at": 4}, "train"),
        ({}, "train"),
        ({"run": "running"}, "wait.train"),
        ({"run": "waiting"}, "wait.train"),
        ({"run": "stopped"}, "resume"),
        ({"run": "interrupted"}, "resume"),
        ({"run": "failed"}, "failed"),
        ({"run": "finished", "run_is_of_this": True}, "speak"),
        ({"run": "finished", "run_is_of_this": False}, "train"),
        ({"run": "finished", "run_is_of_this": True, "frozen": False}, "freeze"),
    ],
)
def test_one_thing_comes_next(changed, name):
    assert after(**changed) == name


def test_wherever_a_project_stands_there_is_a_next_thing_with_words_for_it():
    from app.screen import words

    states = ["", "waiting", "running", "stopping", "stopped", "finished", "failed", "interrupted"]
    every = {
        after(
            recordings=recordings, clips=clips, seconds=seconds, to_look_at=look, frozen=frozen,
            building=building, run=run, run_is_of_this=mine,
        )
        for recordings, clips, seconds, look, frozen, building, run, mine in product(
            (0, 2), (0, 9), (0.0, 90.0), (0, 1), (False, True), (False, True), states, (False, True)
        )
    }  # fmt: skip

    assert {f"next.{each}{end}" for each in every for end in ("", ".do")} <= set(words.catalogue())


def test_a_new_project_wants_recordings(workspace):
    item = projects.create(workspace, "Ada")

    assert next_step.of_project(workspace, item).name == "record"
    assert next_step.of_none().name == "create"


def test_no_clip_of_a_recording_in_the_trash_is_to_be_looked_at(project):
    add_recording(project.store, "r1")
    [clip] = project.transcript.edit("add", new=[Values("r1", 0.0, 1.5, "One.")])
    with project.store.change() as store:
        store.execute(
            "INSERT INTO checks VALUES (?, 0, 1.5, '{}', x'', 'One.', 'look', 'noisy', '[]')",
            (clip.id,),
        )
    assert listing.to_look_at(project) == 1

    project.recordings.trash("r1")

    assert listing.to_look_at(project) == 0
