"""A training that spills over is seen by whoever watches, as long as it runs."""

from __future__ import annotations

import pytest

from finetune.jobs.events import Said, Step, to_line
from finetune.jobs.folder import JobFolder, Request
from finetune.jobs.outcome import Outcome
from finetune.jobs.queue import Job
from finetune.monitor.spill import Moment, spilling
from finetune.spills import Spills


@pytest.fixture
def job(tmp_path):
    def job(state="running", kind="train"):
        outcome = Outcome("stopped", "x") if state == "ended" else None
        return Job(JobFolder(tmp_path), Request(kind, "Train Ada", ()), state, outcome, "")

    return job


def say(job, *events):
    with job.folder.events_path.open("a") as file:
        file.writelines(f"{to_line(event)}\n" for event in events)


@pytest.fixture
def warning():
    """As the training itself says it."""
    found = spilling([Moment(float(at), 100, 1, 50, 60) for at in range(5)])
    assert found
    return found


def test_the_warning_is_told_with_its_training(job, warning):
    say(job(), Said("Hello."), Said(warning))

    [spill] = Spills().now([job()])

    assert (spill.title, spill.text) == ("Train Ada", warning)


def test_each_line_is_read_once_and_what_was_said_stays(job, warning):
    spills = Spills()
    assert spills.now([job()]) == []
    say(job(), Said(warning))
    assert spills.now([job()])

    job().folder.events_path.write_text("")

    assert spills.now([job()])


@pytest.mark.parametrize(
    ("state", "kind"), [("ended", "train"), ("waiting", "train"), ("running", "build")]
)
def test_what_does_not_train_now_does_not_spill(job, warning, state, kind):
    say(job(), Said(warning))

    assert Spills().now([job(state, kind)]) == []


def test_other_words_are_no_warning(job):
    step = Step(1, 2, 1, 0.5, {}, 0.1, 1.0, 2.0, 0.0, {}, {})
    say(job(), Said("The disk is full; it waits."), step)

    assert Spills().now([job()]) == []
