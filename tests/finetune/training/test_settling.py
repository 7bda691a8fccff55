"""What a person left open becomes a number, with its reason; what was chosen stays as it is."""

from __future__ import annotations

import math

import pytest

from finetune.settings import TrainSettings
from finetune.training import order
from finetune.training.settling import affordable, settle

ADVISED = {"learning_rate": 1e-5, "batch": 8, "epochs": 10}


def test_what_is_left_open_is_as_the_engine_advises_and_said():
    settled = settle(TrainSettings(), ADVISED, clips=100, clips_per_epoch=100)

    chosen = settled.settings
    assert (chosen.batch, chosen.micro_batch, chosen.epochs) == (8, 8, 10)
    assert chosen.learning_rate == 1e-5
    assert (settled.steps_per_epoch, settled.total) == (13, 130)
    assert len(settled.reasons) == 3
    assert all("as the engine advises" in reason for reason in settled.reasons)


def test_what_was_chosen_stays_and_needs_no_reason():
    wanted = TrainSettings(
        batch=30, micro_batch=4, epochs=2, learning_rate=0.5, listen_every=7, save_every=3
    )

    settled = settle(wanted, ADVISED, clips=10, clips_per_epoch=10)

    assert settled.settings == wanted
    assert (settled.total, settled.reasons) == (2, ())


@pytest.mark.parametrize(("clips", "batch"), [(1, 1), (3, 1), (4, 1), (20, 5), (31, 7), (32, 8)])
def test_with_few_clips_a_batch_holds_at_most_a_quarter_of_them(clips, batch):
    settled = settle(TrainSettings(), ADVISED, clips, clips)

    assert settled.settings.batch == batch
    assert (f"with {clips} clips" in settled.reasons[0]) == (batch < 8)


def test_a_micro_batch_is_never_more_than_a_batch():
    assert settle(TrainSettings(batch=4, micro_batch=9), ADVISED, 50, 50).settings.micro_batch == 4


@pytest.mark.parametrize("clips", range(1, 40))
@pytest.mark.parametrize("batch", [1, 3, 5, 8])
def test_so_many_steps_are_counted_as_an_epoch_has(clips, batch):
    settled = settle(TrainSettings(batch=batch), ADVISED, clips, clips)

    assert settled.steps_per_epoch == len(order.steps_of([1.0] * clips, batch, 0, 0))


def test_a_run_is_heard_about_a_dozen_times_and_a_short_one_less():
    for clips in (1000, 5000):
        settled = settle(TrainSettings(batch=8), ADVISED, clips, clips)
        assert 8 <= math.ceil(settled.total / settled.settings.listen_every) <= 12
    assert settle(TrainSettings(), ADVISED, 20, 20).settings.listen_every == 50


def test_what_the_time_left_affords():
    assert affordable(0.5, 60, done=23, total=1000) == 143
    assert affordable(0.5, 6000, done=23, total=1000) == 1000
    assert affordable(0.5, -5, done=23, total=1000) == 24  # over already: one more, then the end
    assert affordable(0.0, 60, done=23, total=1000) == 1000


@pytest.mark.parametrize(
    ("clips", "epochs", "total"), [(60, 63, 504), (8, 125, 500), (1000, 4, 500), (9000, 4, 4500)]
)
def test_an_engine_that_learns_in_steps_learns_as_long_from_few_clips_as_from_many(
    clips, epochs, total
):
    advised = {"learning_rate": 1e-4, "batch": 8, "steps": 500}

    settled = settle(TrainSettings(), advised, clips, clips)

    assert (settled.settings.epochs, settled.total) == (epochs, total)
    assert "about 500 steps" in settled.reasons[1]
    assert settle(TrainSettings(epochs=2), advised, clips, clips).settings.epochs == 2


def test_an_average_is_kept_where_the_engine_advises_one_or_a_person_asks_for_it():
    advised = {**ADVISED, "ema": 0.98}

    settled = settle(TrainSettings(), advised, 100, 100)

    assert settled.settings.ema == 0.98 and "over 50 steps" in settled.reasons[-1]
    assert settle(TrainSettings(ema=0.9), advised, 100, 100).settings.ema == 0.9
    assert settle(TrainSettings(), ADVISED, 100, 100).settings.ema == 0.0
