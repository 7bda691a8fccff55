"""Records as words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app import views
from finetune.jobs import queue
from finetune.jobs.events import Failed, Progress, Said, to_line
from finetune.jobs.outcome import CAUSES
from tests.jobs_at_work import request


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (89.4, "89 s"), (90, "2 min"), (3600, "60 min"), (7800, "2 h 10 min")],
)
def test_a_time_is_said_as_people_say_it(seconds, words):
    assert views.duration(seconds) == words


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (Progress(3, 10, "clips"), "3 of 10 clips"),
        (Progress(1_234_567, 2_000_000, "steps"), "1,234,567 of 2,000,000 steps"),
        (Progress(0.5, 1, "GB", 130.0), "0.5 of 1 GB, 2 min left"),
        (Said("Waiting for room on the disk."), "Waiting for room on the disk."),
        (Failed("bug", "It broke.", "Start it again."), "It broke. Start it again."),
    ],
)
def test_an_event_is_a_line(event, words):
    assert views.event_line(event) == words


def test_every_way_a_job_can_end_has_its_words():
    assert set(views._CAUSES) == set(CAUSES)


def test_a_job_that_cannot_say_how_far_it_is_says_what_it_does(workspace, monkeypatch):
    monkeypatch.setattr(queue, "advance", lambda workspace: None)
    waiting = queue.submit(workspace, request("count", 1))
    running = replace(waiting, state="running")
    events = [Progress(4, 4, "clips prepared"), Said("Measuring."), Progress(1, 3, "steps")]

    lines = []
    for count in range(len(events) + 1):
        written = "".join(f"{to_line(each)}\n" for each in events[:count])
        waiting.folder.events_path.write_text(written)
        lines.append(views.how_far(running))

    assert lines == ["", "4 of 4 clips prepared", "Measuring.", "1 of 3 steps"]
    assert views.how_far(waiting) == ""


def test_a_job_is_told_from_its_start_to_its_end(workspace):
    job = queue.submit(workspace, request("die", "disk"))
    assert views.state(job) == "running"
    list(job.folder.follow(poll_seconds=0.05))

    job = queue.find(workspace, job.id)

    assert views.state(job) == "disk full"
    assert views.how_far(job).startswith("The disk is full. Free some space")
    page = views.job_page(job)
    assert "First error: OSError: [Errno 28] No space left on device" in page
    assert page.index("First error") < page.index("End of the log:")
    assert "tests.jobs_at_work die disk" in page
