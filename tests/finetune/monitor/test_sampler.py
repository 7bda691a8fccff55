"""A reading each second: the newest always at hand, an hour in bounded room."""

from __future__ import annotations

import threading
import time
import tracemalloc

import pynvml
import pytest

from finetune.monitor import sampler as sampling
from finetune.monitor.cards import Gpus
from finetune.monitor.driver import Driver
from finetune.monitor.machine import Computer, Machine
from finetune.monitor.sampler import Reading, Sampler, thinned
from tests.nvml import card, driver
from tests.nvml.situations import LOST, told


@pytest.fixture
def sampler(tmp_path):
    made = []

    def make(opened=None, every_seconds=0.02, **others):
        made.append(Sampler(opened or Driver(), Machine(tmp_path), every_seconds, **others))
        return made[-1]

    yield make
    for each in made:
        each.stop()


def wait_for(true, seconds=5.0):
    begun = time.monotonic()
    while not true():
        assert time.monotonic() - begun < seconds, "it never came"
        time.sleep(0.005)
    return time.monotonic() - begun


def reading(at, used):
    return Reading(float(at), Gpus((told(used_mib=used),)), Computer())


def test_readings_come_until_it_is_stopped_and_then_the_driver_is_let_go(stand_in, sampler):
    stand_in.answer(driver(card(0)))
    opened = Driver()
    running = sampler(opened)
    assert running.latest() is None and running.history(10) == []

    running.start()
    running.start()
    wait_for(lambda: len(running.history(1000)) > 5)
    running.stop()
    kept = running.history(1000)
    time.sleep(0.1)

    assert running.latest().gpus.cards == (told(),)
    assert running.history(1000) == kept
    assert opened._open is None
    assert not [each for each in threading.enumerate() if each.name == "monitor"]


def test_while_it_reads_the_driver_is_opened_once(stand_in, sampler, monkeypatch):
    stand_in.answer(driver(card(0)))
    begun = []
    monkeypatch.setattr(pynvml, "nvmlInit", lambda init=pynvml.nvmlInit: begun.append(init()))
    running = sampler()

    running.start()
    wait_for(lambda: len(running.history(1000)) > 5)

    assert len(begun) == 1


def test_one_that_was_stopped_can_be_started_again(stand_in, sampler):
    stand_in.answer(driver(card(0)))
    running = sampler()
    running.start()
    wait_for(running.latest)
    running.stop()
    before = len(running.history(1000))

    running.start()

    wait_for(lambda: len(running.history(1000)) > before)


@pytest.mark.parametrize("how", [{"1": "!15"}, {"1.busy": "!15"}, {"count": 1}, {"count": "!999"}])
def test_a_card_that_vanishes_is_in_the_newest_reading_at_once(stand_in, sampler, how):
    both = driver(card(0), card(1))
    stand_in.answer(both)
    running = sampler(every_seconds=0.2)
    running.start()
    wait_for(lambda: running.latest() and len(running.latest().gpus.cards) == 2)

    stand_in.answer(both | how)

    def noticed():
        gpus = running.latest().gpus
        return gpus.problem or gpus.gone or any(each.problem == LOST for each in gpus.cards)

    assert wait_for(noticed) < 1.5


def test_a_driver_that_hangs_keeps_nobody_waiting(stand_in, sampler):
    stand_in.answer(driver(card(0)))
    running = sampler()
    running.start()
    wait_for(running.latest)
    stand_in.answer({"init": "~3", **driver(card(0, power="~3 1"))})

    begun, longest = time.monotonic(), 0.0
    while time.monotonic() - begun < 2.5:
        asked = time.monotonic()
        running.latest()
        running.history(100)
        longest = max(longest, time.monotonic() - asked)
        time.sleep(0.01)

    assert longest < 0.5
    assert "did not answer" in running.latest().gpus.problem


def test_an_old_reading_is_not_shown_as_what_is_now(stand_in, sampler, monkeypatch):
    stand_in.answer(driver(card(0)))
    running = sampler()
    running.start()
    wait_for(running.latest)
    running.stop()
    monkeypatch.setattr(sampling, "STALE_SECONDS", -1)

    assert "Nothing was read" in running.latest().gpus.problem
    assert running.latest().gpus.cards == () and running.latest().computer == Computer()


def test_a_fault_while_reading_ends_nothing(stand_in, sampler, caplog):
    stand_in.answer(driver(card(0)))
    faults = iter([RuntimeError("broken")])
    seen = []

    def note(reading):
        for fault in faults:
            raise fault
        seen.append(reading)

    running = sampler(noted=note)
    running.start()

    wait_for(lambda: seen)
    assert "broken" in caplog.text


def test_an_hour_is_kept_and_no_more():
    running = Sampler(Driver(), None)

    assert running._readings.maxlen == 3600


def test_an_hour_of_two_cards_takes_little_room(stand_in, tmp_path):
    stand_in.answer(driver(card(0, processes="7:1048576,8:1048576"), card(1)))
    opened, machine = Driver(), Machine(tmp_path)
    opened.stays_open = True
    opened.read(), machine.read()

    tracemalloc.start()
    kept = [Reading(time.time(), opened.read(), machine.read()) for _ in range(100)]
    each = tracemalloc.get_traced_memory()[0] / len(kept)
    tracemalloc.stop()
    opened.close()

    assert each * 3600 < 20e6


@pytest.mark.parametrize(("count", "points"), [(10, 20), (10, 10), (0, 5), (1, 1)])
def test_few_readings_are_handed_out_as_they_are(count, points):
    readings = [reading(at, at) for at in range(count)]

    assert thinned(readings, points) == readings


@pytest.mark.parametrize("points", [1, 2, 3, 60, 299])
def test_an_hour_is_thinned_to_the_points_wanted_with_its_peak_and_its_newest(points):
    readings = [reading(at, 9000 if at == 1234 else 2000 + at % 7) for at in range(3600)]

    found = thinned(readings, points)

    assert len(found) == points
    assert [each.at for each in found] == sorted({each.at for each in found})
    assert found[-1].at == 3599
    assert points == 1 or max(each.used_mib for each in found) == 9000


def test_no_points_are_none():
    assert thinned([reading(0, 1)], 0) == []
