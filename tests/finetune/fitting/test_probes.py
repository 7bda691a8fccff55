"""What is probed: which clips, and how many at once."""

from __future__ import annotations

import pytest

from finetune.fitting.budget import Room
from finetune.fitting.choice import Task
from finetune.fitting.probes import (
    clips_to_probe,
    is_hopeless,
    needs_estimate,
    second_count,
    timed_count,
)
from tests.finetune.fitting.laws import steady

ROUGH = steady(100, base=1000, gradients=200)
TASK = Task(batch=16, longest=10, typical=5)


def room(size):
    return Room(size, size, 0)


def test_a_longest_a_middling_and_a_shortest_clip_are_probed():
    assert clips_to_probe([5, 9, 1, 7, 3]) == (1, 0, 2)
    assert clips_to_probe([4]) == (0,)
    assert clips_to_probe([4, 4]) == (0, 1)


@pytest.mark.parametrize(
    ("size", "count"),
    [
        (2 * (1200 + 1600), 0),  # all of a step is half of what there is
        (2 * (1200 + 1600) - 2, 16),
        (3000, 13),  # 0.85 of it is 2,550
        (1500, 1),
        (100, 1),
    ],
)
def test_the_second_probe_takes_what_surely_fits_and_is_left_out_where_there_is_plenty(size, count):
    assert second_count(ROUGH, TASK, room(size)) == count


@pytest.mark.parametrize(
    ("share", "per_clip", "count"),
    [(16, 0.1, 16), (16, 0.5, 10), (16, 2.0, 2), (16, 60.0, 2), (2, 60.0, 2), (1, 0.1, 1)],
)
def test_as_many_clips_are_timed_as_a_step_has_but_few_where_they_take_long(share, per_clip, count):
    task = Task(batch=share, longest=10, typical=5)

    assert timed_count(steady(100, per_clip=per_clip), task) == count


def test_an_estimate_is_asked_for_where_what_is_always_held_is_half_of_the_room():
    assert needs_estimate(501, room(1000))
    assert not needs_estimate(500, room(1000))


def test_only_what_is_far_too_large_is_hopeless():
    one = 1300

    assert is_hopeless(ROUGH, TASK, room(int(one / 1.15) - 1))
    assert not is_hopeless(ROUGH, TASK, room(int(one / 1.15) + 1))


def test_of_a_single_clip_a_step_has_no_later_micro_batch():
    alone = Task(batch=1, longest=10, typical=5)

    # What lies there in the end is all there is to it: 1,200.
    assert not is_hopeless(ROUGH, alone, room(int(1200 / 1.15) + 1))
    assert is_hopeless(ROUGH, TASK, room(int(1200 / 1.15) + 1))
