"""Weights are measured and heard without being changed, whatever goes wrong in it."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
import torch

from engines.base import Sound
from finetune.jobs.events import Measured, Progress, Said, Sampled
from finetune.runs import RunFolder
from finetune.training import devices, randomness
from finetune.training.trial import Stage, Trial, check_losses
from tests import learner
from tests.finetune.training.learning import same, store_of

SETTINGS = learner.LearnerSettings(dropout=0.5, draws=True)
CLIPS = 5


class Judging:
    def similarity(self, sound):
        return 0.8 + sound.seconds / 100

    def character_errors(self, sound, text, language):
        return 0.1


class Trying:
    """A trial, its parts at hand."""

    def __init__(self, folder, clips=CLIPS, micro_batch=4, stop=lambda: False):
        self.model = learner.LearnerModel(SETTINGS)
        self.model.network.train()
        self.check = store_of(self.model, clips, folder / "cache")
        self.events = []
        run = RunFolder(folder / "run")
        run.samples.mkdir(parents=True)
        stage = Stage(("One.", "Two!"), "en", Sound(np.zeros(800, np.float32), 8000), Judging())
        self.accelerator = devices.accelerator_for("cpu", "fp32")
        self.trial = Trial(
            *(run, self.model, self.check, self.accelerator, micro_batch, 3),
            *(stage, self.events.append, stop),
        )

    def of(self, kind):
        return [each for each in self.events if isinstance(each, kind)]


def test_what_is_heard_is_told_and_given_back(tmp_path):
    trying = Trying(tmp_path)

    heard = trying.trial(7)

    [measured] = trying.of(Measured)
    samples = trying.of(Sampled)
    assert (heard.step, heard.check_loss) == (7, measured.loss)
    assert measured.parts.keys() == {"frames", "letters"}
    assert heard.similarity == pytest.approx(np.mean([each.similarity for each in samples]))
    assert heard.character_errors == pytest.approx(0.1)
    assert [each.text for each in samples] == ["One.", "Two!"]


def test_how_many_sentences_are_spoken_is_told_until_the_first_were_heard(tmp_path):
    trying = Trying(tmp_path)

    trying.trial(0)
    first = trying.of(Progress)
    trying.trial(1)

    assert (first[0].done, first[-1].done) == (0, 2)
    assert {(each.total, each.unit) for each in first} == {(2, "sentences spoken")}
    assert trying.events.index(first[0]) < trying.events.index(trying.of(Measured)[0])
    assert trying.of(Progress) == first


def test_nothing_is_changed_by_it(tmp_path):
    trying = Trying(tmp_path)
    network = trying.model.network
    network.block.eval()  # a part that its engine keeps from learning stays so
    before = {name: each.clone() for name, each in network.state_dict().items()}
    randomness.seed_all(5)

    trying.trial(1)

    drawn = [random.random(), np.random.rand(), float(torch.rand(()))]
    randomness.seed_all(5)
    assert drawn == [random.random(), np.random.rand(), float(torch.rand(()))]
    assert same(before, dict(network.state_dict()))
    assert network.training and network.into.training and not network.block.training
    assert all(each.grad is None for each in network.parameters())


def test_the_check_loss_is_the_same_every_time_and_however_it_is_cut(tmp_path):
    trying = Trying(tmp_path)

    def losses(size):
        return check_losses(trying.model, trying.check, trying.accelerator, size, 3)

    first = losses(2)
    torch.rand(9)

    assert losses(2) == first
    for size in (1, 3, 50):
        assert losses(size) == pytest.approx(first, rel=1e-5)


def test_without_check_clips_there_is_no_check_loss(tmp_path):
    trying = Trying(tmp_path, clips=0)

    heard = trying.trial(1)

    assert heard.check_loss is None and heard.similarity is not None
    assert trying.of(Measured) == []


def short_of_memory(trying, most):
    def before(batch):
        if len(batch["frames"]) > most:
            raise torch.OutOfMemoryError("CUDA out of memory.")

    trying.model.network.before = before


def test_memory_that_runs_out_while_checking_makes_the_batches_smaller(tmp_path):
    well = Trying(tmp_path / "well").trial(1)
    trying = Trying(tmp_path / "short")
    short_of_memory(trying, most=1)

    heard = trying.trial(1)

    assert heard.check_loss == pytest.approx(well.check_loss, rel=1e-5)
    assert ["clips at once now" in each.text for each in trying.of(Said)] == [True, True]


def test_memory_that_is_never_enough_costs_the_check_loss_alone(tmp_path):
    trying = Trying(tmp_path)
    short_of_memory(trying, most=0)

    heard = trying.trial(1)

    assert heard.check_loss is None and heard.similarity is not None
    assert "check loss of this step is missing" in trying.of(Said)[-1].text


def test_a_check_loss_that_is_no_number_is_said_and_left_out(tmp_path):
    trying = Trying(tmp_path)
    trying.model.network.before = lambda batch: batch["heard"].fill_(float("nan"))

    heard = trying.trial(4)

    assert math.isnan(heard.check_loss)
    assert "check loss of step 4 is no number" in trying.of(Said)[0].text
    assert trying.of(Measured) == []


def test_other_errors_are_not_kept_quiet(tmp_path):
    trying = Trying(tmp_path)

    def before(batch):
        raise RuntimeError("mat1 and mat2")

    trying.model.network.before = before

    with pytest.raises(RuntimeError, match="mat1"):
        trying.trial(1)


def test_the_losses_of_all_turns_are_measured(tmp_path):
    model = learner.RivalsModel(SETTINGS)
    check = store_of(model, CLIPS, tmp_path)

    found = check_losses(model, check, devices.accelerator_for("cpu", "fp32"), 2, 3)

    assert found.keys() == {"loss", "frames", "letters", "adversary", "critic"}


def test_a_wish_to_stop_ends_the_speaking_and_what_was_measured_counts(tmp_path):
    trying = Trying(tmp_path, stop=lambda: True)

    heard = trying.trial(1)

    assert heard.similarity is None and heard.check_loss is not None
    assert trying.of(Sampled) == []
