"""A run that finds out by itself how many clips it computes at once, and what it does when that was too many."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from engines.errors import EngineError
from finetune import runs
from finetune.fitting import budget
from finetune.fitting.budget import Room
from finetune.jobs.events import Planned, Step
from finetune.training import probing, sizing
from tests.finetune.training.test_work import SETTINGS, same, small, studio, voice_weights

__all__ = ["small", "studio"]

PLANNED = replace(SETTINGS, micro_batch=0)


def most_of(event):
    """The most that tensors are to hold, in bytes."""
    return max(event.peaks_mb.values()) * 1e6


@pytest.fixture
def room(monkeypatch):
    """Lets a test say how much memory there is."""

    def of(size):
        monkeypatch.setattr(sizing, "room_on", lambda device, network: Room(size, size, 0))

    return of


def planned(studio):
    [event] = studio.of(Planned)
    return event


def test_what_it_chose_is_told_and_kept_with_the_run(studio):
    run = studio.run(studio.tim, PLANNED)

    studio.train(run)

    event = planned(studio)
    assert (event.micro_batch, event.accumulation) == (PLANNED.batch, 1)
    assert event in runs.history(run)


def test_looking_for_it_leaves_no_trace_in_the_voice(studio):
    run = studio.run(studio.tim, PLANNED)

    studio.train(run)

    assert same(voice_weights(run), voice_weights(studio.whole))


def test_with_less_memory_fewer_clips_are_computed_at_once_in_the_same_steps(studio, room):
    still = {"dropout": 0.0}
    whole = studio.run(studio.tim, PLANNED, engine_settings=still)
    studio.train(whole)
    room(int(0.8 * most_of(planned(studio))))
    run = studio.run(studio.tim, replace(PLANNED, recompute="no"), engine_settings=still)

    studio.train(run)

    event = planned(studio)
    assert event.micro_batch < PLANNED.batch <= event.micro_batch * event.accumulation
    steps = [[each for each in runs.history(of) if isinstance(each, Step)] for of in (whole, run)]
    for one, other in zip(*steps, strict=True):
        assert one.loss == pytest.approx(other.loss, rel=1e-3)


def test_running_out_at_the_planned_size_is_survived_and_learned_from(studio, room):
    settings = replace(PLANNED, recompute="no")
    run = studio.run(studio.tim, settings)
    studio.train(run)
    first = planned(studio)
    room(int(1.5 * most_of(first)))
    run = studio.run(studio.tim, settings)
    fail = _fail_once_at(first.micro_batch)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.learner.Network.forward", fail)
        studio.train(run)

    assert fail.failed
    assert "Memory ran out with 3 clips at once: it goes on with 2" in studio.said
    assert len([each for each in runs.history(run) if isinstance(each, Step)]) == 6
    studio.train(studio.run(studio.tim, settings))
    assert planned(studio).micro_batch < first.micro_batch


def _fail_once_at(clips):
    """The network's own forward pass, but that memory runs out once while it learns."""
    from tests.learner import Network

    forward = Network.forward

    def failing(self, batch, totals, turn):
        learning = self.training and torch.is_grad_enabled() and float(totals["frames"]) > 0
        stepping = learning and _in_a_step()
        if stepping and not failing.failed and len(batch["frames"]) == clips:
            failing.failed = True
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return forward(self, batch, totals, turn)

    failing.failed = False
    return failing


def _in_a_step():
    import traceback

    return any(frame.name == "_gradients" for frame in traceback.extract_stack())


def test_the_allocator_of_a_gpu_is_held_to_the_room_whatever_the_card_is(monkeypatch):
    held = []
    card = SimpleNamespace(total_memory=80 * budget.GIB)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: card)
    monkeypatch.setattr(torch.cuda, "set_per_process_memory_fraction", held.append)
    room = Room(8 * budget.GIB, 8 * budget.GIB, budget.GIB, budget.GIB)

    probing.keep_within(room, torch.device("cuda"))

    assert held == [6 / 80]


def test_a_size_that_a_person_chose_is_not_looked_for(studio):
    run = studio.run(studio.tim, replace(PLANNED, micro_batch=2))

    studio.train(run)

    assert not studio.of(Planned)


def test_what_cannot_fit_is_refused_before_it_begins_and_may_be_tried_all_the_same(studio, room):
    room(1000)
    run = studio.run(studio.tim, PLANNED)

    with pytest.raises(EngineError, match="does not fit") as refused:
        studio.train(run)

    assert "are missing" in refused.value.what and "--micro-batch 1" in refused.value.fix
    assert not studio.of(Step)
    bold = studio.run(studio.tim, replace(PLANNED, micro_batch=1))
    studio.train(bold)
    assert bold.is_finished


def test_what_may_fit_into_what_is_left_to_others_is_tried(studio, monkeypatch):
    monkeypatch.setattr(sizing, "room_on", lambda device, network: Room(10**7, 10**7, 10**7 - 1000))
    run = studio.run(studio.tim, PLANNED)

    studio.train(run)

    assert run.is_finished and "are missing" in planned(studio).reasons[0]


def test_what_the_program_takes_beside_its_tensors_is_counted():
    network = torch.nn.Linear(1000, 1000)

    found = probing.room_on(torch.device("cpu"), network)

    assert found.context > 50_000_000  # torch alone
    assert 0 < found.for_tensors < found.budget < found.free <= found.total
    assert found.headroom >= budget.GIB / 2
