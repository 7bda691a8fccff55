"""A sentence that came out wrong is said again, and the best of it is kept."""

from __future__ import annotations

import numpy as np
import pytest

from engines.base import Sound
from voices.speaking.again import MOST_TRIES, seeds, spoken_well
from voices.speaking.judging import Fault


class Speaker:
    """Says a sound of as many samples as it was asked before; notes the seeds."""

    def __init__(self):
        self.seeds = []

    def __call__(self, text, seed):
        self.seeds.append(seed)
        return Sound(np.zeros(len(self.seeds), np.float32), 16000)


def judge_by(weights):
    """At each try there is a fault of this weight, or none where it is 0."""

    def judge(text, sound):
        weight = weights[len(sound.samples) - 1]
        return [Fault("cut", "It is cut.", weight)] if weight else []

    return judge


def test_a_good_sentence_is_said_once_with_the_wanted_seed():
    speak = Speaker()

    spoken = spoken_well(speak, "Hello.", 7, judge_by([0]))

    assert speak.seeds == [7]
    assert (spoken.well, spoken.tries, spoken.seed) == (True, 1, 7)


@pytest.mark.parametrize(
    ("weights", "tries", "kept", "well"),
    [([5, 0], 2, 2, True), ([5, 3, 0], 3, 3, True), ([5, 3, 4], 3, 2, False), ([2, 2, 2], 3, 1, False)],
)  # fmt: skip
def test_a_faulty_one_is_said_again_twice_at_most_and_the_best_is_kept(weights, tries, kept, well):
    speak = Speaker()

    spoken = spoken_well(speak, "Hello.", 7, judge_by(weights))

    assert len(speak.seeds) == spoken.tries == tries
    assert len(spoken.sound.samples) == kept
    assert spoken.seed == speak.seeds[kept - 1]
    assert spoken.well == well
    assert bool(spoken.faults) != well


def test_the_same_seed_leads_to_the_same_tries_and_neighbours_share_none():
    assert seeds(7) == seeds(7)

    every = [each for seed in range(1000) for each in seeds(seed)]

    assert len(every) == len(set(every)) == 1000 * MOST_TRIES
