"""What is drawn of a run: all of it, whenever somebody looks, and thin enough to draw."""

from __future__ import annotations

import random
import time

import pytest

from finetune.curves import BUCKETS, Histories, thinned
from finetune.jobs.events import Measured, Said, Sampled, to_line
from finetune.runs import RunFolder
from tests.trainee import step_event, write_history


@pytest.fixture
def folder(tmp_path):
    return RunFolder(tmp_path)


def test_what_is_new_is_added_to_what_was_read(folder):
    histories = Histories()
    write_history(folder, step_event(1, 9, 3.0), step_event(2, 9, 2.0))
    histories.of(folder)

    write_history(folder, step_event(3, 9, 1.0), Measured(3, 0.5, {}))

    told = histories.of(folder)
    assert told.curve == [(1, 3.0, 1e-5), (2, 2.0, 1e-5), (3, 1.0, 1e-5)]
    assert told.checks == [(3, 0.5)]
    assert Histories().of(folder).curve == told.curve


def test_what_it_said_is_there_in_order_across_jobs_and_not_without_end(folder):
    write_history(folder, Said("It begins."), step_event(1, 9, 3.0))
    write_history(folder, *(Said(f"It goes on ({number}).") for number in range(1000)))

    said = list(Histories().of(folder).said)

    assert said[-1] == "It goes on (999)." and "It begins." not in said and len(said) == 200


def test_half_a_line_is_waited_for(folder):
    histories = Histories()
    line = to_line(step_event(1, 9, 3.0))
    folder.history_path.write_text(line[:20])
    assert histories.of(folder).curve == []

    folder.history_path.write_text(f"{line}\n")

    assert histories.of(folder).curve == [(1, 3.0, 1e-5)]


def test_of_a_step_done_again_the_later_counts(folder):
    write_history(folder, *(step_event(step, 9, 1.0) for step in (1, 2, 3)))
    write_history(folder, *(step_event(step, 9, 0.5) for step in (2, 3)))

    told = Histories().of(folder)

    assert [loss for _, loss, _ in told.curve] == [1.0, 0.5, 0.5]
    assert told.last.loss == 0.5


def test_a_long_history_is_read_in_a_moment(folder):
    write_history(folder, *(step_event(step, 20_000, 1.0) for step in range(20_000)))

    begun = time.process_time()
    told = Histories().of(folder)

    assert len(told.points) == 20_000 and told.last.step == 19_999
    assert time.process_time() - begun < 1


@pytest.mark.parametrize(
    "line",
    [
        "[]", "{", '{"kind": "Step"}', '{"kind": "Step", "step": "1", "loss": 1, "rate": 1}',
        '{"kind": "Step", "step": 1, "loss": NaN, "rate": 1}',
        '{"kind": "Step", "step": 1, "loss": null, "rate": 1}',
    ],
)  # fmt: skip
def test_a_line_that_is_no_step_is_left_out(folder, line):
    folder.history_path.write_text(f"{line}\n")
    write_history(folder, step_event(7, 9, 3.0))

    assert Histories().of(folder).curve == [(7, 3.0, 1e-5)]


def test_a_history_that_was_replaced_is_read_from_its_beginning(folder):
    histories = Histories()
    write_history(folder, *(step_event(step, 9, 1.0) for step in range(1, 6)))
    histories.of(folder)

    folder.history_path.unlink()
    write_history(folder, step_event(1, 9, 0.1))

    assert histories.of(folder).curve == [(1, 0.1, 1e-5)]


def test_a_short_curve_keeps_every_point():
    points = [(step, float(step % 7), 0.1) for step in range(1, 2 * BUCKETS)]

    assert thinned(points) == points


@pytest.mark.parametrize("steps", [3 * BUCKETS, 10_001, 200_000])
def test_a_long_curve_keeps_its_peaks_and_both_ends(steps):
    rng = random.Random(steps)
    points = [(step, rng.gauss(1, 0.1), 0.1) for step in range(1, steps)]
    points[steps // 3] = (points[steps // 3][0], 9.0, 0.1)
    points[steps // 2] = (points[steps // 2][0], -9.0, 0.1)

    kept = thinned(points)

    assert len(kept) <= 2 * BUCKETS + 4 and kept == sorted(kept)
    assert kept[0] == points[0] and kept[-1] == points[-1]
    assert {9.0, -9.0} <= {loss for _, loss, _ in kept}


def test_what_is_drawn_stays_in_place_while_the_run_grows():
    points = [(step, random.Random(step).random(), 0.1) for step in range(1, 1500)]

    before, after = thinned(points[:1040]), thinned(points)

    assert set(before[:-4]) <= set(after)


def test_a_sentence_is_listed_with_the_newest_hearing_first(folder):
    spoken = [
        Sampled(step, text, f"samples/step-{step:06}/{at:02}.flac", 1.0, 0.5 + step / 1000)
        for step in (0, 50, 100)
        for at, text in enumerate(("Hello.", "Bye."))
    ]
    write_history(folder, *spoken, Measured(50, 0.7, {}))

    told = Histories().of(folder)

    assert [text for text, _ in told.samples] == ["Hello.", "Bye."]
    assert [each.step for each in told.samples[0][1]] == [100, 50, 0]
    [_, heard, _] = told.heard
    assert (heard.step, heard.check_loss, heard.similarity) == (50, 0.7, 0.55)
