"""The largest number of clips at once, found by trying."""

from __future__ import annotations

import math

import pytest

from finetune.fitting.search import MOST_TRIALS, largest, sizes


def searched(share, limit):
    """What is found where up to `limit` clips fit, and all that was tried."""
    tried = []

    def fits(count):
        tried.append(count)
        return count <= limit

    return largest(share, fits), tried


@pytest.mark.parametrize("share", [1, 2, 7, 64, 300])
def test_sizes_are_those_that_make_fewer_micro_batches_than_any_smaller_one(share):
    parts = {size: math.ceil(share / size) for size in range(1, share + 1)}

    fewest = [size for size in parts if size == 1 or parts[size] < parts[size - 1]]

    assert sizes(share) == fewest


def test_for_every_share_and_every_limit_the_largest_that_fits_is_found_in_eight_trials():
    for share in range(1, 301):
        known = sizes(share)
        for limit in range(share + 1):
            found, tried = searched(share, limit)
            assert found == max((size for size in known if size <= limit), default=0)
            assert len(tried) <= MOST_TRIALS == 8


def test_what_is_found_makes_as_few_micro_batches_as_the_limit_itself():
    for share in (5, 48, 300):
        for limit in range(1, share + 1):
            found, _ = searched(share, limit)
            assert math.ceil(share / found) == math.ceil(share / limit)


@pytest.mark.parametrize("share", [4096, 10_000])
def test_eight_trials_are_enough_for_thousands_of_clips(share):
    known = sizes(share)

    for limit in (0, *known, *(size - 1 for size in known)):
        found, tried = searched(share, limit)
        assert found == max((size for size in known if size <= limit), default=0)
        assert len(tried) <= 8


def test_however_many_clips_there_are_it_ends_after_eight_trials_with_what_fitted():
    found, tried = searched(10**6, 777)

    assert len(tried) == 8
    assert found <= 777


def test_nothing_is_tried_twice():
    _, tried = searched(4096, 100)

    assert len(set(tried)) == len(tried)
