"""The way over a GPU, tried out without one: rooms are kept by counting."""

from __future__ import annotations

import pytest
import torch

from finetune.fitting.budget import Room
from finetune.fitting.choice import Task
from tests.bench import planner, planner_engines, planner_gpu
from tests.bench.planner_gpu import Place
from tests.bench.progress import Progress
from tests.bench.record import CannotMeasure, Settings

TURNS = planner_engines.rivals(lengths=(160, 80, 30), counts=(1, 4), held_out=((2, 120), (6, 160)))
TASK = Task(batch=6, longest=160, typical=60)


def place(size):
    return Place("cpu", Room(size, size, size // 25), "fp32")


@pytest.fixture(scope="module")
def whole():
    """What all of a step takes at once."""
    grid = planner_gpu.full_grid(TURNS, TURNS.trainable(), place(2**40), TASK)
    return grid[6, False][1]


def test_it_never_runs_out_of_memory_and_the_second_time_it_knows(whole):
    outcome = planner_gpu.at(TURNS, place(int(1.5 * whole)), TASK)

    assert outcome.out_of_memory == 0
    assert outcome.warm <= outcome.cold
    assert 0 < outcome.share <= 1
    assert outcome.errors and max(outcome.errors) < 0.1


def test_the_grid_ends_where_memory_does(whole):
    grid = planner_gpu.full_grid(TURNS, TURNS.trainable(), place(whole // 2), TASK)

    kept = {micro for micro, recompute in grid if not recompute}
    assert 1 in kept and 6 not in kept
    assert all(speed > 0 and reserved <= whole // 2 for speed, reserved in grid.values())


def test_the_estimate_is_near_what_is_measured():
    assert max(planner_gpu.prior_errors(TURNS, "cpu")) < 0.1


def test_without_a_gpu_it_says_so():
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")

    with pytest.raises(CannotMeasure, match="no GPU"):
        planner.measure(Settings(gpu=True), Progress())
