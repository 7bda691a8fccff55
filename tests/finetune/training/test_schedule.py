"""The rate rises, falls, and is near 0 when the run ends: by steps, never by the clock."""

from __future__ import annotations

import itertools

import pytest

from finetune.settings import TrainSettings
from finetune.training.schedule import rate_at

FULL = 5e-6


def rates(total, **chosen):
    settings = TrainSettings(**chosen)
    return [rate_at(step, total, FULL, settings) for step in range(total)]


@pytest.mark.parametrize("decay", ["cosine", "linear"])
@pytest.mark.parametrize("total", [50, 1000])
@pytest.mark.parametrize("warmup", [0.0, 0.02, 0.3])
def test_it_rises_to_its_full_size_and_falls_until_the_end(decay, total, warmup):
    found = rates(total, decay=decay, warmup_share=warmup)

    top = found.index(max(found))
    assert found[top] == pytest.approx(FULL)
    assert top <= warmup * total + 1
    assert all(one <= two for one, two in itertools.pairwise(found[: top + 1]))
    assert all(one >= two for one, two in itertools.pairwise(found[top:]))
    assert found[0] > 0 and 0 < found[-1] < 0.03 * FULL


def test_a_constant_rate_rises_and_stays():
    found = rates(100, decay="constant", warmup_share=0.1)

    assert found[:10] == pytest.approx([FULL * each / 10 for each in range(1, 11)])
    assert set(found[10:]) == {FULL}


@pytest.mark.parametrize("total", [1, 2, 3])
@pytest.mark.parametrize("warmup", [0.0, 0.02, 0.5])
def test_the_shortest_runs_have_a_rate_too(total, warmup):
    found = rates(total, warmup_share=warmup)

    assert all(0 < each <= FULL for each in found)
    assert max(found) == FULL


def test_after_the_end_it_is_zero():
    assert rate_at(100, 100, FULL, TrainSettings()) == pytest.approx(0)
