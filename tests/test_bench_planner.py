"""What rules for the micro-batch are compared with and by: cases, other programs' rules, a table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from finetune.fitting.peaks import CHANGE, FIRST, MORE, Fit, Growth, Held, Phase
from tests.bench import planner_rules as rules
from tests.bench.planner_cases import (
    ENGINES,
    GIB,
    LONGEST_S,
    SHORTEST_S,
    TRUTHS,
    Case,
    random_cases,
    standard_cases,
)
from tests.bench.planner_rules import RULES
from tests.bench.planner_table import OURS, Row, as_markdown, table

SEED, COUNT = 5, 200


def case(*, gib=10.0, wanted=8, lengths=(10,) * 200, **changes):
    """A card on which every GiB is enough for one clip of 10 units, and one unit is a second."""
    known = Case(
        name="by hand",
        engine="xtts",
        total_bytes=int(gib * GIB),
        free_bytes=int(gib * GIB),
        lengths=tuple(lengths),
        units_per_second=1.0,
        wanted=wanted,
        truth=truth(),
        context_bytes=0,
        fragmented=1.0,
    )
    return replace(known, **changes)


def truth(*, gradients_gib=0, change_gib=0):
    """A tenth of a GiB for each unit; a micro-batch takes 1 s + 1 s a clip, a change 2 s."""
    phases = [
        Phase("", FIRST, 0.0, Growth(0.0, per_unit=GIB / 10)),
        Phase("", MORE, 0.0, Growth(gradients_gib * GIB, per_unit=GIB / 10)),
        Phase("", CHANGE, 0.0, Growth(change_gib * GIB)),
    ]
    return Fit(Held(0, 0, 0), phases, Growth(1.0, 1.0), 2.0)


def micros(one):
    return range(1, one.wanted + 1)


# ---- A case ----


def test_as_many_clips_fit_as_the_card_has_room_for():
    known = case(gib=5)

    assert [known.fits(micro) for micro in (4, 8)] == [True, False]


def test_what_others_hold_is_no_room():
    known = case(gib=8, free_bytes=int(7.9 * GIB))

    assert not known.fits(8)


def test_context_and_fragmentation_take_room():
    known = case(gib=9.81, context_bytes=GIB, fragmented=1.1)  # 8 clips: 8.8 + 1

    assert known.fits(8)
    assert known.used(8) == pytest.approx(9.8 * GIB)
    assert not replace(known, fragmented=1.12).fits(8)
    assert not replace(known, context_bytes=int(1.1 * GIB)).fits(8)


def test_a_step_is_cut_into_equal_micro_batches():
    known = case(gib=4)

    assert known.used(7) == known.used(4) == 4 * GIB


def test_the_longest_clips_decide_what_fits():
    known = case(gib=8, lengths=(*[1] * 100, 20))

    assert known.fits(4)
    assert not known.fits(8)


def test_gradients_of_earlier_micro_batches_take_room_only_where_there_are_some():
    known = case(gib=8, truth=truth(gradients_gib=5))

    assert known.used(4) == 9 * GIB
    assert known.fits(8)


def test_the_optimizer_alone_can_be_too_much():
    known = case(gib=5, wanted=1, truth=truth(change_gib=6))

    assert not known.fits(1)


@pytest.mark.parametrize(
    ("micro", "seconds"), [(8, 1 + 8 + 2), (4, 2 * (1 + 4) + 2), (3, 3 + 8 + 2), (1, 8 * 2 + 2)]
)
def test_speed_counts_every_micro_batch_and_one_change(micro, seconds):
    assert case().clips_per_second(micro) == pytest.approx(8 / seconds)


def test_speed_is_that_of_clips_of_the_mean_length():
    paced = replace(truth(), pace=Growth(0.0, per_unit=0.1), change_seconds=0.0)
    known = case(lengths=(1, 2, 9), truth=paced)

    assert known.clips_per_second(8) == pytest.approx(1 / 0.4)


def test_what_does_not_fit_has_no_speed():
    assert case(gib=5).clips_per_second(8) == 0.0


def test_the_best_is_the_fastest_that_fits():
    assert case(gib=5).best() == pytest.approx(8 / 12)
    assert case(gib=0.5).best() == 0.0


# ---- Many cases ----


def test_the_same_seed_gives_the_same_cases_however_many():
    few, many = random_cases(SEED, 3), random_cases(SEED, 6)

    assert many[:3] == few
    assert random_cases(SEED + 1, 3) != few


def test_no_two_random_cases_are_alike():
    cases = random_cases(SEED, COUNT)

    sizes = {(each.truth.held, each.lengths, each.free_bytes, each.fragmented) for each in cases}
    assert len(sizes) == COUNT
    assert len({each.truth.held.weights for each in cases}) == COUNT


def test_random_cases_are_of_every_engine_and_of_plausible_sizes():
    cases = random_cases(SEED, COUNT)

    assert {each.engine for each in cases} == set(ENGINES)
    for each in cases:
        seconds = [units / each.units_per_second for units in each.lengths]
        assert SHORTEST_S - 0.02 < min(seconds) <= max(seconds) < LONGEST_S + 0.02
        assert 20 <= len(seconds) <= 2000
        assert 1 <= each.wanted <= 64
        assert 6 * GIB <= each.total_bytes <= 80 * GIB
        assert 0.7 * each.total_bytes - 1 <= each.free_bytes <= each.total_bytes
        assert 1.02 <= each.fragmented <= 1.12


def test_random_cases_have_some_where_nothing_fits_and_some_where_everything_does():
    cases = random_cases(SEED, COUNT)

    assert 0 < sum(not each.best() for each in cases) < COUNT / 4
    assert 0 < sum(each.fits(each.wanted) for each in cases) < COUNT


def test_more_clips_at_once_never_use_less_but_a_whole_step_has_no_earlier_gradients():
    for each in random_cases(SEED, COUNT):
        used = [each.used(micro) for micro in micros(each)]
        assert used[:-1] == sorted(used[:-1])
        alone = [each.reserved(micro, accumulates=False) for micro in micros(each)]
        assert alone == sorted(alone)
        assert alone[-1] + each.context_bytes == used[-1]


def test_of_what_fits_the_most_clips_at_once_are_the_fastest_and_the_best():
    for each in random_cases(SEED, COUNT):
        fitting = [micro for micro in micros(each) if each.fits(micro)]
        speeds = [each.clips_per_second(micro) for micro in fitting]
        assert speeds == sorted(speeds)
        assert each.best() == max(speeds, default=0.0)


@pytest.mark.parametrize(("length", "known"), [(160, 1.02e9), (240, 1.53e9), (390, 2.66e9)])
def test_a_clip_of_xtts_takes_what_is_known_of_it(length, known):
    xtts = TRUTHS["xtts"]

    one, two = (xtts.peak(clips, length, accumulates=True) for clips in (1, 2))
    assert two - one == pytest.approx(known, rel=0.002)
    assert one == pytest.approx(4 * 1.76e9 + known, rel=0.005)


def test_a_gan_has_two_turns_that_grow_differently():
    gan = TRUTHS["gan"]

    turns = ("discriminator", "generator")
    named = {f"{turn} {stage}" for turn in turns for stage in (FIRST, MORE, CHANGE)}
    few, many = (gan.peaks(clips, 500, accumulates=True) for clips in (1, 9))
    assert few.keys() == named
    grown = {many[f"{turn} {MORE}"] - few[f"{turn} {MORE}"] for turn in turns}
    assert len(grown) == 2


def test_standard_cases_are_five_cards_for_each_engine():
    cases = standard_cases()

    assert [each.name for each in cases[:5]] == [f"xtts {gib} GiB" for gib in (8, 12, 16, 24, 48)]
    assert len({each.name for each in cases}) == len(cases) == 15
    assert cases == standard_cases()


def test_standard_cases_can_be_of_other_truths():
    measured = truth()

    cases = standard_cases({"pocket": measured})

    assert {each.engine for each in cases} == {"pocket"}
    assert all(each.truth is measured for each in cases)
    assert len(cases) == 5


# ---- Rules ----


class Asked:
    """A trial that notes what it was asked, and runs up to `most` clips of 10 units at once."""

    def __init__(self, most):
        self.most = most
        self.clips, self.lengths, self.shares, self.alone = [], [], [], []

    def __call__(self, clips, *, length=None, alone=False, share=1.0):
        self.clips.append(clips)
        self.lengths.append(length)
        self.shares.append(share)
        self.alone.append(alone)
        return clips * (length or 10) <= self.most * 10


def asked(rule, known, most=10**6):
    """What the rule ends up with, and all it tried."""
    trial = Asked(most)
    return rule(known, trial), trial.clips


@pytest.mark.parametrize(
    ("gib", "length", "clips"),
    [
        (24, 10, 10),  # 38400 * 19 / 75 = 9728 frames; 937 of a clip of 10 s
        (80, 10, 40),  # 38400 frames
        (60, 5, 60),  # 28160 frames
        (4, 10, 1),  # below nothing, so the longest clip
        (80, 1, 64),  # 412 clips of 93 frames, but never more than 64
    ],
)
def test_f5_by_frames_divides_what_it_makes_of_the_whole_card(gib, length, clips):
    known = case(gib=gib, wanted=100, lengths=[length] * 200, free_bytes=GIB)

    assert asked(rules.f5_frames, known) == (clips, [clips])


def test_f5_by_frames_takes_no_more_than_a_quarter_of_few_clips():
    known = case(gib=24, wanted=100, lengths=[10] * 20)

    assert asked(rules.f5_frames, known) == (5, [5])


def test_f5_by_clips_looks_at_the_mean_length_alone():
    known = case(gib=1, wanted=100, lengths=(1, 9))

    assert asked(rules.f5_samples, known) == (40, [40])


@pytest.mark.parametrize(("gib", "clips"), [(12, 6), (11.7, 6), (11.5, 5), (24, 12)])
def test_gpt_sovits_takes_half_the_gigabytes_of_the_whole_card(gib, clips):
    known = case(gib=gib, wanted=100, free_bytes=GIB)

    assert asked(rules.gpt_sovits, known) == (clips, [clips])


def test_nobody_takes_more_than_wanted():
    for rule in RULES.values():
        assert asked(rule, case(gib=80, wanted=6))[0] == 6


def test_a_number_that_does_not_run_is_halved_until_it_does():
    known = case(gib=24, wanted=100)

    assert asked(rules.gpt_sovits, known, most=4) == (3, [12, 6, 3])
    assert asked(rules.f5_frames, known, most=4) == (2, [10, 5, 2])


def test_a_card_that_runs_nothing_trains_nothing():
    for rule in RULES.values():
        assert asked(rule, case(gib=24), most=0)[0] is None


def test_accelerate_descends_by_tenths_from_128():
    assert asked(rules.accelerate_from_128, case(wanted=200), 100) == (92, [128, 115, 103, 92])
    assert asked(rules.accelerate_from_128, case(wanted=50), 100) == (50, [128, 115, 103, 92])


def test_accelerate_descends_from_what_was_asked_for():
    assert asked(rules.accelerate_from_wanted, case(wanted=10), 7) == (7, [10, 9, 8, 7])
    assert asked(rules.accelerate_from_wanted, case(wanted=3), 0) == (None, [3, 2, 1])


@pytest.mark.parametrize(
    ("most", "found", "tried"),
    [(11, 8, [2, 4, 8, 16, 8]), (1, 1, [2, 1, 1]), (0, None, [2, 1])],
)
def test_lightning_doubles_until_it_fails_and_trains_with_the_last_that_ran(most, found, tried):
    assert asked(rules.lightning_power, case(wanted=64), most) == (found, tried)


@pytest.mark.parametrize(
    ("most", "found", "tried"),
    [
        (11, 10, [2, 4, 8, 16, 12, 10, 11, 10]),  # 11 less 5 %
        (3, 2, [2, 4, 3, 2]),
        (1, 1, [2, 1]),
        (0, None, [2, 1]),
    ],
)
def test_lightning_closes_in_and_takes_5_percent_off(most, found, tried):
    assert asked(rules.lightning_binsearch, case(wanted=64), most) == (found, tried)


def test_lightning_tries_no_more_clips_than_there_are():
    known = case(wanted=64, lengths=[10] * 20)

    assert asked(rules.lightning_power, known) == (20, [2, 4, 8, 16, 20, 20])
    assert asked(rules.lightning_binsearch, known) == (19, [2, 4, 8, 16, 20, 19])
    assert asked(rules.lightning_power, case(wanted=64, lengths=[10])) == (1, [1, 1])


def test_lightning_tries_clips_in_the_order_of_the_dataset_and_trains_with_the_longest():
    known = case(wanted=64, lengths=[*[1] * 199, 10])
    trial = Asked(10)

    found = rules.lightning_power(known, trial)

    assert trial.clips == [2, 4, 8, 16, 32, 64, 128, 64, 32, 16, 8]
    assert trial.lengths == [1, 1, 1, 1, 1, 1, 10, None, None, None, None]
    assert trial.alone == [True] * 7 + [False] * 4
    assert found == 8


@pytest.mark.parametrize(
    ("most", "found", "tried"),
    [
        (11, 11, [32, 16, 8, 12, 10, 11, 11]),
        (200, 64, [32, 64, 128, 256, 192, 224, 208, 200, 64]),  # 208 - 200 is under 5 %
        (1, 1, [32, 16, 8, 4, 2, 1, 1]),
    ],
)
def test_nemo_doubles_or_halves_then_bisects_to_5_percent(most, found, tried):
    assert asked(rules.nemo, case(wanted=64), most) == (found, tried)


def test_nemo_searches_in_nine_tenths_of_the_card_and_trains_in_all_of_it():
    trial = Asked(20)

    rules.nemo(case(wanted=64), trial)

    assert trial.shares == [0.9] * (len(trial.clips) - 1) + [1.0]
    assert trial.alone == [True] * (len(trial.clips) - 1) + [False]
    assert set(trial.lengths) == {None}


def test_a_search_ends_even_where_a_clip_costs_nothing():
    for rule in (rules.nemo, rules.lightning_power, rules.lightning_binsearch):
        assert max(asked(rule, case(), most=10**9)[1]) <= 8192


@pytest.mark.parametrize(
    ("rule", "trained_after", "failures", "most_failures", "trials", "mean", "worst"),
    [
        (rules.accelerate_from_128, 0, 10.4, 27, 11.4, 0.957, 0.90),
        (rules.lightning_power, 1, 1.0, 1, 5.8, 0.745, 0.51),
        (rules.lightning_binsearch, 1, 3.6, 7, 10.7, 0.929, 0.67),
        (rules.nemo, 1, 3.4, 6, 6.5, 0.993, 0.96),
    ],
)
def test_searches_cost_and_find_what_was_told_of_them(
    rule, trained_after, failures, most_failures, trials, mean, worst
):
    ceilings, known = range(3, 97), case(wanted=128)

    found = {most: asked(rule, known, most) for most in ceilings}

    failed = [sum(clips > most for clips in found[most][1]) for most in ceilings]
    tried = [len(found[most][1]) - trained_after for most in ceilings]
    shares = [found[most][0] / most for most in ceilings]
    assert sum(failed) / len(failed) == pytest.approx(failures, abs=0.05)
    assert max(failed) == most_failures
    assert sum(tried) / len(tried) == pytest.approx(trials, abs=0.05)
    assert sum(shares) / len(shares) == pytest.approx(mean, abs=0.001)
    assert min(shares) == pytest.approx(worst, abs=0.01)


def test_every_rule_trains_in_the_end_wherever_something_fits():
    cases = random_cases(SEED, COUNT)

    possible = sum(each.best() > 0 for each in cases)
    trained = {row.rule: row.trained for row in table(cases, lambda known, try_: None)}
    assert trained == {**dict.fromkeys(RULES, possible), OURS: 0}


# ---- The table ----


def row_of(rule, *cases):
    """The row of a rule that is tried as ours."""
    return table(cases, rule)[-1]


def test_every_rule_has_a_row_and_ours_is_the_last():
    rows = table([case()], lambda known, try_: None)

    assert [row.rule for row in rows] == [*RULES, OURS]


def test_a_rule_that_tries_nothing_is_tried_once_by_its_training():
    row = row_of(lambda known, try_: 4, case(gib=4))

    assert row == Row(OURS, 1, 1, 0, 1.0, 1.0, 1.0, 1.0)


def test_a_rule_that_promises_too_much_fails_in_training():
    row = row_of(lambda known, try_: 8, case(gib=4))

    assert (row.trained, row.out_of_memory, row.trials, row.speed) == (0, 1, 1.0, 0.0)


def test_a_trial_of_the_training_itself_is_not_made_again():
    row = row_of(lambda known, try_: 4 if try_(4) else None, case(gib=4))

    assert (row.trained, row.trials) == (1, 1.0)


def test_a_trial_on_other_clips_is_not_the_training():
    known = case(gib=4, lengths=[1] * 50 + [10])

    row = row_of(lambda _, try_: 8 if try_(8, length=1) else None, known)

    assert (row.trained, row.out_of_memory, row.trials) == (0, 1, 2.0)


def test_a_trial_alone_is_not_the_training():
    known = case(gib=8, truth=truth(gradients_gib=5))

    row = row_of(lambda _, try_: 4 if try_(4, alone=True) else None, known)

    assert (row.trained, row.out_of_memory, row.trials) == (0, 1, 2.0)


def test_a_trial_that_failed_is_not_the_training():
    row = row_of(lambda known, try_: try_(8) or 8, case(gib=4))

    assert (row.trained, row.out_of_memory, row.trials) == (0, 2, 2.0)


def test_a_trial_of_more_than_wanted_was_one_of_all_that_is_wanted():
    row = row_of(lambda known, try_: 8 if try_(9) else None, case(gib=9))

    assert (row.trained, row.trials) == (1, 1.0)


def test_every_failed_trial_counts():
    row = row_of(lambda known, try_: [try_(8), try_(6), try_(4)].index(True) * 2, case(gib=5))

    assert (row.out_of_memory, row.trials) == (2, 3.0)


def test_a_trial_takes_exactly_as_many_clips_as_it_is_told():
    ran = []

    row_of(lambda known, try_: ran.extend([try_(5), try_(6), try_(100)]), case(gib=5))

    assert ran == [True, False, False]


def test_a_trial_may_be_denied_part_of_the_card():
    ran = []

    row_of(
        lambda known, try_: ran.extend([try_(9, share=0.9), try_(10, share=0.9)]), case(wanted=9)
    )

    assert ran == [True, False]


def test_a_trial_takes_what_others_and_cuda_leave():
    ran = []
    known = case(gib=10, free_bytes=9 * GIB, context_bytes=2 * GIB, fragmented=1.0)

    row_of(lambda _, try_: ran.extend([try_(7), try_(8)]), known)

    assert ran == [True, False]


def test_a_trial_alone_has_no_gradients_of_earlier_micro_batches():
    ran = []
    known = case(gib=8, truth=truth(gradients_gib=5))

    row_of(lambda _, try_: ran.extend([try_(4), try_(4, alone=True), try_(8)]), known)

    assert ran == [False, True, True]


def test_speed_is_a_share_of_the_best_in_each_case():
    slow, best = case(gib=16, free_bytes=8 * GIB), case(gib=8, wanted=4)

    row = row_of(lambda known, try_: 4, slow, best)  # 8/12 of 8/11, and the best

    assert row.speed == pytest.approx((11 / 12 + 1) / 2)
    assert row.slowest == pytest.approx(11 / 12)
    assert row.used == pytest.approx(0.5)


def test_where_it_never_ran_its_speed_is_0_and_its_memory_is_left_out():
    row = row_of(lambda known, try_: 8 if known.fits(8) else None, case(gib=8), case(gib=4))

    assert (row.cases, row.trained) == (2, 1)
    assert (row.speed, row.slowest, row.used) == (0.5, 0.0, 1.0)


def test_where_nothing_fits_only_failures_and_trials_count():
    row = row_of(lambda known, try_: 1 if try_(1) or try_(1) else None, case(gib=0.5), case(gib=1))

    assert (row.cases, row.trained, row.out_of_memory, row.trials) == (1, 1, 2, 1.5)
    assert (row.speed, row.slowest, row.used) == (1.0, 1.0, 1.0)


def test_nobody_is_faster_than_the_best_and_the_best_has_no_failures():
    def knows(known, try_):
        return max((micro for micro in micros(known) if known.fits(micro)), default=None)

    rows = table(random_cases(SEED, COUNT), knows)

    assert all(0 <= row.slowest <= row.speed <= 1 and row.used <= 1 for row in rows)
    assert (rows[-1].speed, rows[-1].slowest, rows[-1].out_of_memory) == (1.0, 1.0, 0)
    assert rows == table(random_cases(SEED, COUNT), knows)


def test_a_table_is_drawn_with_a_line_for_each_rule():
    row = Row("GPT-SoVITS", 1200, 1100, 1234, 1.25, 0.7514, 0.25, float("nan"))

    lines = as_markdown([row]).splitlines()

    assert lines[0].startswith("| Rule | Trains | Out of memory |")
    assert lines[1] == "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    assert lines[2] == "| GPT-SoVITS | 1,100 of 1,200 | 1,234 | 1.2 | 75.1 % | 25.0 % | – |"
    assert lines[3] == ""
