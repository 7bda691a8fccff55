"""The driver as it answers, refuses, hangs, loses a card; asked by the real pynvml."""

from __future__ import annotations

import sys
import threading
import time
from types import ModuleType

import pynvml
import pytest

from finetune.monitor import driver as monitor
from finetune.monitor.cards import Card
from finetune.monitor.driver import Driver
from tests.nvml import card, driver
from tests.nvml.situations import LOST, SITUATIONS, differences, read, told


@pytest.fixture
def opened():
    """A driver that stays open, as it does while it is watched."""
    found = Driver(pid_exists=lambda pid: True)
    found.stays_open = True
    yield found
    found.close()


def threads():
    return [each for each in threading.enumerate() if each.name == "gpus"]


def test_there_are_forty_situations_and_each_has_a_name_of_its_own():
    assert len({each.name for each in SITUATIONS}) == len(SITUATIONS) == 40


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda each: each.name)
def test_what_a_driver_tells_is_read_and_the_rest_is_unknown(stand_in, situation):
    found = read(stand_in, situation)

    assert differences(found, situation) == []


def test_a_computer_without_a_driver_says_so(stand_in, monkeypatch):
    def not_there(name):
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(pynvml, "CDLL", not_there)

    assert Driver().read().problem == "No NVIDIA driver is installed."


def test_another_package_in_the_place_of_pynvml_is_named(monkeypatch):
    class NVMLError(Exception):
        pass

    another = ModuleType("pynvml")
    another.NVMLError, another.nvmlInit = NVMLError, pytest.fail
    monkeypatch.setitem(sys.modules, "pynvml", another)
    monkeypatch.setattr(monitor, "_is_installed", lambda name: name == "nvidia-ml-py3")

    said = Driver().read().problem

    assert "nvidia-ml-py3 is in the place of nvidia-ml-py" in said and ".venv" in said


def test_a_missing_package_is_a_problem_in_words(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)

    assert "nvidia-ml-py cannot be loaded" in Driver().read().problem


def test_a_driver_that_stays_open_is_opened_once(stand_in, opened, monkeypatch):
    stand_in.answer(driver(card(0)))
    opened.read()
    monkeypatch.setattr(pynvml, "nvmlInit", pytest.fail)

    assert opened.read().cards == (told(),)


def test_a_driver_asked_now_and_then_is_let_go_each_time(stand_in):
    stand_in.answer(driver(card(0)))

    Driver().read()

    with pytest.raises(pynvml.NVMLError_Uninitialized):
        pynvml.nvmlDeviceGetCount()


def test_after_an_error_the_driver_is_opened_anew(stand_in, opened):
    stand_in.answer(driver(card(0)))
    opened.read()
    stand_in.answer(driver(card(0)) | {"count": "!999"})
    broken = opened.read()
    stand_in.answer(driver(card(0), card(1)))

    assert broken.problem and broken.cards == ()
    assert opened.read().cards == (told(0), told(1))


def test_a_driver_restarted_under_us_is_opened_anew(stand_in, opened):
    stand_in.answer(driver(card(0)))
    opened.read()
    pynvml.nvmlShutdown()

    assert "cannot be asked" in opened.read().problem
    assert opened.read().cards == (told(),)


def test_a_card_lost_meanwhile_keeps_its_name_and_is_no_other_cards_affair(stand_in, opened):
    both = driver(card(0), card(1))
    stand_in.answer(both)
    opened.read()
    stand_in.answer(both | {"1": "!15"})

    for _ in range(2):  # found out first, and known after
        lost = Card(1, "GPU-1", "NVIDIA GeForce RTX 4070", problem=LOST)
        found = opened.read()
        assert found.cards == (told(0), lost) and found.gone == ()


def test_a_card_that_is_not_listed_any_more_is_gone_until_it_is_back(stand_in, opened):
    both = driver(card(0), card(1))
    stand_in.answer(both)
    opened.read()
    stand_in.answer(both | {"count": 1})

    found = opened.read()
    stand_in.answer(both)

    assert found.cards == (told(0),)
    assert [each.uuid for each in found.gone] == ["GPU-1"]
    assert "gone" in found.gone[0].problem
    assert opened.read().gone == ()


def test_while_a_card_is_lost_the_driver_is_opened_anew_now_and_then(stand_in, opened, monkeypatch):
    both = driver(card(0), card(1), **{"1": "!15"})
    stand_in.answer(both)
    monkeypatch.setattr(monitor, "REOPEN_SECONDS", 0)
    begun = []
    monkeypatch.setattr(pynvml, "nvmlInit", lambda init=pynvml.nvmlInit: begun.append(init()))

    opened.read()
    opened.read()

    assert len(begun) == 2


def test_a_driver_that_hangs_holds_one_thread_and_keeps_nobody_waiting(stand_in, opened):
    stand_in.answer({"init": "~1"})
    first = opened.read(timeout_seconds=0.1)
    begun = time.monotonic()

    later = [opened.read(timeout_seconds=0.1) for _ in range(50)]

    assert time.monotonic() - begun < 2  # waiting for it each time would take five
    assert len(threads()) == 1
    assert all("did not answer" in each.problem for each in [first, *later])


def test_a_driver_that_answers_again_is_believed(stand_in, opened):
    stand_in.answer({"init": "~0.4"})
    assert opened.read(timeout_seconds=0.1).problem
    stand_in.answer(driver(card(0)))
    while threads():
        time.sleep(0.01)

    assert opened.read().cards == (told(),)


def test_a_driver_let_go_while_it_hangs_is_closed_when_it_answers(stand_in, opened, monkeypatch):
    monkeypatch.setattr(monitor, "TIMEOUT_SECONDS", 0.05)
    stand_in.answer(driver(card(0, power="~0.4 180500")))
    opened.read(timeout_seconds=0.1)

    opened.close()
    while threads():
        time.sleep(0.01)

    with pytest.raises(pynvml.NVMLError_Uninitialized):
        pynvml.nvmlDeviceGetCount()


def test_who_asks_while_an_answer_is_under_way_gets_that_one(stand_in, opened):
    stand_in.answer(driver(card(0, power="~0.2 180500")))
    found = []
    asking = [threading.Thread(target=lambda: found.append(opened.read())) for _ in range(5)]

    for each in asking:
        each.start()
    for each in asking:
        each.join()

    assert len(found) == 5 and all(each is found[0] for each in found)


def test_processes_that_ended_meanwhile_are_strangers_to_psutil_too(stand_in):
    stand_in.answer(driver(card(0, processes="4294967295:1048576")))

    [found] = Driver().read().cards

    assert found.strangers == {2**32 - 1}
