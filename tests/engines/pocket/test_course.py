"""The schooling of a base's networks: steps, saving, and what is learned from in each."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from torch import nn

from engines.pocket.pretrain.course import Course, Plan, Rounds, Side
from engines.pocket.pretrain.size import Size


class Killed(Exception):
    pass


class Lesson:
    """Two sides as in a GAN, with dropout, chance in each step, and what one hands to the other."""

    def __init__(self, folder, killed_at=None, seed=5, steps=60, saved_every=7):
        torch.manual_seed(0)
        self.maker = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(0.2), nn.Linear(8, 4))
        self.judge = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 1))
        self.killed_at, self.steps = killed_at, []
        torch.manual_seed(99)  # what was drawn before must not matter
        torch.rand(0 if killed_at is None else killed_at)
        plan = Plan("lesson", steps, 0.01, seed, warmup=5, saved_every=saved_every, averaged=0.9)
        sides = [Side(self.judge, self.to_judge, 0.02), Side(self.maker, self.to_make, 0.01)]
        self.course = Course(plan, sides, folder)

    def to_judge(self, step):
        self.steps.append(step)
        true = torch.randn(6, 4) + 2
        self.made = self.maker(torch.randn(6, 4))
        loss = (self.judge(true) - 1).pow(2).mean() + self.judge(self.made.detach()).pow(2).mean()
        return {"loss": loss}

    def to_make(self, step):
        if step == self.killed_at:
            raise Killed
        loss = (self.judge(self.made) - 1).pow(2).mean()
        return {"loss": loss, "keen": loss}

    def weights(self):
        nets = (self.maker, self.judge)
        return [each.clone() for net in nets for each in net.state_dict().values()]


def taught(folder, **how):
    lesson = Lesson(folder, **how)
    lesson.course.run()
    return lesson.weights()


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    return taught(tmp_path_factory.mktemp("undisturbed"))


@pytest.mark.parametrize("killed", [[3], [7], [8], [30], [59], [10, 20, 40], [8, 8, 8]])
def test_a_course_that_was_killed_ends_like_one_that_was_not(killed, undisturbed, tmp_path):
    for step in killed:
        lesson = Lesson(tmp_path, killed_at=step)
        with pytest.raises(Killed):
            lesson.course.run()
    last = Lesson(tmp_path)
    last.course.run()

    assert same(last.weights(), undisturbed)
    assert last.steps == [*range(killed[-1] // 7 * 7, 60)]


def test_a_kill_while_saving_leaves_what_was_saved_before(undisturbed, tmp_path, monkeypatch):
    save = torch.save

    def torn(kept, path):
        path.write_bytes(b"half of it")
        if kept["done"] == 21:
            raise Killed
        save(kept, path)

    monkeypatch.setattr(torch, "save", torn)
    with pytest.raises(Killed):
        Lesson(tmp_path).course.run()
    monkeypatch.undo()

    assert same(taught(tmp_path), undisturbed)


def test_how_often_it_is_saved_changes_nothing(undisturbed, tmp_path):
    assert same(taught(tmp_path, saved_every=1000), undisturbed)


def test_the_same_seed_ends_the_same_and_another_does_not(undisturbed, tmp_path):
    (tmp_path / "again").mkdir()
    (tmp_path / "other").mkdir()

    assert same(taught(tmp_path / "again"), undisturbed)
    assert not same(taught(tmp_path / "other", seed=6), undisturbed)


def test_a_course_that_is_done_is_not_done_again(undisturbed, tmp_path):
    taught(tmp_path)
    again = Lesson(tmp_path)
    again.course.run()

    assert again.steps == []
    assert same(again.weights(), undisturbed)


def test_both_sides_learn(undisturbed, tmp_path):
    begun = Lesson(tmp_path).weights()

    moved = [not torch.equal(a, b) for a, b in zip(begun, undisturbed, strict=True)]

    assert all(moved)


def sole(folder, losses, net, **how):
    plan = Plan("sole", seed=1, warmup=1, decay=0.0, **how)
    Course(plan, [Side(net, losses, plan.rate)], folder).run()


def test_the_weights_that_count_are_an_average_over_the_last_steps(tmp_path):
    net, seen = nn.Linear(1, 1, bias=False), []

    def losses(step):
        seen.append(float(net.weight.detach()))
        return {"loss": net(torch.ones(1, 1)).sum() * (-1) ** step}

    sole(tmp_path, losses, net, steps=30, rate=0.1, averaged=0.5)

    kept = torch.load(tmp_path / "sole.learning", weights_only=True)
    average = seen[0]
    for step, weight in enumerate([*seen[1:], float(kept["nets"][0]["weight"])]):
        share = min(0.5, (step + 1) / (step + 11))
        average = share * average + (1 - share) * weight
    assert float(net.weight.detach()) == pytest.approx(average, abs=1e-5)


def test_the_rate_rises_and_falls_and_a_gradient_is_no_longer_than_allowed(tmp_path):
    net, moves, lengths = nn.Linear(1, 1, bias=False), [], []

    def losses(step):
        moves.append(float(net.weight.detach()))
        lengths.append(0.0 if net.weight.grad is None else float(net.weight.grad.norm()))
        return {"loss": 1000 * net(torch.ones(1, 1)).sum()}

    plan = Plan("sole", 100, 0.1, 1, warmup=10, decay=0.0, longest_gradient=0.5)
    Course(plan, [Side(net, losses, plan.rate)], tmp_path).run()

    # Adam's moves are the rate where the gradient is always the same.
    rates = [a - b for a, b in pairwise(moves)]
    assert rates[0] == pytest.approx(0.01, rel=0.02)
    assert max(rates) == pytest.approx(0.1, rel=0.05)
    assert rates.index(max(rates)) in range(8, 12)
    assert rates[-1] < 0.01
    assert max(lengths) == pytest.approx(0.5, rel=1e-4)


def test_how_it_goes_is_told_every_fifty_steps(tmp_path, capsys):
    taught(tmp_path, steps=120)

    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["lesson 50/120", "lesson 100/120"]
    assert all("keen" in line and "min left" in line for line in lines)


def test_a_plan_takes_seed_and_saving_from_the_size():
    plan = Plan.of(Size(seed=4, save_every=9), "one", 50, 0.1, warmup=3)

    assert (plan.name, plan.steps, plan.rate) == ("one", 50, 0.1)
    assert (plan.seed, plan.saved_every, plan.warmup) == (4, 9, 3)


# ---- Rounds ----


def lengths_of(count, seed=0):
    chance = torch.Generator().manual_seed(seed)
    return torch.randint(20, 480, (count,), generator=chance).tolist()


def batches_of_round(rounds, number, count):
    """The batches of one round: so many items."""
    step = 0
    for _ in range(number + 1):
        dealt = []
        while sum(map(len, dealt)) < count:
            dealt.append(rounds.batch(step))
            step += 1
    return dealt


@pytest.mark.parametrize("count", [1, 7, 500])
def test_everything_is_dealt_once_a_round(count):
    rounds = Rounds(lengths_of(count), 4096, seed=1)

    for number in range(4):
        dealt = [item for batch in batches_of_round(rounds, number, count) for item in batch]
        assert sorted(dealt) == [*range(count)]
        rounds = Rounds(lengths_of(count), 4096, seed=1)


def test_no_batch_is_larger_than_allowed_and_few_are_much_smaller():
    lengths = lengths_of(2000)
    rounds = Rounds(lengths, 4096, seed=1)

    batches = batches_of_round(rounds, 0, 2000)

    sizes = [len(batch) * max(lengths[item] for item in batch) for batch in batches]
    assert max(sizes) <= 4096
    assert sum(sizes) / len(sizes) > 3400
    assert sum(lengths) / sum(sizes) > 0.85


def test_an_item_longer_than_allowed_is_learned_alone():
    batches = batches_of_round(Rounds([100, 9000, 120], 4096, seed=0), 0, 3)

    assert [1] in batches


def test_another_round_or_seed_has_another_order_and_other_company():
    lengths = lengths_of(300)

    def first(seed, number):
        return batches_of_round(Rounds(lengths, 4096, seed), number, 300)

    assert first(1, 0) == first(1, 0)
    for other in (first(1, 1), first(2, 0)):
        assert {frozenset(each) for each in other} != {frozenset(each) for each in first(1, 0)}


@pytest.mark.parametrize("start", [0, 1, 37, 200, 999])
def test_rounds_can_be_asked_from_any_step_on(start):
    lengths = lengths_of(300)
    whole = Rounds(lengths, 4096, seed=3)
    wanted = [whole.batch(step) for step in range(1010)][start : start + 10]

    later = Rounds(lengths, 4096, seed=3)

    assert [later.batch(step) for step in range(start, start + 10)] == wanted
    assert all(wanted)
