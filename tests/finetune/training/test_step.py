"""A step changes the weights as a whole or not at all, whatever it is cut into."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from engines.base import Item
from engines.errors import EngineError
from finetune.settings import TrainSettings
from finetune.training import devices, randomness
from finetune.training.optimizers import optimizer_for
from finetune.training.step import Interrupted, Stepper
from finetune.training.watch import Watch
from tests import learner
from tests.finetune.training.learning import SETTINGS, Lesson, same, store_of

CPU = torch.device("cpu")
PLAIN = learner.LearnerSettings(dropout=0.0)
DROPPING = learner.LearnerSettings(dropout=0.3, draws=True)
CLIPS = 6
RATE = 0.01


class Steps:
    """A stepper with everything that it needs, at hand."""

    def __init__(self, folder, engine_settings=PLAIN, micro_batch=2, clip_norm=1.0, model=None):
        self.model = model or learner.LearnerModel(engine_settings)
        self.network = self.model.network
        self.network.train()
        self.store = store_of(self.model, CLIPS, folder)
        self.said = []
        self.optimizers = {
            turn: optimizer_for(self.model.parameters(turn), TrainSettings(), CPU)
            for turn in self.model.turns
        }
        self.stepper = Stepper(
            *(self.model, self.network, self.optimizers, devices.accelerator_for("cpu", "fp32")),
            *(micro_batch, clip_norm, Watch(CPU), self.said.append),
        )
        randomness.seed_all(1)

    def items(self, indices):
        return [Item(self.store[each], self.store[each], each) for each in indices]

    def take(self, indices=range(CLIPS), ceiling=math.inf, stop=lambda: False):
        return self.stepper.take(self.items, indices, RATE, ceiling, stop)

    @property
    def state(self):
        return {name: each.clone() for name, each in self.network.state_dict().items()}


def test_a_step_comes_to_the_same_however_it_is_cut(tmp_path):
    whole, cut = (Steps(tmp_path, micro_batch=size) for size in (CLIPS, 1))

    one, other = whole.take(), cut.take()

    assert one.loss == pytest.approx(other.loss, rel=1e-6)
    assert one.norm == pytest.approx(other.norm, rel=1e-5)
    for name, each in whole.state.items():
        if name != "seen":  # counts micro-batches
            torch.testing.assert_close(each, cut.state[name], rtol=1e-5, atol=1e-6)


def test_a_step_that_is_interrupted_leaves_no_trace(tmp_path):
    steps = Steps(tmp_path, DROPPING)
    before, chance = steps.state, torch.get_rng_state()
    asked = iter([False, False, True])

    with pytest.raises(Interrupted):
        steps.take(stop=lambda: next(asked))

    assert same(before, steps.state)
    assert torch.equal(chance, torch.get_rng_state())
    assert all(each.grad is None for each in steps.network.parameters())


def test_what_a_forward_pass_counted_is_rewound_when_memory_runs_out(tmp_path):
    steps = Steps(tmp_path, DROPPING, micro_batch=3)
    calls = iter(range(100))

    def before(batch):
        if next(calls) == 1:
            raise torch.OutOfMemoryError("CUDA out of memory.")

    steps.network.before = before
    small = Steps(tmp_path, DROPPING, micro_batch=2)

    randomness.seed_all(1)
    steps.take()
    randomness.seed_all(1)
    small.take()

    assert same(steps.state, small.state)
    assert int(steps.network.seen) == 3
    assert len(steps.said) == 1 and "with 3 clips at once: it goes on with 2" in steps.said[0]


def test_memory_that_runs_out_while_a_batch_is_put_together_halves_it_too(tmp_path):
    steps = Steps(tmp_path, micro_batch=6)
    batch = steps.model.batch

    def large(items):
        if len(items) > 2:
            raise MemoryError
        return batch(items)

    steps.model.batch = large

    assert steps.take().changed
    assert steps.stepper.micro_batch == 2


def test_nothing_of_a_step_that_ran_out_of_memory_is_held(tmp_path):
    import weakref

    steps, large = Steps(tmp_path, micro_batch=2), []

    def before(batch):
        if not large:
            made = torch.zeros(10)
            large.append(weakref.ref(made))
            raise torch.OutOfMemoryError("CUDA out of memory.")
        assert large[0]() is None, "what the failed try had made is still there"

    steps.network.before = before

    assert steps.take().changed


def test_memory_for_a_single_clip_that_is_not_there_says_what_to_do(tmp_path):
    steps = Steps(tmp_path, micro_batch=1)

    def before(batch):
        raise torch.OutOfMemoryError("CUDA out of memory.")

    steps.network.before = before
    state = steps.state

    with pytest.raises(EngineError, match="one clip at a time"):
        steps.take()

    assert same(state, steps.state)


@pytest.mark.parametrize(
    ("spoiled", "fault"),
    [("loss", "its loss is no number"), ("gradient", "its gradient is no number")],
)
def test_what_is_no_number_changes_nothing_and_is_named(tmp_path, spoiled, fault):
    steps = Steps(tmp_path)
    steps.take()
    state = {**steps.state, "seen": None}
    moments = [
        v.clone() for each in steps.optimizers["model"].state.values() for v in each.values()
    ]
    if spoiled == "loss":
        steps.network.before = lambda batch: batch["heard"].fill_(math.nan)
    else:
        steps.network.out.bias.register_hook(lambda gradient: gradient * math.inf)

    taken = steps.take()

    assert (taken.fault, taken.changed) == (fault, False)
    assert same(state | {"seen": torch.zeros(1)}, steps.state | {"seen": torch.zeros(1)})
    after = [v for each in steps.optimizers["model"].state.values() for v in each.values()]
    assert all(torch.equal(one, two) for one, two in zip(moments, after, strict=True))


def test_a_loss_above_the_ceiling_changes_nothing_and_says_how_large_it_is(tmp_path):
    steps = Steps(tmp_path)
    state = {name: each for name, each in steps.state.items() if name != "seen"}

    taken = steps.take(ceiling=1e-9)

    assert "far above what is usual" in taken.fault and f"{taken.loss:.3g}" in taken.fault
    assert all(torch.equal(each, steps.state[name]) for name, each in state.items())


def test_a_long_gradient_is_cut_and_its_length_is_told_as_it_was(tmp_path):
    free, cut = Steps(tmp_path, clip_norm=0.0), Steps(tmp_path, clip_norm=1e-4)
    lengths = []
    for steps in (free, cut):
        change = steps.optimizers["model"].step
        steps.optimizers["model"].step = lambda s=steps, c=change: (
            lengths.append(
                float(torch.stack([p.grad.norm() for p in s.network.parameters()]).norm())
            ),
            c(),
        )

    one, other = free.take(), cut.take()

    assert one.norm == pytest.approx(other.norm)
    assert lengths == [pytest.approx(one.norm, rel=1e-5), pytest.approx(1e-4, rel=1e-2)]


# ---- Two turns ----


def rivals():
    return learner.RivalsModel(learner.LearnerSettings(dropout=0.2))


def test_each_turn_changes_its_own_weights_alone(tmp_path, monkeypatch):
    steps = Steps(tmp_path, model=rivals())
    changed = {}
    for turn, optimizer in steps.optimizers.items():
        change = optimizer.step

        def noting(turn=turn, change=change):
            before = steps.state
            given = {n for n, p in steps.network.named_parameters() if p.grad is not None}
            change()
            different = {n for n, each in steps.state.items() if not torch.equal(each, before[n])}
            changed[turn] = (given, different)

        monkeypatch.setattr(optimizer, "step", noting)

    taken = steps.take()

    critics = {name for name, _ in steps.network.named_parameters() if name.startswith("critic")}
    others = {name for name, _ in steps.network.named_parameters()} - critics
    assert changed["generator"] == (others, others)
    assert changed["discriminator"] == (critics, critics)
    assert taken.parts.keys() == {"frames", "letters", "adversary", "critic"}
    assert all(each.requires_grad for each in steps.network.parameters())


def test_a_wish_to_stop_is_not_heeded_between_two_turns(tmp_path):
    """The first has changed something: half a step cannot be gone on with."""
    steps = Steps(tmp_path, model=rivals(), micro_batch=CLIPS)
    seen = []
    steps.network.before = lambda batch: seen.append(batch)

    taken = steps.take(stop=lambda: bool(seen))

    assert len(seen) == 2 and taken.changed


def test_memory_that_runs_out_in_the_second_turn_does_not_take_the_first_again(tmp_path):
    steps, small = (Steps(tmp_path, model=rivals(), micro_batch=size) for size in (CLIPS, CLIPS))
    calls = iter(range(100))
    steps.network.before = lambda batch: (
        (_ for _ in ()).throw(torch.OutOfMemoryError("no")) if next(calls) == 1 else None
    )
    take, turn = small.stepper._turn, []

    def shrinking(*given):
        if turn:
            small.stepper.micro_batch = CLIPS // 2
        turn.append(given[0])
        return take(*given)

    small.stepper._turn = shrinking

    randomness.seed_all(1)
    steps.take()
    randomness.seed_all(1)
    small.take()

    assert same(steps.state, small.state)


def test_two_turns_go_through_the_loop_and_go_on_exactly(tmp_path):
    from finetune.jobs.worker import StopWork

    def lesson(folder, **changes):
        return Lesson(folder, replace(SETTINGS, epochs=2, ema=0.5), trainable=rivals(), **changes)

    whole = lesson(tmp_path / "whole").learn()
    left = iter(range(23))
    stopped = lesson(
        tmp_path / "parts", wishes=lambda wish: wish == "stop" and next(left, None) is None
    )
    with pytest.raises(StopWork):
        stopped.learn()
    randomness.seed_all(77)
    gone_on = lesson(tmp_path / "parts").learn()

    assert 0 < stopped.loop.done < whole.loop.done
    assert same(whole.weights, gone_on.weights)
    assert same(whole.loop._average.tensors, gone_on.loop._average.tensors)
