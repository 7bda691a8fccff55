"""How far a work is, with a rate and a time left."""

from __future__ import annotations

import pytest

from finetune.jobs import telling
from finetune.jobs.events import from_line, to_line
from finetune.jobs.telling import Telling


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(telling.time, "monotonic", lambda: now[0])
    return now


def test_it_tells_the_rate_and_the_time_left(clock):
    said = []
    tell = Telling(said.append, "clips", 100)

    clock[0] += 4
    tell.at(20)

    assert (said[-1].done, said[-1].total, said[-1].unit) == (20, 100, "clips")
    assert said[-1].per_second == 5.0
    assert said[-1].seconds_left == 16.0
    assert from_line(to_line(said[-1])) == said[-1]


def test_what_was_done_before_counts_but_not_for_the_rate(clock):
    said = []
    tell = Telling(said.append, "clips", 100)
    tell.skip(60)

    clock[0] += 4
    tell.at(80)

    assert said[-1].done == 80
    assert said[-1].per_second == 5.0 and said[-1].seconds_left == 4.0


def test_it_does_not_tell_too_often_and_always_the_beginning_and_the_end(clock):
    said = []
    tell = Telling(said.append, "clips", 1000)
    for done in range(1, 1001):
        clock[0] += 0.01
        tell.at(done)

    assert said[0].done == 0 and said[-1].done == 1000
    assert 15 <= len(said) <= 25


def test_no_rate_is_told_from_nothing(clock):
    said = []
    tell = Telling(said.append, "clips", 10)

    tell.at(10)

    assert said[-1].per_second is None and said[-1].seconds_left is None


def test_the_end_is_told_once_and_nothing_is_told_of_no_work(clock):
    said = []
    tell = Telling(said.append, "clips", 10)
    for _ in range(3):
        clock[0] += 5
        tell.at(10)
    Telling(said.append, "clips", 0).at(0)

    assert [event.done for event in said] == [0, 10]
