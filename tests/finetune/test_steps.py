"""How far each step of a build is, told from what its job said."""

from __future__ import annotations

import time

import pytest

from finetune.jobs.events import Progress, Said, to_line
from finetune.jobs.folder import JobFolder, Request
from finetune.jobs.outcome import Outcome
from finetune.jobs.queue import Job
from finetune.steps import steps_of
from finetune.wishes import Wish

WHOLE = Wish("", "", sources=("a.wav",), whisper="tiny")
READ, HEARD = "files read", "s of sound heard"


@pytest.fixture
def job(tmp_path):
    def job(*said, state="running", cause=""):
        lines = [each if isinstance(each, str) else to_line(each) for each in said]
        (tmp_path / "events.jsonl").write_text("".join(f"{line}\n" for line in lines))
        outcome = Outcome(cause, "It ended.") if cause else None
        return Job(JobFolder(tmp_path), Request("build", "Build", ()), state, outcome, "")

    return job


def states(job, wish=WHOLE):
    return {step.name: step.state for step in steps_of(job, wish)}


def test_a_build_that_has_said_nothing_is_at_its_first_step(job):
    assert states(job()) == {"read": "running", "hear": "waiting", "check": "waiting"}


def test_a_build_that_waits_is_at_no_step(job):
    assert set(states(job(state="waiting")).values()) == {"waiting"}


def test_the_newest_word_on_each_step_counts(job):
    found = steps_of(
        job(Progress(1, 3, READ), Progress(3, 3, READ), Progress(10, 60, HEARD, 5.0, 10.0)), WHOLE
    )

    read, hear, check = found
    assert (read.state, read.done) == ("done", 3)
    assert (hear.state, hear.done, hear.total) == ("running", 10, 60)
    assert (hear.seconds_left, hear.per_second) == (5.0, 10.0)
    assert check.state == "waiting"


def test_a_download_that_was_not_foreseen_has_its_place(job):
    told = job(Progress(3, 3, READ), Progress(10, 75, "MB downloaded"))

    assert states(told) == {
        **{"read": "done", "download": "running"},
        **{"hear": "waiting", "check": "waiting"},
    }
    assert [step.name for step in steps_of(told, WHOLE)] == ["read", "download", "hear", "check"]


def test_a_download_that_begins_when_the_first_recording_is_to_be_heard_is_what_goes_on(job):
    before = (Progress(3, 3, READ), Progress(0, 15.7, HEARD))
    loading = job(*before, Progress(9, 75, "MB downloaded"))
    assert states(loading) == {
        **{"read": "done", "download": "running"},
        **{"hear": "waiting", "check": "waiting"},
    }

    assert states(job(*before, Progress(75, 75, "MB downloaded")))["hear"] == "running"


def test_a_long_recording_is_told_beside_the_step_that_it_is_in(job):
    inside = Progress(100, 3600, 's of "odd\\name".wav aligned')

    _, hear, _ = steps_of(job(Progress(3, 3, READ), Progress(0, 4000, HEARD), inside), WHOLE)

    assert hear.inside == inside


@pytest.mark.parametrize(
    ("cause", "hear"), [("finished", "done"), ("stopped", "stopped"), ("bug", "stopped")]
)
def test_an_ended_build_is_at_no_step_any_more(job, cause, hear):
    ended = job(Progress(3, 3, READ), Progress(9, 60, HEARD), state="ended", cause=cause)

    assert states(ended)["hear"] == hear
    assert states(ended)["check"] == ("done" if cause == "finished" else "waiting")


def test_an_import_has_one_step_and_a_text_needs_no_download(job):
    assert states(job(), Wish("", "", sources=("a",), make_clips=False)) == {"read": "running"}
    assert list(states(job(), Wish("", "", text="a.txt"))) == ["hear", "check"]
    assert list(states(job(), Wish("", ""))) == ["check"]


def test_torn_and_strange_lines_are_left_out(job):
    told = job('{"v": 1, "kind": "Prog', '{"kind": "Progress", "unit": "files read"}', Said("Hm"))

    assert states(told)["read"] == "running"


def test_ten_hours_of_a_build_are_told_quickly(job):
    told = job(*(Progress(second, 36_000, HEARD, 1.0, 1.0) for second in range(60_000)))

    begun = time.process_time()
    _, hear, _ = steps_of(told, WHOLE)

    assert hear.done == 59_999
    assert time.process_time() - begun < 1  # read as JSON, all of it, it is 2 s and more
