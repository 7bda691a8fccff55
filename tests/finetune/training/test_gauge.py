"""Counting what tensors hold, where no allocator of a GPU tells of it."""

from __future__ import annotations

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from finetune.training.gauge import Counted, CudaGauge

KIB = 1024


def floats(kib):
    return torch.zeros(kib * 256)


def test_what_lives_is_held_and_what_is_gone_is_not():
    with Counted() as gauge:
        one = floats(4)
        two = floats(8)
        both = gauge.held()
        del one

        assert (both, gauge.held(), gauge.peak()) == (12 * KIB, 8 * KIB, 12 * KIB)
        assert len(two)


def test_the_peak_is_that_since_it_was_set_back():
    with Counted() as gauge:
        floats(2)
        kept = floats(1)
        gauge.set_back()
        floats(3)

        assert gauge.peak() == 4 * KIB
        assert len(kept)


def test_views_of_a_storage_count_once_and_keep_all_of_it():
    with Counted() as gauge:
        whole = floats(4)
        view = whole[:10].view(2, 5)
        del whole

        assert gauge.held() == 4 * KIB
        assert view.shape == (2, 5)


def test_small_tensors_take_what_an_allocator_gives_at_least():
    with Counted() as gauge:
        small = [torch.zeros(1) for _ in range(10)]

        assert gauge.held() == len(small) * 512


def test_what_lay_there_before_counts_once_it_is_told():
    before = floats(4)

    with Counted() as gauge:
        gauge.begin_with([before, before[:2]])
        after = before + 1

        assert gauge.held() == 8 * KIB
        assert len(after)


def test_gradients_made_in_the_backward_pass_are_counted():
    weight = torch.nn.Parameter(torch.zeros(64, 64))

    with Counted() as gauge:
        gauge.begin_with([weight])
        (weight * 2).sum().backward()

        assert gauge.held() == 2 * 64 * 64 * 4


def test_a_full_card_refuses_as_torch_does_and_what_it_made_is_gone():
    with Counted(ceiling=10 * KIB) as gauge:
        kept = floats(8)
        with pytest.raises(torch.OutOfMemoryError):
            floats(4)

        assert gauge.held() == 8 * KIB
        assert len(floats(2)) == 512
        assert len(kept)


def test_out_of_memory_in_a_backward_pass_is_still_that():
    weight = torch.nn.Parameter(torch.zeros(256, 256))

    with Counted(ceiling=600 * KIB) as gauge:
        gauge.begin_with([weight])
        loss = weight.square().sum()
        with pytest.raises(torch.OutOfMemoryError):
            loss.backward()


def test_aside_nothing_is_counted_or_refused_and_afterwards_all_is_again():
    with Counted(ceiling=10 * KIB) as gauge:
        kept = floats(4)
        with gauge.aside():
            floats(20)
            inside = gauge.peak()
        after = floats(2)

        assert (inside, gauge.held()) == (4 * KIB, 6 * KIB)
        assert len(kept) and len(after)
        with pytest.raises(torch.OutOfMemoryError):
            floats(8)


def test_what_goes_wrong_aside_leaves_the_gauge_counting():
    with Counted() as gauge:
        with pytest.raises(ValueError, match="aside"), gauge.aside():
            raise ValueError("aside")
        kept = floats(2)

        assert gauge.held() == 2 * KIB
        assert len(kept)


def test_tensors_without_content_are_counted_like_real_ones():
    def learn():
        layer = torch.nn.Linear(100, 50)
        layer(torch.zeros(20, 100)).square().mean().backward()
        return layer

    with Counted() as real:
        kept = learn()
    with FakeTensorMode(), Counted() as fake:
        shapes = learn()

        assert (fake.held(), fake.peak()) == (real.held(), real.peak())
        assert kept.weight.shape == shapes.weight.shape


def test_on_a_gpu_what_was_reserved_is_told_beside_the_highest_peak(monkeypatch):
    held, reserved = iter([500, 900, 100]), iter([1000, 990, 990])
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: next(held))
    monkeypatch.setattr(torch.cuda, "max_memory_reserved", lambda: next(reserved))
    gauge = CudaGauge()

    peaks = [gauge.peak() for _ in range(3)]

    assert peaks == [500, 900, 100]
    assert gauge.fragmented() == 1000 / 900
