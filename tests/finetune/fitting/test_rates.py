"""Learning rates that are offered for another batch than the advised."""

from __future__ import annotations

import math

import numpy as np
import pytest

from finetune.fitting.rates import offers


def random_wishes(count=1000):
    luck = np.random.default_rng(1)
    for _ in range(count):
        advised, batch = (int(each) for each in luck.integers(1, 512, 2))
        yield 10.0 ** luck.uniform(-6, -3), advised, batch


def test_where_the_batch_stays_no_rate_is_offered():
    assert all(offers(2e-5, batch, batch) == () for batch in (1, 8, 512))


def test_the_square_root_is_offered_first_and_then_in_proportion():
    root, linear = offers(1e-5, 8, 32)

    assert (root.rule, root.rate) == ("square root", pytest.approx(2e-5))
    assert (linear.rule, linear.rate) == ("linear", pytest.approx(4e-5))


def test_every_offer_has_the_rate_of_its_rule_and_goes_the_way_of_the_batch():
    for rate, advised, batch in random_wishes():
        if batch != advised:
            root, linear = offers(rate, advised, batch)
            assert root.rate**2 / rate**2 == pytest.approx(batch / advised)
            assert linear.rate / rate == pytest.approx(batch / advised)
            assert (root.rate > rate) == (linear.rate > rate) == (batch > advised)
            assert abs(math.log(root.rate / rate)) < abs(math.log(linear.rate / rate))


def test_the_reason_says_how_much_larger_the_batch_is_than_what_is_advised():
    for offer in offers(1e-5, 8, 20):
        assert "2.5 times the advised 8" in offer.reason


def test_only_a_larger_rate_is_called_bold():
    _, larger = offers(1e-5, 8, 16)
    _, smaller = offers(1e-5, 8, 4)

    assert "bolder" in larger.reason and "warm-up" in larger.reason
    assert "more cautious" in smaller.reason and "warm-up" not in smaller.reason
