"""Where the time of a step goes: added up by phase, shared among steps, told once."""

from __future__ import annotations

import pytest
import torch

from finetune.training.watch import Watch


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("finetune.training.watch.time.perf_counter", lambda: now[0])
    return now


def spend(watch, clock, name, seconds):
    with watch.phase(name):
        clock[0] += seconds


def test_phases_are_added_up_and_shared_among_the_steps(clock):
    watch = Watch(torch.device("cpu"))
    for _ in range(4):
        spend(watch, clock, "data", 0.002)
        spend(watch, clock, "forward", 0.01)

    assert watch.take(4) == {"data": 2.0, "forward": 10.0}
    assert watch.take(4) == {}


def test_a_phase_that_fails_took_its_time_as_well(clock):
    watch = Watch(torch.device("cpu"))

    with pytest.raises(KeyError), watch.phase("forward"):
        clock[0] += 1
        raise KeyError

    assert watch.take(1) == {"forward": 1000.0}


def test_no_step_at_all_is_no_division_by_zero(clock):
    watch = Watch(torch.device("cpu"))
    spend(watch, clock, "saving", 0.5)

    assert watch.take(0) == {"saving": 500.0}


def test_what_the_gpu_still_computes_is_told_the_next_time(monkeypatch):
    done = []

    class Event:
        def __init__(self, enable_timing):
            assert enable_timing

        def record(self): ...

        def query(self):
            return bool(done)

        def elapsed_time(self, end):
            return 7.0

    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda: None)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: 2e6)
    monkeypatch.setattr(torch.cuda, "max_memory_reserved", lambda: 4e6)
    watch = Watch(torch.device("cuda"))
    with watch.phase("forward"):
        pass

    assert watch.take(1) == {}
    done.append(True)
    assert watch.take(1) == {"forward": 7.0}
    with watch.memory("hearing"):
        pass
    assert watch.take_peaks() == {"forward": 2.0, "hearing": 2.0, "reserved": 4.0}
    assert watch.take(1) == {}
