"""How much of a card, or of the computer, a training may take."""

from __future__ import annotations

import numpy as np
import pytest

from finetune.fitting import budget
from finetune.fitting.budget import GIB, Room


def random_rooms(count=1000):
    luck = np.random.default_rng(1)
    for _ in range(count):
        total = int(luck.uniform(2, 80) * GIB)
        free = int(total * luck.uniform(0, 1))
        yield budget.of_card(total, free, windows=bool(luck.integers(2)))


def test_a_card_keeps_half_a_gibibyte_and_a_twenty_fifth_to_others():
    room = budget.of_card(25 * GIB, 20 * GIB)

    assert room.budget == pytest.approx((20 - 0.5 - 1) * GIB, abs=1)


def test_windows_keeps_more_of_a_small_card_and_never_less():
    for gib in (4, 8, 24, 80):
        plain = budget.of_card(gib * GIB, gib * GIB)
        windows = budget.of_card(gib * GIB, gib * GIB, windows=True)
        assert windows.headroom == max(plain.headroom, int(0.9 * GIB))


def test_what_tensors_may_take_never_takes_more_than_the_budget():
    for room in random_rooms():
        if room.for_tensors:
            assert room.taken(room.for_tensors) <= room.budget
            assert room.taken(room.for_tensors + 2) >= room.budget - 1


def test_the_allocator_refuses_before_the_budget_is_over():
    for room in random_rooms():
        assert 0 <= room.for_allocator <= room.total
        assert not room.for_allocator or room.for_allocator + room.context <= room.budget


def test_a_full_card_has_no_room_and_no_room_below_nothing():
    room = budget.of_card(8 * GIB, 0)

    assert (room.for_tensors, room.for_allocator) == (0, 0)
    assert room.taken(0) > room.budget


def test_a_context_that_is_there_already_is_not_counted_again():
    there, coming = (budget.of_card(8 * GIB, 7 * GIB, context=each) for each in (0, GIB))

    assert there.budget == coming.budget
    assert there.for_allocator - coming.for_allocator == GIB


def test_fragments_take_room_in_proportion():
    room = Room(10 * GIB, 10 * GIB, 0, fragmented=1.25)

    assert room.for_tensors == 8 * GIB
    assert room.taken(8 * GIB) == 10 * GIB


def test_the_computer_keeps_half_a_gibibyte_and_a_tenth_to_others_and_what_is_no_tensor():
    room = budget.of_computer(32 * GIB, 10 * GIB, beside=GIB)

    assert room.budget == pytest.approx(8.5 * GIB, abs=1)
    assert room.for_tensors == pytest.approx(7.5 * GIB, abs=1)
