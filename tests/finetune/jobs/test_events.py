"""What a job says, there and back."""

from __future__ import annotations

import json

import pytest

from finetune.jobs.events import Failed, Finished, Progress, Said, Stopped, from_line, to_line


@pytest.mark.parametrize(
    "event",
    [
        Progress(3, 10, "steps", 4.5),
        Said("a | b\n“c”"),
        Finished("Done."),
        Stopped(),
        Failed("bug", "It broke.", "Restart."),
    ],
)
def test_an_event_comes_back_as_it_was_from_one_line(event):
    assert "\n" not in to_line(event)
    assert from_line(to_line(event)) == event


@pytest.mark.parametrize(
    "line",
    [
        '{"kind": "Progress", "done": 1, "total": 2, "unit": "steps", "seconds_left": Infinity}',
        '{"kind": "Progress", "done": NaN, "total": 2, "unit": "steps"}',
        '{"kind": "Progress", "done": null, "total": 2, "unit": "steps"}',
        '{"kind": "Progress", "done": 1, "total": 2, "unit": 3}',
        '{"kind": "Said", "text": {}}',
        '{"kind": "Failed", "cause": 1, "what": "a", "fix": "b"}',
        "Epoch 1: 50%",
        "{}",
        "[1]",
        "3",
        "null",
        '{"kind": "Unheard"}',
        "",
        '{"kind": [1]}',
        '{"kind": "Failed"}',
    ],
)
def test_anything_else_is_not_an_event(line):
    assert from_line(line) is None


def test_a_newer_job_can_be_followed(request):
    line = json.loads(to_line(Progress(1, 2, "clips")))

    assert from_line(json.dumps({**line, "v": 9, "mood": "good"})) == Progress(1, 2, "clips")
