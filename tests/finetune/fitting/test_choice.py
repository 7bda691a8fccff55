"""Which way is chosen: it fits, it is the fastest, and each step learns from the same clips."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest

from finetune.fitting import choice
from finetune.fitting.budget import Room, of_card
from finetune.fitting.choice import Task, Way
from finetune.fitting.peaks import Growth
from finetune.fitting.search import sizes
from finetune.training.order import micro_batches, share_for, steps_of
from tests.bench.planner_cases import random_cases
from tests.finetune.fitting.laws import MB, candidate, steady

CASES = 1000


def room(budget, context=0):
    return Room(10**12, budget, 0, context)


def in_case(case, room):
    """What is chosen for a case whose truth is known exactly."""
    task = Task(case.wanted, case.longest, case.mean_length)
    return choice.best([candidate(case.truth)], task, room)


def whole_card(case):
    """All that is free, with nothing to spare."""
    taken = case.context_bytes, case.fragmented
    return Room(case.total_bytes, case.free_bytes, 0, *taken)


# ---- The same batch ----


def test_a_thousand_times_each_step_learns_from_each_of_its_clips_exactly_once():
    luck = np.random.default_rng(1)
    for _ in range(1000):
        lengths = luck.integers(50, 400, int(luck.integers(1, 300))).tolist()
        devices, batch = int(luck.integers(1, 10)), int(luck.integers(1, 129))
        fit = steady(luck.uniform(1, 100) * MB, gradients=50 * MB, before=0.2, change=0.1)
        task = Task(batch, max(lengths), 200, devices)

        option = choice.best_or_nearest([candidate(fit)], task, room(luck.uniform(1, 3000) * MB))

        for step in steps_of(lengths, batch, int(luck.integers(2**31)), 0):
            shares = [share_for(rank, devices, step) for rank in range(devices)]
            cut = [micro_batches(share, option.micro_batch) for share in shares]
            assert sorted(chain(*chain(*cut))) == sorted(step)
            assert all(len(micro) <= option.micro_batch for part in cut for micro in part)
            assert max(map(len, cut)) <= option.accumulation


def test_a_full_step_takes_as_many_micro_batches_as_was_said():
    for batch in range(1, 80):
        for option in choice.options(candidate(steady(MB)), Task(batch, 1, 1), room(10**9)):
            assert len(micro_batches(range(batch), option.micro_batch)) == option.accumulation
            assert max(map(len, micro_batches(range(batch), option.micro_batch))) == (
                option.micro_batch
            )


def test_every_number_of_clips_that_makes_a_difference_is_an_option_the_largest_first():
    found = choice.options(candidate(steady(MB)), Task(20, 1, 1, devices=2), room(10**9))

    assert [each.micro_batch for each in found] == sizes(10)[::-1] == [10, 5, 4, 3, 2, 1]


# ---- What fits, and fast ----


def test_in_a_thousand_cases_no_plan_is_over_the_budget():
    over = []
    for case in random_cases(1, CASES):
        known = of_card(
            *(case.total_bytes, case.free_bytes),
            context=case.context_bytes,
            fragmented=case.fragmented,
        )
        option = in_case(case, known)
        over += [case.name] if option and case.used(option.micro_batch) > known.budget + 1 else []

    assert over == []


def test_in_a_thousand_cases_what_is_chosen_is_at_least_95_percent_as_fast_as_the_best():
    for case in random_cases(1, CASES):
        option = in_case(case, whole_card(case))

        if case.best():
            assert case.clips_per_second(option.micro_batch) >= 0.95 * case.best()
        else:
            assert option is None


def test_in_a_thousand_cases_the_speed_that_is_told_is_the_true_one():
    for case in random_cases(1, CASES):
        option = in_case(case, whole_card(case))

        if option:
            true = case.clips_per_second(option.micro_batch)
            assert option.clips_per_second == pytest.approx(true, rel=1e-6)


def test_gradients_are_counted_beside_later_micro_batches_only():
    fit = steady(MB, gradients=3 * MB)
    whole, halves = choice.options(candidate(fit), Task(2, 1, 1), room(10 * MB))

    assert whole.peaks == {"model first": 3 * MB, "model change": 3 * MB}
    assert halves.peaks == {**whole.peaks, "model more": 4 * MB}


def test_of_what_is_equally_fast_the_one_that_takes_less_is_chosen():
    greedy, modest = candidate(steady(2 * MB)), candidate(steady(MB), recompute=True)

    for order in ([greedy, modest], [modest, greedy]):
        assert choice.best(order, Task(8, 1, 1), room(10**9)).way == modest.way


def test_rounding_does_not_decide_between_numbers_of_clips_that_are_equally_fast():
    for batch in range(1, 60):
        fit = steady(MB, per_clip=0.1, change=0.07)

        assert choice.best([candidate(fit)], Task(batch, 1, 1), room(10**9)).micro_batch == 1


def test_what_fits_is_chosen_before_what_is_nearest():
    known, task, space = [candidate(steady(MB, before=1.0))], Task(8, 1, 1), room(10**9)

    option = choice.best_or_nearest(known, task, space)

    assert option == choice.best(known, task, space)
    assert option.micro_batch == 8


def test_the_faster_way_is_chosen_even_when_it_takes_more():
    slow, fast = steady(MB, per_clip=1.3), steady(5 * MB, per_clip=1.0)
    known = [candidate(slow, recompute=True), candidate(fast)]

    assert not choice.best(known, Task(8, 1, 1), room(10**9)).way.recompute
    assert choice.best(known, Task(8, 1, 1), room(4 * MB)).way.recompute


def test_where_nothing_was_timed_fewer_micro_batches_win_and_computing_again_costs_a_third():
    untimed = replace(steady(MB), pace=Growth(0.0), change_seconds=0.0)
    again = replace(steady(MB / 8), pace=Growth(0.0), change_seconds=0.0)
    known = [candidate(untimed), candidate(again, recompute=True)]

    roomy, tight = (choice.best(known, Task(8, 1, 1), room(each * MB)) for each in (8, 1))

    assert (roomy.micro_batch, roomy.way.recompute) == (8, False)
    assert (tight.micro_batch, tight.way.recompute) == (8, True)
    assert tight.work == pytest.approx(4 / 3 * roomy.work)
    assert roomy.clips_per_second is None


# ---- What is given up ----


def test_nothing_of_the_voice_is_given_up_while_a_way_without_fits_however_slow():
    luck = np.random.default_rng(1)
    for _ in range(500):
        known = [
            candidate(steady(luck.uniform(1, 50) * MB, per_clip=luck.uniform(0.1, 9)), **way)
            for way in (
                *({}, {"recompute": True}, {"optimizer": "adamw_8bit"}, {"lora_rank": 8}),
                {"optimizer": "adamw_8bit", "lora_rank": 8},
            )
        ]
        space = room(luck.uniform(1, 60) * MB)

        option = choice.best(known, Task(8, 1, 1), space)

        fitting = [each for each in known if each.fit.peak(1, 1, accumulates=True) <= space.budget]
        if option is None:
            assert not fitting
        else:
            assert option.way.compromise == min(each.way.compromise for each in fitting)


def test_an_optimizer_in_8_bits_gives_up_less_than_lora_and_both_the_most():
    ways = [
        Way("bf16", lora_rank=rank, optimizer=optimizer)
        for rank in (0, 8)
        for optimizer in ("adamw", "adamw_8bit")
    ]

    assert [each.compromise for each in ways] == [0, 1, 2, 3]
    assert Way("bf16", recompute=True).compromise == 0


# ---- More than the training itself ----


def test_more_devices_hold_what_they_send_each_other_while_the_weights_change():
    fit = steady(MB, gradients=500 * MB)

    alone, shared = (
        choice.options(candidate(fit), Task(4 * devices, 1, 1, devices), room(10**9))[0]
        for devices in (1, 2)
    )

    sent = shared.peaks["model change"] - alone.peaks["model change"]
    assert sent == 64 * 2**20
    assert shared.peaks["model first"] == alone.peaks["model first"]
    assert shared.clips_per_second == pytest.approx(2 * alone.clips_per_second)


def test_devices_send_each_other_no_more_than_there_are_gradients():
    fit = steady(MB, gradients=5 * MB)

    option = choice.options(candidate(fit), Task(8, 1, 1, 2), room(10**9))[0]

    assert option.peaks["model change"] == 5 * MB + 5 * MB


def test_speaking_needs_room_beside_weights_and_optimizer():
    fit = steady(MB, base=4 * MB)
    fit = replace(fit, held=replace(fit.held, optimizer=6 * MB, gradients=9 * MB))
    known = replace(candidate(fit), speaking=50 * MB)

    tight, roomy = (choice.best([known], Task(4, 1, 1), room(each * MB)) for each in (59, 60))

    assert tight is None
    assert roomy.peaks["speaking"] == roomy.taken == 60 * MB


def test_what_ran_out_before_is_not_tried_again_whatever_the_room():
    known = replace(candidate(steady(MB, before=1.0)), ceiling=6.5 * MB)

    option = choice.best([known], Task(16, 1, 1), room(10**9))

    assert option.micro_batch == 6
    assert all(
        each.fits == (each.micro_batch <= 6) for each in choice.options(known, Task(16, 1, 1), room(10**9))
    )  # fmt: skip


# ---- Where nothing fits ----


def test_the_nearest_has_the_smallest_lack_of_everything_there_is():
    luck = np.random.default_rng(1)
    for _ in range(500):
        known = [
            candidate(
                steady(luck.uniform(1, 50) * MB, base=100 * MB, gradients=luck.uniform(1, 99) * MB),
                recompute=again,
            )
            for again in (False, True)
        ]
        task, space = Task(int(luck.integers(1, 9)), 1, 1), room(90 * MB)

        nearest = choice.nearest(known, task, space)

        every = [option for each in known for option in choice.options(each, task, space)]
        assert nearest.over == min(each.over for each in every) > 0
        assert nearest == choice.best_or_nearest(known, task, space)


def test_a_whole_step_at_once_can_lack_less_than_one_clip_at_a_time():
    fit = steady(10 * MB, base=100 * MB, gradients=80 * MB)

    nearest = choice.nearest([candidate(fit)], Task(2, 1, 1), room(90 * MB))

    assert (nearest.micro_batch, nearest.over) == (2, 90 * MB)


def test_what_is_over_is_how_much_more_room_would_make_it_fit():
    luck = np.random.default_rng(1)
    for _ in range(500):
        fit, task = steady(luck.uniform(1, 50) * MB), Task(8, 1, 1)
        budget, context = (int(each) for each in luck.uniform(1, 30, 2) * MB)

        for option in choice.options(candidate(fit), task, room(budget, context)):
            enough = room(budget + option.over, context)
            [again] = [
                each
                for each in choice.options(candidate(fit), task, enough)
                if each.micro_batch == option.micro_batch
            ]
            assert again.fits and again.taken == option.taken


def test_the_best_of_each_way_comes_with_what_fits_first_and_the_preferred_way_first():
    huge = candidate(steady(MB, base=10**9))
    again = candidate(steady(MB, per_clip=2.0), recompute=True)
    small = candidate(steady(MB), optimizer="adamw_8bit")

    found = choice.best_of_each([huge, small, again], Task(4, 1, 1), room(100 * MB))

    assert [each.way for each in found] == [again.way, small.way, huge.way]
    assert [each.fits for each in found] == [True, True, False]


def test_of_a_way_that_was_not_measured_only_that_it_does_not_fit_is_known():
    option = choice.unmeasured(Way("bf16"), Task(16, 1, 1, devices=2))

    assert (option.micro_batch, option.accumulation, option.fits) == (1, 8, False)
    assert option.clips_per_second is None and math.isinf(option.work)


def test_computing_again_is_hoped_to_take_a_third_longer_for_all_of_a_step_at_once():
    fit = steady(MB, before=0.5, per_clip=0.25, change=1.0)

    hoped = choice.speed_if_recomputed(fit, Task(10, 1, 1))

    assert hoped == pytest.approx(10 / (4 / 3 * 3.0 + 1.0))
