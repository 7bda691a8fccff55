"""What is told of memory that was not measured, from a little that was."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from finetune.fitting.peaks import CHANGE, FIRST, MORE, Growth, Held, Point, Timed, fit
from tests.finetune.fitting.laws import LENGTHS, MB, Law, held_of, probed, random_laws, timed

TRAININGS = 300
ONE, TWO = ("model",), ("discriminator", "generator")


@pytest.fixture(params=[ONE, TWO], ids=["one turn", "two turns"])
def turns(request):
    return request.param


def trainings(turns, seed=1):
    """Many laws, each with a count for the second probe."""
    luck = np.random.default_rng(seed)
    return [(luck, random_laws(luck, turns), int(luck.integers(3, 25))) for _ in range(TRAININGS)]


def held_out(luck, count):
    """A number of clips and a length that were not measured, no larger than what was."""
    return int(luck.integers(1, count + 1)), int(luck.integers(LENGTHS[-1], LENGTHS[0] + 1))


def true_peak(laws, clips, length, *, accumulates):
    return max(
        max(law.peaks(clips, length, accumulates=accumulates).values()) for law in laws.values()
    )


def single(gradients=4000 * MB, **changes):
    """A law of one turn whose first micro-batch hides below its gradients for a few clips."""
    held = Held(4000 * MB, gradients, 8000 * MB)
    return replace(Law(held, gradients, 10 * MB, 0.0, 1.0 * MB, 0.0, 500 * MB), **changes)


# ---- What was not measured ----


def test_peaks_that_were_not_measured_are_told_within_half_a_percent(turns):
    for luck, laws, count in trainings(turns):
        found = fit(held_of(laws), probed(laws, (1, count)))

        for accumulates in (True, False):
            clips, length = held_out(luck, count)
            told = found.peak(clips, length, accumulates=accumulates)
            true = true_peak(laws, clips, length, accumulates=accumulates)
            assert told == pytest.approx(true, rel=0.005)


def test_every_phase_is_told_within_half_a_percent_and_not_only_the_largest(turns):
    for luck, laws, count in trainings(turns):
        found = fit(held_of(laws), probed(laws, (1, count)))

        clips, length = held_out(luck, count)
        told = found.peaks(clips, length, accumulates=True)
        for turn, law in laws.items():
            for stage in (MORE, CHANGE):
                true = law.peak(stage, clips, length)
                assert told[f"{turn} {stage}"] == pytest.approx(true, rel=0.005)


def test_one_percent_of_noise_makes_at_most_three(turns):
    for luck, laws, count in trainings(turns):
        found = fit(held_of(laws), probed(laws, (1, count), luck=luck, noise=0.01))

        fewer, length = held_out(luck, count)
        # Nothing is added up only where a step is computed at once.
        for clips, accumulates in ((fewer, True), (count, False)):
            told = found.peak(clips, length, accumulates=accumulates)
            true = true_peak(laws, clips, length, accumulates=accumulates)
            assert told == pytest.approx(true, rel=0.03)


def test_the_longest_clips_alone_and_then_three_lengths_are_enough(turns):
    for luck, laws, count in trainings(turns):
        points = [*probed(laws, (1,), LENGTHS[:1]), *probed(laws, (count,))]
        found = fit(held_of(laws), points)

        clips, length = held_out(luck, count)
        true = true_peak(laws, clips, length, accumulates=True)
        assert found.peak(clips, length, accumulates=True) == pytest.approx(true, rel=0.005)


def test_from_one_number_of_clips_more_are_never_told_to_take_less_than_they_do(turns):
    for _, laws, count in trainings(turns):
        found = fit(held_of(laws), probed(laws, (1,), LENGTHS[:1]))

        for accumulates in (True, False):
            told = found.peak(count, LENGTHS[0], accumulates=accumulates)
            true = true_peak(laws, count, LENGTHS[0], accumulates=accumulates)
            assert told >= 0.9999 * true


def test_what_was_measured_is_told_as_it_was(turns):
    for _, laws, count in trainings(turns):
        points = probed(laws, (1, count))
        found = fit(held_of(laws), points)

        assert all(found.at(each) == pytest.approx(each.bytes, rel=0.01) for each in points)


def test_what_was_measured_below_the_lowest_there_may_be_is_told_as_it_was():
    assert Growth.through([(2, 100, 5.0)], lowest=9.0).at(2, 100) == pytest.approx(5.0)


def test_of_several_changes_the_largest_is_told():
    law = single()
    points = probed({"model": law}, (1, 8))
    points = [
        replace(each, bytes=each.bytes + 9 * MB * each.clips) if each.stage == CHANGE else each
        for each in points
    ]

    told = fit(law.held, points).peaks(1, 100, accumulates=True)["model change"]

    assert told == law.peak(CHANGE, 1, 100) + 72 * MB


# ---- The first micro-batch ----


def test_a_first_micro_batch_hidden_below_the_floor_comes_out_from_under_it_with_more_clips():
    law = single()

    found = fit(law.held, probed({"model": law}, (1, 2)))

    small, large = (found.peaks(clips, 400, accumulates=False) for clips in (2, 40))
    assert small["model first"] == law.floor
    assert large["model first"] == pytest.approx(law.peak(FIRST, 40, 400), rel=0.005)


def test_a_first_micro_batch_that_grows_less_steeply_is_told_well_where_it_was_seen():
    law = single(gradients=100 * MB)

    def true(clips, length):
        return law.floor + round(0.8 * (law.peak(FIRST, clips, length) - law.floor))

    points = [
        replace(each, bytes=true(each.clips, each.length)) if each.stage == FIRST else each
        for each in probed({"model": law}, (1, 10))
    ]

    found = fit(law.held, points)

    told = {clips: found.peaks(clips, 300, accumulates=False)["model first"] for clips in (10, 14)}
    assert told[10] == pytest.approx(true(10, 300), rel=0.005)
    assert true(14, 300) < told[14] < 1.05 * true(14, 300)


def test_a_first_micro_batch_seen_once_is_not_told_to_take_less_than_was_seen():
    law = single(gradients=100 * MB)
    points = probed({"model": law}, (1,), (400,))
    seen = [replace(each, bytes=each.bytes + 50 * MB * (each.stage == FIRST)) for each in points]

    found = fit(law.held, seen)

    assert found.at(seen[0]) == seen[0].bytes


def test_first_micro_batches_that_hardly_differ_do_not_tell_how_steeply_they_grow():
    law = single(gradients=100 * MB)
    luck = np.random.default_rng(1)
    points = probed({"model": law}, (10, 20), (400, 398), luck, 0.01)
    points = [each for each in points if each.stage != FIRST or each.clips == 20]

    told = fit(law.held, points).peaks(40, 400, accumulates=False)["model first"]

    assert told == pytest.approx(law.peak(FIRST, 40, 400), rel=0.05)


def test_gradients_of_another_turn_are_not_beside_a_turn():
    laws = random_laws(np.random.default_rng(1), TWO)

    told = fit(held_of(laws), probed(laws, (1, 8))).peaks(1, 1, accumulates=True)

    for turn, law in laws.items():
        assert law.floor < held_of(laws).all
        assert told[f"{turn} {FIRST}"] == pytest.approx(law.peak(FIRST, 1, 1), rel=0.05)


# ---- Phases ----


def test_there_are_three_phases_of_each_turn_and_two_where_nothing_is_added_up(turns):
    laws = random_laws(np.random.default_rng(1), turns)
    found = fit(held_of(laws), probed(laws, (1, 4)))

    assert {*found.peaks(2, 100, accumulates=True)} == {
        f"{turn} {stage}" for turn in turns for stage in (FIRST, MORE, CHANGE)
    }
    assert {*found.peaks(2, 100, accumulates=False)} == {
        f"{turn} {stage}" for turn in turns for stage in (FIRST, CHANGE)
    }


def test_a_turn_without_a_name_leaves_no_space_before_its_phases():
    laws = random_laws(np.random.default_rng(1), ("",))

    assert {*fit(held_of(laws), probed(laws, (1, 4))).peaks(1, 1, accumulates=True)} == {
        *(FIRST, MORE, CHANGE)
    }


def test_nothing_is_told_below_what_lies_there_even_when_probes_contradict_each_other():
    luck = np.random.default_rng(1)
    for _ in range(TRAININGS):
        held = Held(*(int(each) for each in luck.integers(1, 10**9, 3)))
        points = [
            replace(each, bytes=int(held.all * luck.uniform(1, 3)))
            for each in probed({"model": single()}, (1, 5))
        ]

        found = fit(held, points)

        told = [found.peaks(clips, 200, accumulates=True) for clips in (1, 3, 100)]
        assert all(peak >= held.all for peaks in told for peak in peaks.values())


def test_more_or_longer_clips_are_never_told_to_take_less(turns):
    for luck, laws, count in trainings(turns):
        found = fit(held_of(laws), probed(laws, (1, count), luck=luck, noise=0.01))

        by_count = [found.peak(clips, 200, accumulates=True) for clips in range(1, 40)]
        by_length = [found.peak(3, length, accumulates=True) for length in range(1, 500, 20)]
        assert by_count == sorted(by_count) and by_length == sorted(by_length)


def test_a_lighter_optimizer_takes_so_much_less_in_every_phase(turns):
    laws = random_laws(np.random.default_rng(1), turns)
    found = fit(held_of(laws), probed(laws, (1, 8)))
    by = held_of(laws).optimizer // 2

    lighter = found.lighter(by)

    before, after = (each.peaks(5, 300, accumulates=True) for each in (found, lighter))
    assert after == {name: pytest.approx(peak - by, abs=1) for name, peak in before.items()}
    assert lighter.held == replace(found.held, optimizer=found.held.optimizer - by)
    assert lighter.pace == found.pace


# ---- Pace ----


def test_pace_is_told_from_two_numbers_of_clips(turns):
    laws = random_laws(np.random.default_rng(1), turns)

    found = fit(held_of(laws), timed(probed(laws, (1, 8))))

    assert found.pace.at(5, 200) == pytest.approx(len(turns) * (0.1 + 5 * 0.02))
    assert found.change_seconds == pytest.approx(len(turns) * 0.05)


def test_from_one_number_of_clips_more_take_longer_and_each_of_them_less():
    law = single()

    found = fit(law.held, timed(probed({"model": law}, (1,), (400,))))

    seconds = [found.pace.at(clips, 400) for clips in (1, 2, 8)]
    assert seconds[0] == pytest.approx(0.12)
    assert seconds[0] < seconds[1] < 2 * seconds[0]
    assert 4 * seconds[0] < seconds[2] < 8 * seconds[0]


def test_what_was_timed_beside_one_clip_tells_what_a_micro_batch_costs_before_its_first(turns):
    laws = random_laws(np.random.default_rng(1), turns)
    points = timed(probed(laws, (1,), LENGTHS[:1]), before=0.1, per_clip=0.02)
    apart = [Timed(count, 180, len(turns) * (0.1 + count * 0.01)) for count in (1, 8)]

    found = fit(held_of(laws), points, apart)

    for count in (1, 3, 8, 16):
        assert found.pace.at(count, 180) == pytest.approx(
            len(turns) * (0.1 + count * 0.01), rel=0.02
        )
    assert found.phases == fit(held_of(laws), points).phases


def test_more_clips_at_once_are_never_told_to_be_as_slow_as_one_after_another():
    law = single()
    points = timed(probed({"model": law}, (1,), LENGTHS[:1]), before=0.0, per_clip=0.02)

    # As where something else kept the computer busy just then.
    found = fit(law.held, points, [Timed(1, 180, 0.01), Timed(8, 180, 0.12)])

    assert found.pace.at(8, 180) < 8 * found.pace.at(1, 180)


def test_where_nothing_was_timed_there_is_no_pace():
    law = single()

    found = fit(law.held, probed({"model": law}, (1, 8)))

    assert (found.pace, found.change_seconds) == (Growth(0.0), 0.0)


def test_growth_has_no_part_below_zero():
    falling = [(1, 100, 9.0), (2, 100, 7.0), (4, 50, 3.0), (4, 100, 5.0)]

    found = Growth.through(falling)

    assert min(found.constant, found.per_clip, found.per_unit, found.per_square) >= 0


def test_a_point_of_no_phase_is_no_guess():
    law = single()
    found = fit(law.held, probed({"model": law}, (1, 8)))

    with pytest.raises(StopIteration):
        found.at(Point("other", MORE, 1, 1, 1))
