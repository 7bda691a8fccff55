"""A stranger among a speaker's clips is found; the speaker is not accused."""

from __future__ import annotations

import time

import numpy as np
import pytest

from finetune.checks import GOOD, LOOK, MENTION
from finetune.listening.other_voice import distances, judge

CHANCE = np.random.default_rng(0)


def prints(voice, count, spread=0.03):
    """Prints of one voice: unit vectors around a direction of its own."""
    own = np.abs(np.random.default_rng(voice).normal(0, 1, 256))
    some = own / np.linalg.norm(own) + CHANCE.normal(0, spread / 2, (count, 256))
    return (some / np.linalg.norm(some, axis=1, keepdims=True)).astype(np.float32)


def test_five_strangers_among_a_hundred_clips_are_found():
    found = judge([*prints(1, 95), *prints(2, 5)])

    assert {each.weight for each in found[:95]} == {GOOD}
    assert {each.weight for each in found[95:]} == {LOOK}
    assert "Probably another voice" in found[95].sentence


def test_a_voice_alone_is_the_same_throughout():
    assert {each.weight for each in judge(list(prints(1, 40)))} == {GOOD}


def test_two_voices_of_equal_share_are_called_two_voices():
    found = judge([*prints(1, 50), *prints(2, 50)])

    accused = [each for each in found if each.weight]
    assert accused
    assert all("two voices" in each.sentence for each in accused)


def test_a_clip_a_little_apart_is_only_mentioned():
    own, other = prints(1, 1, 0)[0], prints(2, 1, 0)[0]
    mixed = 0.3 * own + 0.7 * other
    found = judge([*prints(1, 60, 0), mixed / np.linalg.norm(mixed)])

    assert found[-1].weight == MENTION
    assert "may be" in found[-1].sentence


@pytest.mark.parametrize("count", [0, 1, 7])
def test_too_few_clips_judge_nobody(count):
    found = judge([*prints(1, count)])

    assert len(found) == count
    assert all("Too few" in each.sentence and each.weight == GOOD for each in found)


def test_a_clip_without_a_voice_is_no_stranger():
    assert distances(np.vstack([prints(1, 20), np.zeros((1, 256), np.float32)]))[-1] == 0
    assert {each.weight for each in judge(list(np.zeros((9, 256), np.float32)))} == {GOOD}


def test_twenty_thousand_clips_are_judged_in_moments():
    many = list(prints(1, 20_000))
    began = time.perf_counter()

    judge(many)

    assert time.perf_counter() - began < 5
