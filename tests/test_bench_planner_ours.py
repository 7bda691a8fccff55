"""The planner's own rule on known cases: what it plans runs, fast, and after two probes."""

from __future__ import annotations

import pytest

from tests.bench.planner_cases import random_cases, standard_cases
from tests.bench.planner_ours import ours, room_of
from tests.bench.planner_table import table

CASES = random_cases(1, 1000)


class Counting:
    """A trial that runs what fits, and notes what it was asked."""

    def __init__(self, case):
        self.case, self.ran = case, []

    def __call__(self, clips, *, length=None, alone=False, share=1.0):
        taken = self.case.reserved(clips, length, accumulates=clips < self.case.wanted)
        self.ran.append(taken <= share * self.case.total_bytes)
        return self.ran[-1]


def test_where_anything_fits_into_the_room_what_is_planned_takes_no_more():
    for case in CASES:
        room = case.free_bytes - room_of(case).headroom
        if any(case.used(micro) <= room for micro in range(1, case.wanted + 1)):
            micro = ours(case, Counting(case))
            assert micro is None or case.used(micro) <= case.free_bytes


def test_where_anything_fits_into_the_card_it_is_tried():
    for case in CASES:
        if case.best():
            assert ours(case, Counting(case)) is not None


def test_memory_runs_out_only_where_not_even_one_clip_fits_into_the_room():
    for case in CASES:
        trial = Counting(case)
        ours(case, trial)

        assert len(trial.ran) <= 2
        if not all(trial.ran):
            one = case.reserved(1, accumulates=case.wanted > 1)
            assert trial.ran == [False] and one > room_of(case).budget


def test_of_what_the_room_allows_nearly_all_of_the_speed_is_reached():
    shares = []
    for case in CASES:
        room = case.free_bytes - room_of(case).headroom
        allowed = [micro for micro in range(1, case.wanted + 1) if case.used(micro) <= room]
        if allowed:
            micro, best = ours(case, Counting(case)), max(map(case.clips_per_second, allowed))
            shares.append(case.clips_per_second(micro) / best if micro else 0.0)

    assert sum(shares) / len(shares) >= 0.995


@pytest.mark.parametrize("cases", [CASES[:200], standard_cases()], ids=["random", "standard"])
def test_no_other_rule_runs_out_of_memory_as_seldom_and_trains_as_fast(cases):
    *others, known = table(cases, ours)

    assert known.trials <= 3
    for other in others:
        assert other.out_of_memory > known.out_of_memory
        assert other.speed < known.speed or other.out_of_memory > 5 * known.out_of_memory
