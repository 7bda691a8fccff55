"""How many clips at once: measured in a room that the test makes, with a network that is real."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import pytest
import torch

from finetune.fitting.budget import Room
from finetune.fitting.choice import Task
from finetune.fitting.peaks import MORE
from finetune.jobs.worker import StopWork
from finetune.training import devices
from finetune.training.recompute import forget_activations
from finetune.training.sizing import Sizing, task_of
from tests import learner
from tests.finetune.training import probed
from tests.finetune.training.probed import SETTINGS

FACTS = {"engine": "learner", "card": "one"}
LONG, SHORT = 8.0, 1.0
BATCH = 64


def room(size):
    """Exactly so many bytes for tensors, whatever this computer has."""
    return Room(size, size, 0)


def sizing(folder, size, kind=learner.LearnerModel, speak=None, settings=SETTINGS, facts=FACTS):
    trainable = probed.model(kind, dropout=0.0)
    made = Sizing(
        *(trainable, settings, devices.accelerator_for("cpu", "fp32"), "fp32"),
        *(facts, folder, speak, room(size)),
    )
    return made, probed.items(trainable, LONG, 4.0, SHORT), trainable


def task(batch=BATCH):
    return Task(batch, int(LONG * 100), 400)


@cache
def taken_for_real(kind, micro_batch, accumulation, recompute):
    """The most that a step takes, measured by taking it."""
    trainable = probed.model(kind, dropout=0.0)
    if recompute:
        forget_activations(trainable.blocks())
    points, _ = probed.probe(trainable, probed.items(trainable, LONG), micro_batch)
    return max(e.bytes for e in points if accumulation > 1 or e.stage != MORE)


def whole_step(kind=learner.LearnerModel):
    return taken_for_real(kind, BATCH, 1, False)


def test_where_there_is_plenty_one_small_probe_says_enough(tmp_path):
    made, clips, _ = sizing(tmp_path, 10 * whole_step())

    sized = made.choose(clips, task())

    assert (sized.option.micro_batch, sized.option.accumulation) == (BATCH, 1)
    assert sized.probes == 1
    assert not sized.option.way.recompute


def keeping_time(trainable, clock, before, per_frame):
    """Let each pass take so long, and ten times that where its shape is new."""
    seen = set()

    def pass_by(batch):
        shape = batch["frames"].shape[:2]
        times = 1 if shape in seen else 10
        seen.add(shape)
        clock.passes(times * (before + per_frame * shape[0] * shape[1]))

    trainable.network.before = pass_by


@pytest.mark.parametrize("kind", [learner.LearnerModel, learner.RivalsModel])
@pytest.mark.parametrize(
    ("before", "per_frame"),
    [
        (0.1, 1e-5),  # a small network: a pass is as long with one clip as with some
        (0.0, 2e-4),
        (0.1, 1e-3),
        (8.0, 0.02),  # so slow that a whole step is not timed
    ],
)
@pytest.mark.parametrize("share", [10, 0.5])
def test_the_pace_that_is_told_is_that_of_the_steps_to_come(
    tmp_path, monkeypatch, kind, before, per_frame, share
):
    clock = probed.Clock(monkeypatch)
    probed.count_slowly(clock, monkeypatch)
    settings = replace(SETTINGS, recompute="no")
    made, clips, trainable = sizing(
        tmp_path, int(share * whole_step(kind)), kind, settings=settings
    )
    keeping_time(trainable, clock, before, per_frame)

    option = made.choose(clips, task()).option

    seconds = len(trainable.turns) * (option.accumulation * before + per_frame * BATCH * 400)
    assert option.clips_per_second == pytest.approx(BATCH / seconds, rel=0.1)


def test_the_pace_is_told_of_the_next_run_too_without_timing_it_again(tmp_path, monkeypatch):
    clock = probed.Clock(monkeypatch)
    made, clips, trainable = sizing(tmp_path, 10 * whole_step())
    keeping_time(trainable, clock, 0.1, 1e-5)
    first = made.choose(clips, task()).option
    again, clips, trainable = sizing(tmp_path, 10 * whole_step())
    passes = []
    trainable.network.before = passes.append

    second = again.choose(clips, task()).option

    assert second.clips_per_second == pytest.approx(first.clips_per_second)
    assert not passes


def test_where_timing_runs_out_of_memory_the_probe_alone_is_believed(tmp_path, monkeypatch):
    made, clips, trainable = sizing(tmp_path, 10 * whole_step())

    def run_out(batch):
        if len(batch["frames"]) > 1:
            raise torch.OutOfMemoryError("somebody else took it")

    trainable.network.before = run_out

    sized = made.choose(clips, task())

    assert sized.option.micro_batch == BATCH and sized.option.clips_per_second


def test_the_pace_of_what_was_found_by_trying_is_told_too(tmp_path, monkeypatch):
    clock = probed.Clock(monkeypatch)
    made, clips, trainable = sizing(tmp_path, whole_step() // 2)
    keeping_time(trainable, clock, 0.1, 1e-5)

    option = made.search(clips, task(), lambda: False).option

    seconds = option.accumulation * 0.1 + 1e-5 * BATCH * 400
    assert option.clips_per_second == pytest.approx(BATCH / seconds, rel=0.1)


@pytest.mark.parametrize("kind", [learner.LearnerModel, learner.RivalsModel])
@pytest.mark.parametrize("share", [0.2, 0.35, 0.5, 0.75, 0.97, 1.05, 1.5])
def test_what_is_chosen_fits_for_real_and_the_next_larger_does_not(tmp_path, kind, share):
    size = int(share * whole_step(kind))
    made, clips, _ = sizing(tmp_path, size, kind)

    sized = made.choose(clips, task())

    option = sized.option
    real = taken_for_real(kind, option.micro_batch, option.accumulation, option.way.recompute)
    # A fit is right to a hundredth or so: what is left to others is four times that.
    assert option.fits and real <= 1.02 * size
    assert max(option.peaks.values()) == pytest.approx(real, rel=0.05)
    if option.accumulation > 1 and not option.way.recompute:
        larger = -(-BATCH // (option.accumulation - 1))
        assert taken_for_real(kind, larger, option.accumulation - 1, False) > 0.95 * size


def test_it_takes_two_probes_and_never_runs_out(tmp_path, monkeypatch):
    size = whole_step() // 2
    made, clips, _ = sizing(tmp_path, size)
    ran_out = []
    monkeypatch.setattr(
        "finetune.training.probing.memory.is_out_of_memory", lambda e: ran_out.append(e) or True
    )

    sized = made.choose(clips, task())

    assert not ran_out
    # Two of each way that was looked at.
    assert sized.probes == 2 * len(sized.others)


def test_the_second_time_one_probe_confirms_it(tmp_path):
    size = int(0.8 * whole_step())
    made, clips, _ = sizing(tmp_path, size)
    first = made.choose(clips, task())
    again, clips, _ = sizing(tmp_path, size)

    second = again.choose(clips, task())

    assert second.option.micro_batch == first.option.micro_batch
    assert second.probes == len(second.others) == 1 < first.probes


def test_what_is_not_true_any_more_is_measured_anew(tmp_path, monkeypatch):
    size = int(0.8 * whole_step())
    made, clips, _ = sizing(tmp_path, size)
    before = made.choose(clips, task()).option
    again, clips, trainable = sizing(tmp_path, size)
    # As after an update of a library that keeps more.
    trainable.network.register_buffer("more", torch.zeros(2_000_000))

    after = again.choose(clips, task())

    # Twice: a step keeps a copy of what a forward pass may change.
    assert max(after.option.peaks.values()) == pytest.approx(
        max(before.peaks.values()) + 2 * 8_000_000, rel=0.04
    )
    assert after.probes >= 3


def test_other_facts_are_other_measurements(tmp_path):
    size = int(0.8 * whole_step())
    made, clips, _ = sizing(tmp_path, size)
    made.choose(clips, task())
    other, clips, _ = sizing(tmp_path, size, facts={**FACTS, "card": "another"})

    assert other.choose(clips, task()).probes > 1


def test_after_running_out_the_next_run_takes_less(tmp_path):
    size = int(0.8 * whole_step())
    made, clips, _ = sizing(tmp_path, size)
    before = made.choose(clips, task()).option
    made.ran_out(before.micro_batch)

    again, clips, _ = sizing(tmp_path, size)

    after = again.choose(clips, task()).option
    assert after.fits and after.taken < before.taken


@pytest.mark.parametrize(("first", "second"), [("no", "yes"), ("yes", "no")])
def test_where_one_way_ran_out_as_much_of_another_is_not_tried(tmp_path, first, second):
    size = int(0.8 * whole_step())
    before, clips, _ = sizing(tmp_path, size, settings=replace(SETTINGS, recompute=first))
    ran_out = before.choose(clips, task()).option
    before.ran_out(ran_out.micro_batch)
    after, clips, _ = sizing(tmp_path, size, settings=replace(SETTINGS, recompute=second))

    option = after.choose(clips, task()).option

    assert option.fits and option.taken < ran_out.taken


def test_where_nothing_fits_it_says_by_how_much_and_probes_nothing(tmp_path):
    made, clips, _ = sizing(tmp_path, 30_000)

    sized = made.choose(clips, task())

    assert sized.option.micro_batch == 1 and not sized.option.fits and sized.probes == 0
    [reason] = sized.reasons
    assert "Even with 1 clip at a time it takes" in reason and "LoRA" in reason


def test_an_engine_that_cannot_be_asked_without_computing_is_probed(tmp_path, monkeypatch):
    def refuse(*given):
        raise RuntimeError("a shape that depends on the data")

    monkeypatch.setattr("finetune.training.sizing.imagine", refuse)
    made, clips, _ = sizing(tmp_path, 30_000)

    sized = made.choose(clips, task())

    assert sized.probes == 2 and not sized.option.fits
    assert "Not even one clip" in sized.reasons[0]


def test_a_wish_about_activations_is_kept_to(tmp_path):
    for wish, expected in (("yes", True), ("no", False)):
        settings = replace(SETTINGS, recompute=wish)
        made, clips, trainable = sizing(tmp_path, whole_step() // 2, settings=settings)

        sized = made.choose(clips, task())

        assert sized.option.way.recompute is expected
        assert ("forward" in vars(trainable.network.block)) is expected


def test_the_network_computes_as_it_was_chosen(tmp_path):
    for size in (10 * whole_step(), whole_step() // 3):
        made, clips, trainable = sizing(tmp_path, size)

        again = made.choose(clips, task()).option.way.recompute

        assert ("forward" in vars(trainable.network.block)) is again


@pytest.mark.parametrize(
    ("other", "micro_batch", "recompute", "hopeless"),
    [
        ((BATCH, False, -1000), BATCH, False, False),
        ((3, True, -1000), 3, True, False),
        ((BATCH, False, 5), BATCH, False, True),
    ],
)
def test_devices_agree_on_what_fits_on_each(
    tmp_path, monkeypatch, other, micro_batch, recompute, hopeless
):
    def gather(every, mine):
        every[:] = [mine, other]

    monkeypatch.setattr(torch.distributed, "all_gather_object", gather)
    made, clips, trainable = sizing(tmp_path, 10 * whole_step())
    made._accelerator = SimpleNamespace(
        num_processes=2, device=torch.device("cpu"), scaler=None, autocast=nullcontext
    )

    sized = made.choose(clips, task())

    assert (sized.option.micro_batch, sized.option.way.recompute) == (micro_batch, recompute)
    assert sized.is_hopeless is hopeless
    assert ("forward" in vars(trainable.network.block)) is recompute


def test_speaking_is_a_phase_of_its_own(tmp_path):
    large = 10 * whole_step()
    made, clips, _ = sizing(tmp_path, 2 * large, speak=lambda: torch.zeros(large // 4))

    sized = made.choose(clips, task())

    assert sized.option.peaks["speaking"] > large
    assert "speaking" in sized.reasons[0]


def test_the_search_finds_what_truly_fits_in_eight_trials(tmp_path):
    size = whole_step() // 2
    made, clips, _ = sizing(tmp_path, size)

    sized = made.search(clips, task(), lambda: False)

    option = sized.option
    assert sized.probes <= 8 and option.accumulation > 1
    assert taken_for_real(learner.LearnerModel, option.micro_batch, 2, False) <= size
    larger = -(-BATCH // (option.accumulation - 1))
    assert taken_for_real(learner.LearnerModel, larger, 2, False) > size


def test_a_search_ends_when_it_is_asked_to(tmp_path):
    made, clips, _ = sizing(tmp_path, whole_step())

    with pytest.raises(StopWork):
        made.search(clips, task(), lambda: True)


def test_the_event_has_the_numbers_behind_the_choice(tmp_path):
    made, clips, _ = sizing(tmp_path, whole_step() // 2)

    sized = made.choose(clips, task())

    event = sized.event
    assert event.micro_batch * event.accumulation >= BATCH
    assert event.taken_mb <= event.budget_mb == pytest.approx(whole_step() / 2e6, abs=0.1)
    assert set(event.peaks_mb) >= {"model first", "model more", "model change"}
    assert event.clips_per_second and event.reasons == sized.reasons


def test_the_task_is_told_from_the_clips():
    assert task_of([100, 300, 200], 8, 2) == Task(8, 300, 200, 2)
