"""Memory that runs out is told from other faults; what phases take is measured on a GPU alone."""

from __future__ import annotations

import pytest
import torch

from finetune.training import memory


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
        MemoryError(),
        RuntimeError(
            "[enforce fail at alloc_cpu.cpp:119] err == 0. DefaultCPUAllocator: can't allocate"
            " memory: you tried to allocate 4000000000000 bytes. Error code 12"
        ),
    ],
)
def test_memory_that_ran_out_is_known(error):
    assert memory.is_out_of_memory(error)


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("mat1 and mat2 shapes cannot be multiplied (3x4 and 5x6)"),
        RuntimeError("CUDA error: device-side assert triggered"),
        ValueError("DefaultCPUAllocator"),
        KeyboardInterrupt(),
    ],
)
def test_other_faults_are_not_taken_for_it(error):
    assert not memory.is_out_of_memory(error)


def test_what_torch_says_of_main_memory_is_known_as_it_says_it():
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**60, dtype=torch.uint8)

    assert memory.is_out_of_memory(caught.value)


def test_freeing_collects_what_only_circles_hold():
    class Node:
        ends = 0

        def __del__(self):
            Node.ends += 1

    node = Node()
    node.itself = node
    del node

    memory.free()

    assert Node.ends == 1


def test_without_a_gpu_nothing_is_told_of_its_memory():
    peaks = memory.Peaks(torch.device("cpu"))

    with peaks.phase("forward"):
        torch.zeros(1000)

    assert peaks.take() == {}


def test_the_highest_peak_of_each_phase_is_told_once(monkeypatch):
    found = iter([3e6, 5e6, 1e6, 7e6])
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda: None)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: next(found))
    reserved = iter([4e6, 9e6, 9e6, 8e6])
    monkeypatch.setattr(torch.cuda, "max_memory_reserved", lambda: next(reserved))
    peaks = memory.Peaks(torch.device("cuda"))

    for name in ("forward", "forward", "forward", "backward"):
        with peaks.phase(name):
            pass

    assert peaks.take() == {"forward": 5.0, "backward": 7.0, "reserved": 9.0}
    assert peaks.take() == {}


def test_retries_are_counted_from_one_time_to_the_next(monkeypatch):
    counts = iter([2, 2, 7])
    monkeypatch.setattr(torch.cuda, "memory_stats", lambda: {"num_alloc_retries": next(counts)})
    peaks = memory.Peaks(torch.device("cuda"))

    assert [peaks.retries() for _ in range(3)] == [2, 0, 5]
    assert memory.Peaks(torch.device("cpu")).retries() == 0
