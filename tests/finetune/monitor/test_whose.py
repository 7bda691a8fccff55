"""Whose the memory is: put down to somebody only when that is known."""

from __future__ import annotations

import pytest

from finetune.monitor.cards import Card
from finetune.monitor.whose import Shares, shares

OURS, HELPERS = {1, 2}, {3}


def divided(held, used=6000, **others):
    return shares(Card(0, used_mib=used, held_mib=held, **others), OURS, HELPERS)


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        ({1: 3000, 2: 500, 3: 400, 8: 1000, 9: 1000}, Shares(3500, 400, 2000, 100)),
        ({1: 6000}, Shares(6000, 0, 0, 0)),
        ({1: 6100}, Shares(6100, 0, 0, 0)),
        ({}, Shares(None, None, None, 6000)),
        ({1: 3000}, Shares(3000, None, None, 3000)),
        ({1: None, 9: 5500}, Shares(None, 0, 5500, 500)),
        ({1: 5500, 9: None}, Shares(5500, 0, None, 500)),
        ({1: None, 9: None}, Shares(None, None, None, 6000)),
        (None, Shares(None, None, None, 6000)),
    ],
)
def test_used_memory_is_divided_as_far_as_it_is_told(held, expected):
    assert divided(held) == expected


def test_a_card_in_use_by_nobody_is_nobodys():
    assert divided({}, used=300) == Shares(0, 0, 0, 300)


def test_ids_from_outside_a_container_make_nobodys_memory_ours():
    assert divided({1: 3000, 70_000: 2000}, strangers=frozenset({70_000})) == Shares(
        None, None, None, 6000
    )


def test_without_a_figure_of_what_is_used_the_rest_is_unknown():
    assert divided({1: 3000}, used=None) == Shares(3000, 0, 0, None)


def test_a_job_that_a_helper_started_is_ours():
    found = shares(Card(0, used_mib=500, held_mib={1: 500}), {1}, {1, 3})

    assert (found.ours, found.helpers) == (500, 0)
