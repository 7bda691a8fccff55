"""A dataset is frozen, divided fairly, and the same for the same seed."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest

from engines.errors import DatasetError
from finetune.datasets import (
    TOUCHING_SECONDS,
    advice,
    compare,
    freeze,
    statistics,
)
from finetune.transcript import Clip, Values


def clips(count, *, recordings=2, gap=0.5, seed=1):
    rng, found, at = random.Random(seed), [], 0.0
    for number in range(count):
        seconds = rng.uniform(1, 11)
        recording = f"r{number * recordings // count}"
        found.append(Clip(number, 1, Values(recording, at, at + seconds, f"text {number}")))
        at += seconds + gap
    return found


def ids(examples):
    return {example.clip_id for example in examples}


def share(dataset):
    seconds = sum(example.seconds for example in dataset.check)
    return seconds / sum(example.seconds for example in dataset.examples)


@pytest.mark.parametrize("count", [60, 200, 2000])
@pytest.mark.parametrize("seed", range(5))
def test_about_as_much_as_wanted_is_kept_for_checking(count, seed):
    dataset = freeze(clips(count, seed=seed), seed)

    assert 0.05 <= share(dataset) <= 0.15
    assert ids(dataset.train) | ids(dataset.check) == set(range(count))
    assert not ids(dataset.train) & ids(dataset.check)


def test_the_same_seed_gives_the_same_dataset_and_another_one_another():
    some = clips(200)

    assert freeze(some, 7) == freeze(some, 7)
    assert freeze(some, 7).check != freeze(some, 8).check
    assert freeze(list(reversed(some)), 7).check != ()


def test_clips_that_touch_are_on_one_side():
    some = clips(300, gap=TOUCHING_SECONDS / 2)
    loose = [clip for clip in some if clip.id % 10]

    dataset = freeze(loose, 3)

    spans = {example.clip_id: example for example in dataset.examples}
    checked = ids(dataset.check)
    for before, after in itertools.pairwise(loose):
        same = before.values.recording == after.values.recording
        if same and after.values.start - before.values.end < TOUCHING_SECONDS:
            assert (before.id in checked) == (after.id in checked), spans[before.id]


def test_a_text_that_is_learned_is_no_check():
    rng = random.Random(5)
    some = [
        replace(clip, values=replace(clip.values, text=f"Text  {rng.randrange(9)}".upper()))
        if rng.random() < 0.1
        else clip
        for clip in clips(400)
    ]

    dataset = freeze(some, 1)

    learned = {example.text for example in dataset.train}
    assert not learned & {example.text for example in dataset.check}


def test_what_is_left_out_or_gone_is_not_in_it():
    some = clips(60)
    some[3] = replace(some[3], values=replace(some[3].values, included=False))
    some[4] = replace(some[4], values=replace(some[4].values, gone=True))

    assert {3, 4} & ids(freeze(some, 1).examples) == set()


@pytest.mark.parametrize("count", [0, 1])
def test_too_few_clips_are_refused_with_what_to_do(count):
    with pytest.raises(DatasetError, match="too few clips") as caught:
        freeze(clips(count), 1)

    assert "Record more" in caught.value.fix


@pytest.mark.parametrize("wish", [0, 0.04, 0.16, 1])
def test_a_share_outside_the_limits_is_refused(wish):
    with pytest.raises(DatasetError, match="for checking"):
        freeze(clips(60), 1, wish)


def test_small_datasets_still_have_something_to_check_with():
    for count in range(6, 30):
        dataset = freeze(clips(count), 1)
        assert dataset.check and dataset.train


def test_what_changed_since_the_last_version_is_told():
    some = clips(60)
    old = freeze(some, 1)
    some[5] = replace(some[5], values=replace(some[5].values, text="corrected"))
    some[6] = replace(some[6], values=replace(some[6].values, included=False))
    new = freeze([*some, Clip(99, 1, Values("r9", 0, 2, "new"))], 1)

    found = compare(old, new)

    assert (found.added, found.removed, found.changed) == ((99,), (6,), (5,))


def test_statistics_say_what_is_in_it():
    some = [Clip(i, 1, Values("r", i * 70, i * 70 + 30 + i, f"a b c{i}")) for i in range(8)]

    found = statistics(freeze(some, 1))

    assert (found.clips, found.words) == (8, 24)
    assert found.minutes == pytest.approx((8 * 30 + 28) / 60)
    assert (found.shortest_seconds, found.longest_seconds) == (30, 37)
    assert found.characters[:3] == (("a", 8), ("b", 8), ("c", 8))


@pytest.mark.parametrize(
    ("minutes", "word"), [(0.5, "at least 2"), (2.5, "enough to begin"), (4, "good amount")]
)
def test_enough_or_not_is_a_sentence(minutes, word):
    assert word in advice(minutes)
