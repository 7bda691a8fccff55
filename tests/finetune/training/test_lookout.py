"""What is watched while a run learns."""

from __future__ import annotations

import time

import pytest
import torch

from finetune.jobs.events import Planned, Said, Step
from finetune.monitor import kept
from finetune.monitor.cards import Card, Gpus
from finetune.monitor.machine import Computer
from finetune.monitor.sampler import Reading
from finetune.training import lookout
from finetune.training.lookout import Lookout, looking_out

MIB = 2**20
CPU = torch.device("cpu")
PLANNED = Planned(0, 4, 2, False, "bf16", {}, 1.0, 2.0, 80.0, [])


def step(ms):
    return Step(1, 10, 0, 1.0, {}, 0.1, 1.0, 80.0, 0.0, {"forward": ms}, {})


def reading(at, **card):
    one = Card(0, uuid="GPU-a", total_mib=8192, **card)
    return Reading(at, Gpus(cards=(one,)), Computer())


@pytest.fixture
def on_gpu(monkeypatch):
    """Lets a test say what torch has reserved of the card it computes on."""

    def reserve(mib):
        monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: mib * MIB)

    monkeypatch.setattr(lookout, "card_of", lambda reading, device: reading.gpus.cards[0])
    reserve(1000)
    return reserve


def test_what_was_seen_is_kept_with_the_run(tmp_path):
    path = tmp_path / "machine.jsonl"
    watching = Lookout([].append, path, CPU)

    with looking_out(watching, tmp_path):
        ends = time.monotonic() + 5
        while not kept.read(path) and time.monotonic() < ends:
            time.sleep(0.05)

    [first, *_] = kept.read(path)
    assert first.computer.ram_mib > 0 and abs(first.at - time.time()) < 60


def test_all_that_is_told_is_passed_on(tmp_path):
    told = []
    watching = Lookout(told.append, tmp_path / "machine.jsonl", CPU)

    for each in (PLANNED, step(100.0), Said("Hello.")):
        watching.say(each)

    assert told == [PLANNED, step(100.0), Said("Hello.")]


def test_more_than_the_card_has_is_said_once(tmp_path, on_gpu):
    told = []
    watching = Lookout(told.append, tmp_path / "machine.jsonl", CPU)
    on_gpu(9000)

    for second in range(8):
        watching.note(reading(second, used_mib=8000, free_mib=192))
        watching.say(step(100.0))

    said = [each.text for each in told if isinstance(each, Said)]
    assert len(said) == 1 and "spills over" in said[0] and "808 MiB" in said[0]


def test_a_full_card_on_which_steps_take_longer_than_planned_is_said(tmp_path, on_gpu):
    told = []
    watching = Lookout(told.append, tmp_path / "machine.jsonl", CPU)
    on_gpu(7000)
    watching.say(PLANNED)  # 8 clips at 80 a second: 100 ms
    watching.say(step(400.0))

    for second in range(14):
        watching.note(reading(second, used_mib=8100, free_mib=92))
    watching.say(step(400.0))

    assert "4.0 times as long" in told[-1].text


def test_a_healthy_run_says_nothing(tmp_path, on_gpu):
    told = []
    watching = Lookout(told.append, tmp_path / "machine.jsonl", CPU)
    on_gpu(6000)
    watching.say(PLANNED)

    for second in range(30):
        watching.note(reading(second, used_mib=7000, free_mib=1192))
        watching.say(step(110.0))

    assert not [each for each in told if isinstance(each, Said)]


def test_on_a_processor_no_card_is_looked_for():
    assert lookout.card_of(reading(0.0), CPU) is None
