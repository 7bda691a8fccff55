"""A run that was stopped, killed or short of memory ends with the weights of one that was not."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import replace

import pytest
import torch

from engines.errors import EngineError, UnlearnableError
from finetune.best import Heard
from finetune.jobs.worker import StopWork
from finetune.training import checkpoints, order, randomness
from tests.finetune.training.learning import CLIPS, SETTINGS, Lesson, same


def quiet(settings=SETTINGS, **changes):
    """Settings with which every step is told of."""
    return replace(settings, **changes)


@pytest.fixture(autouse=True)
def every_step_is_told(monkeypatch):
    monkeypatch.setattr("finetune.training.loop._TELL_SECONDS", 0.0)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    patch = pytest.MonkeyPatch()
    patch.setattr("finetune.training.loop._TELL_SECONDS", 0.0)
    lesson = Lesson(tmp_path_factory.mktemp("unbroken")).learn()
    patch.undo()
    return lesson


def told(lesson):
    """What the steps of a run came to, by step; the later of two counts."""
    return {s.step: (s.loss, s.parts, s.rate, s.norm) for s in lesson.steps}


def stopping_after(questions):
    """Wish to stop when it has been asked for so often: in the middle of a step, too."""
    left = iter(range(questions))
    return lambda wish: wish == "stop" and next(left, None) is None


def test_a_run_learns(unbroken):
    first, last = unbroken.steps[0], unbroken.steps[-1]

    assert last.step == last.total == 15
    assert last.loss < 0.85 * first.loss


def test_every_clip_is_learned_from_once_an_epoch(tmp_path, monkeypatch):
    seen = Counter()
    items = Lesson(tmp_path).make()._lessons.__class__.items

    def noting(self, indices, seed, epoch):
        seen.update((epoch, index) for index in indices)
        return items(self, indices, seed, epoch)

    monkeypatch.setattr("finetune.training.loop.Lessons.items", noting)
    Lesson(tmp_path).learn()

    assert seen == {(epoch, index): 1 for epoch in range(3) for index in range(CLIPS)}


def stopped_and_gone_on(folder, questions):
    """Stop a run after so many questions, then let another process go on with it."""
    stopped = Lesson(folder, wishes=stopping_after(questions))
    with pytest.raises(StopWork, match="Stopped after step"):
        stopped.learn()
    randomness.seed_all(questions)  # a process that goes on has drawn other things before
    return stopped, Lesson(folder).learn()


# The run asks 53 times: before each of 39 micro-batches, and after each step but the last.
@pytest.mark.parametrize("questions", random.Random(4).sample(range(53), 20))
def test_a_run_that_was_stopped_anywhere_goes_on_exactly(tmp_path, unbroken, questions):
    stopped, gone_on = stopped_and_gone_on(tmp_path, questions)

    assert told(stopped) | told(gone_on) == told(unbroken)
    assert same(gone_on.weights, unbroken.weights)


def test_stops_fall_in_the_middle_of_steps_and_of_epochs(tmp_path):
    places = []
    for questions in (1, 2, 3, 9):
        lesson = Lesson(tmp_path / str(questions), wishes=stopping_after(questions))
        with pytest.raises(StopWork):
            lesson.learn()
        state, _ = lesson.newest()
        places.append((state["step"], state["at"]))

    assert places == [(0, 0), (0, 0), (1, 1), (2, 2)]


@pytest.mark.parametrize("forgotten", ["python", "numpy", "torch"])
def test_each_generator_matters(tmp_path, unbroken, monkeypatch, forgotten):
    """Without the restore of any one of them the promise above is broken, and it shows."""
    restore = randomness.restore

    def partly(chance):
        restore(replace(chance, **{forgotten: getattr(randomness.capture(), forgotten)}))

    stopped = Lesson(tmp_path, wishes=stopping_after(30))
    with pytest.raises(StopWork):
        stopped.learn()
    randomness.seed_all(99)
    monkeypatch.setattr(randomness, "restore", partly)
    gone_on = Lesson(tmp_path).learn()

    assert not same(gone_on.weights, unbroken.weights)


def test_a_run_goes_on_exactly_with_an_average_of_its_weights(tmp_path):
    settings = quiet(ema=0.9)
    whole = Lesson(tmp_path / "whole", settings).learn()
    stopped = Lesson(tmp_path / "parts", settings, wishes=stopping_after(30))
    with pytest.raises(StopWork):
        stopped.learn()
    gone_on = Lesson(tmp_path / "parts", settings).learn()

    assert same(whole.loop._average.tensors, gone_on.loop._average.tensors)
    assert not same(whole.loop._average.tensors, whole.weights)


def test_listening_and_saving_at_any_time_change_nothing(tmp_path, unbroken):
    def listen(step):
        torch.rand(7), random.random()
        return Heard(step)

    wanted = iter([False, True] * 100)
    lesson = Lesson(
        tmp_path,
        quiet(listen_every=2, save_every=3),
        wishes=lambda wish: wish in ("save", "sample") and next(wanted, False),
        listen=listen,
    ).learn()

    assert same(lesson.weights, unbroken.weights)


def test_other_lessons_than_the_run_began_with_are_refused(tmp_path):
    with pytest.raises(StopWork):
        Lesson(tmp_path, wishes=stopping_after(30)).learn()

    with pytest.raises(EngineError, match="not the ones it began with") as caught:
        Lesson(tmp_path, clips=CLIPS + 1).learn()

    assert "train --from RUN" in caught.value.fix


# ---- Memory that runs out ----


class OutOfMemory:
    """Memory that is too small for more than so many clips at once, from some batch on."""

    def __init__(self, most, first=0):
        self.most, self.first, self.raised = most, first, 0

    def __call__(self, batch):
        self.first -= 1
        if self.first < 0 and len(batch["frames"]) > self.most:
            self.raised += 1
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")


def short_of_memory(lesson, memory):
    lesson.trainable.network.before = memory
    return lesson


def test_memory_that_runs_out_at_the_start_costs_nothing(tmp_path):
    memory = OutOfMemory(most=2)
    began_small = Lesson(tmp_path / "small", quiet(micro_batch=2)).learn()
    lesson = short_of_memory(Lesson(tmp_path / "large", quiet(micro_batch=5)), memory).learn()

    assert memory.raised == 2  # 5, then 3
    assert "goes on with 3" in lesson.said and "goes on with 2" in lesson.said
    assert told(lesson) == told(began_small)
    assert same(lesson.weights, began_small.weights)


def test_memory_that_runs_out_amid_a_step_costs_nothing(tmp_path):
    """The first micro-batch of the step went well: it must not count twice."""
    settings = quiet(epochs=1, micro_batch=2)
    other = Lesson(tmp_path / "small", settings)
    loop = other.make()
    steps = loop._lessons.steps(0, settings.seed, settings.batch)
    at = next(place for place, step in enumerate(steps) if place and len(step) > 3)
    before = sum(len(order.micro_batches(step, 2)) for step in steps[:at])
    memory = OutOfMemory(most=1, first=before + 1)
    lesson = short_of_memory(Lesson(tmp_path / "large", settings), memory).learn()
    # What it should have come to: some steps in pairs, from there on one by one.
    take, taken = loop._stepper.take, []

    def shrinking(*given):
        if len(taken) == at:
            loop._stepper.micro_batch = 1
        taken.append(take(*given))
        return taken[-1]

    loop._stepper.take = shrinking
    loop.run()

    assert memory.raised == 1
    assert same(lesson.weights, other.weights)


def test_smaller_micro_batches_give_the_same_voice(tmp_path):
    """Without anything drawn by chance, the sums are the same however a step is cut."""
    from tests.learner import LearnerSettings

    plain = LearnerSettings(dropout=0.0)
    ended = []
    for most, first in ((5, 0), (1, 0), (2, 9)):
        lesson = Lesson(tmp_path / f"{most} {first}", quiet(micro_batch=5), plain)
        ended.append(short_of_memory(lesson, OutOfMemory(most, first)).learn().weights)

    for weights in ended[1:]:
        for name, each in weights.items():
            if name != "seen":
                torch.testing.assert_close(each, ended[0][name], rtol=1e-4, atol=1e-5)


def test_memory_that_runs_out_in_saving_costs_nothing(tmp_path, unbroken, monkeypatch):
    write, written = checkpoints._write, []

    def short(path, tensors):
        written.append(path.name)
        if len(written) in (2, 7):
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        write(path, tensors)

    monkeypatch.setattr(checkpoints, "_write", short)
    lesson = Lesson(tmp_path).learn()

    assert lesson.saved == unbroken.saved and len(written) > 7
    assert same(lesson.weights, unbroken.weights)
    assert lesson.newest()[0] == unbroken.newest()[0]


def test_one_clip_that_is_too_large_is_said_with_what_to_do(tmp_path):
    with pytest.raises(EngineError, match="one clip at a time") as caught:
        short_of_memory(Lesson(tmp_path), OutOfMemory(most=0)).learn()

    assert "recompute" in caught.value.fix


def test_a_smaller_micro_batch_holds_after_going_on(tmp_path):
    lesson = Lesson(tmp_path, wishes=stopping_after(30))
    with pytest.raises(StopWork):
        short_of_memory(lesson, OutOfMemory(most=1)).learn()

    gone_on = Lesson(tmp_path).learn()

    assert gone_on.loop._stepper.micro_batch == 1


def test_other_errors_are_no_shortage_of_memory(tmp_path):
    def broken(batch):
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    with pytest.raises(RuntimeError, match="mat1"):
        short_of_memory(Lesson(tmp_path), broken).learn()


# ---- Losses that are no numbers ----


def spoiled(numbers):
    """Make these batches come out as no number."""
    asked = iter(range(10**6))

    def before(batch):
        if next(asked) in numbers:
            batch["heard"].mul_(float("nan"))

    return before


def test_a_batch_without_a_number_is_left_out_and_named(tmp_path):
    lesson = short_of_memory(Lesson(tmp_path), spoiled({4})).learn()

    assert "Step 2 was left out: its loss is no number. Its clips: clip" in lesson.said
    assert all(torch.isfinite(each).all() for each in lesson.weights.values())
    assert 2 not in told(lesson) or told(lesson)[2] == told(lesson)[1]


def test_three_in_a_row_end_the_run_with_the_last_good_checkpoint(tmp_path):
    lesson = short_of_memory(Lesson(tmp_path), spoiled(set(range(14, 10**4))))

    with pytest.raises(EngineError, match=r"3 steps in a row .*last good checkpoint is step 4"):
        lesson.learn()

    assert all(torch.isfinite(each).all() for each in lesson.newest()[1].values())


def test_three_in_a_row_before_anything_was_saved_say_that_nothing_was(tmp_path):
    lesson = short_of_memory(Lesson(tmp_path), spoiled(set(range(10**4))))

    with pytest.raises(UnlearnableError, match="No checkpoint was saved before") as told:
        lesson.learn()

    assert "lower learning rate" in told.value.fix and "log" in told.value.fix


def test_a_loss_far_above_the_usual_changes_nothing(tmp_path):
    loud = iter(range(10**6))

    def before(batch):
        if next(loud) == 18 * 3:
            batch["frames"].mul_(100)

    settings = quiet(epochs=6)
    lesson = short_of_memory(Lesson(tmp_path, settings), before).learn()

    assert re.search(r"Step 2\d was left out: its loss is .* far above what is usual", lesson.said)


# ---- What is kept ----


def test_the_last_two_checkpoints_stay(tmp_path):
    lesson = Lesson(tmp_path).learn()

    assert lesson.saved == [4, 8, 12, 15]
    assert sorted(each.name for each in lesson.run.checkpoints.iterdir()) == [
        "step-000012",
        "step-000015",
    ]


def test_the_best_weights_are_kept_without_a_second_copy(tmp_path):
    losses = {0: 9.0, 3: 5.0, 6: 2.0, 9: 4.0, 12: 6.0, 15: 7.0}
    lesson = Lesson(
        tmp_path, quiet(listen_every=3, save_every=3), listen=lambda s: Heard(s, losses[s])
    ).learn()

    [best] = lesson.run.best.iterdir()
    assert best.name == "best-000006"
    weights = best / "weights.safetensors"
    assert weights.stat().st_nlink == 1  # its checkpoint is gone, the file is not


def test_a_run_may_end_by_the_clock(tmp_path, monkeypatch):
    clock = iter(range(10**6))
    monkeypatch.setattr("finetune.training.loop.time.monotonic", lambda: next(clock) / 10)

    lesson = Lesson(tmp_path, quiet(epochs=1000, minutes=1.0)).learn()

    assert "steps fit into 1 minutes" in lesson.said
    assert 25 < lesson.steps[-1].step == lesson.steps[-1].total < 500
    assert lesson.steps[-1].rate < 1e-3  # the fall of the rate ends with the run


def test_padding_is_told(unbroken):
    lengths = unbroken.loop._lessons.store.lengths
    assert all(0 <= step.padding < 0.5 for step in unbroken.steps)
    assert order.padding(lengths, [range(CLIPS)]) > max(step.padding for step in unbroken.steps)
