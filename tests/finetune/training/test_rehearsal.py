"""A step that is measured and changes nothing."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from engines.base import Item
from finetune.fitting.peaks import CHANGE, FIRST, MORE, fit
from finetune.training.gauge import Counted
from finetune.training.rehearsal import mapped, worst_throw
from tests import learner
from tests.finetune.training import probed

KINDS = pytest.mark.parametrize("kind", [learner.LearnerModel, learner.RivalsModel])


@KINDS
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_weights_means_gradients_and_chance_are_as_they_were(kind, precision):
    trainable = probed.model(kind, draws=True, dropout=0.5)
    before = {name: each.clone() for name, each in trainable.network.state_dict().items()}
    clips = probed.items(trainable, 1.0, 0.3)
    seeds = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state()

    probed.probe(trainable, clips, 3, precision=precision)

    after = trainable.network.state_dict()
    assert all(torch.equal(after[name], each) for name, each in before.items())
    assert all(each.grad is None for each in trainable.network.parameters())
    assert all(each.requires_grad for each in trainable.network.parameters())
    assert random.getstate() == seeds[0]
    assert np.random.get_state()[1].tolist() == seeds[1]
    assert torch.equal(torch.get_rng_state(), seeds[2])


def test_after_running_out_all_is_as_it_was_too():
    trainable = probed.model(draws=True)
    before = {name: each.clone() for name, each in trainable.network.state_dict().items()}
    chance = torch.get_rng_state()

    with pytest.raises(torch.OutOfMemoryError):
        probed.probe(trainable, probed.items(trainable, 5.0), 64, ceiling=100_000)

    after = trainable.network.state_dict()
    assert all(torch.equal(after[name], each) for name, each in before.items())
    assert all(each.grad is None for each in trainable.network.parameters())
    assert torch.equal(torch.get_rng_state(), chance)


@KINDS
def test_every_turn_and_length_has_its_phases(kind):
    trainable = probed.model(kind)

    points, _ = probed.probe(trainable, probed.items(trainable, 1.0, 0.3), 2)

    found = {(each.turn, each.stage, each.length) for each in points}
    for turn in trainable.turns:
        assert {(turn, FIRST, 100), (turn, MORE, 100), (turn, FIRST, 30), (turn, MORE, 30)} < found
        assert sum(each.stage == CHANGE for each in points if each.turn == turn) == 1
    assert all(each.bytes > 0 and each.seconds > 0 and each.clips == 2 for each in points)


def test_what_lies_there_is_counted_exactly():
    trainable = probed.model(spare=True)
    numbers = sum(each.numel() for each in trainable.network.parameters())

    _, held = probed.probe(trainable, probed.items(trainable, 0.5), 1)

    counter = 8  # the whole number that the network counts its passes in
    assert held.weights == 4 * numbers + counter
    assert held.gradients == 4 * numbers
    # Two means and a count of steps each; the spare weights never learned anything.
    learning = [each for each in trainable.network.parameters() if each.shape != (16, 16)]
    assert held.optimizer >= 8 * sum(each.numel() for each in learning)
    assert held.optimizer <= 8 * numbers + 4 * len(list(trainable.network.parameters()))


def test_later_micro_batches_take_the_gradients_more():
    trainable = probed.model()
    clips = probed.items(trainable, 8.0)

    points, held = probed.probe(trainable, clips, 16)

    first, more = (next(e.bytes for e in points if e.stage == stage) for stage in (FIRST, MORE))
    assert more - first == pytest.approx(held.gradients, rel=0.2)


@KINDS
def test_what_is_timed_is_not_slowed_by_the_counting_of_memory(kind, monkeypatch):
    clock = probed.Clock(monkeypatch)
    probed.count_slowly(clock, monkeypatch)
    trainable = probed.model(kind)
    trainable.network.before = lambda batch: clock.passes(0.25)
    clips = probed.items(trainable, 1.0, 0.3)

    points, _ = probed.probe(trainable, clips, 2, timed=True)

    assert {each.seconds for each in points if each.stage == MORE} == {0.25}
    assert {each.seconds for each in points if each.stage == CHANGE} == {0.0}


@KINDS
def test_timing_it_too_finds_the_same_memory_and_changes_nothing(kind):
    trainable = probed.model(kind, draws=True, dropout=0.5)
    before = {name: each.clone() for name, each in trainable.network.state_dict().items()}
    clips = probed.items(trainable, 1.0, 0.3)
    plain, held = probed.probe(trainable, clips, 3)
    chance = torch.get_rng_state()

    timed, held_too = probed.probe(trainable, clips, 3, timed=True)

    assert [each.bytes for each in timed] == [each.bytes for each in plain]
    assert held_too == held
    after = trainable.network.state_dict()
    assert all(torch.equal(after[name], each) for name, each in before.items())
    assert torch.equal(torch.get_rng_state(), chance)


@KINDS
def test_clips_timed_at_once_take_what_all_turns_do_and_not_what_only_the_first_does(
    kind, monkeypatch
):
    clock = probed.Clock(monkeypatch)
    trainable = probed.model(kind)
    passes = iter(range(100))
    # Each turn's first pass is odd out: nine more seconds in which kernels are chosen.
    trainable.network.before = lambda batch: clock.passes(
        len(batch["frames"]) * (10.0 if next(passes) % 2 == 0 else 1.0)
    )
    [clip] = probed.items(trainable, 1.0)

    found = probed.rehearsal(trainable, Counted()).time(clip, 5)

    assert (found.clips, found.length) == (5, 100)
    assert found.seconds == 5 * len(trainable.turns)


@KINDS
def test_clips_timed_at_once_change_nothing_and_hold_less_than_a_probe_of_them(kind):
    trainable = probed.model(kind, draws=True, dropout=0.5)
    before = {name: each.clone() for name, each in trainable.network.state_dict().items()}
    [clip] = probed.items(trainable, 2.0)
    chance = torch.get_rng_state()
    with probed.counted(trainable) as gauge:
        rehearsal = probed.rehearsal(trainable, gauge)

        rehearsal.time(clip, 6)

        most, held = gauge.peak(), rehearsal.held()
    after = trainable.network.state_dict()
    assert all(torch.equal(after[name], each) for name, each in before.items())
    assert all(each.grad is None for each in trainable.network.parameters())
    assert torch.equal(torch.get_rng_state(), chance)
    assert held.optimizer == 0
    points, _ = probed.probe(trainable, [clip], 6)
    assert most < max(each.bytes for each in points)


def test_of_clips_timed_at_once_each_has_a_chance_of_its_own():
    trainable = probed.model()
    [clip] = probed.items(trainable, 0.5)
    seeds = []
    batch = trainable.batch
    trainable.batch = lambda items: seeds.append([each.seed for each in items]) or batch(items)

    probed.rehearsal(trainable, Counted()).time(clip, 3)

    assert seeds and all(len(set(each)) == 3 for each in seeds)


@KINDS
def test_two_probes_tell_all_others(kind):
    trainable = probed.model(kind)
    clips = probed.items(trainable, 9.0, 4.0, 1.0)
    points, held = probed.probe(trainable, clips, 2)
    more, _ = probed.probe(trainable, clips, 8)

    fitted = fit(held, [*points, *more])

    for count, seconds in ((3, 6.0), (16, 9.0), (5, 2.0), (24, 7.0)):
        truth, _ = probed.probe(trainable, probed.items(trainable, seconds), count)
        for each in truth:
            assert fitted.at(each) == pytest.approx(each.bytes, rel=0.05), each


def test_of_its_throws_a_clip_is_taken_with_the_one_that_makes_the_most():
    class Throwing:
        def length(self, features):
            return 1

        def batch(self, items):
            return {"drawn": torch.zeros(items[0].seed % 5), "targets": {}}

    found = worst_throw(Throwing(), Item({}, {}, 3))

    assert found.seed % 5 == 4


def test_tensors_are_found_wherever_they_are_in_a_batch():
    from engines.pocket.batches import Pieces

    one = torch.zeros(1)
    batch = {"a": one, "deep": [(one, 3)], "pieces": Pieces(one, one, one, one, one), "word": "x"}

    found = mapped(batch, lambda each: each + 1)

    assert float(found["a"]) == float(found["deep"][0][0]) == float(found["pieces"].noise) == 1
    assert (found["deep"][0][1], found["word"]) == (3, "x")
