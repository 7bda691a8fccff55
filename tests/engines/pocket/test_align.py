"""Sounds laid over frames."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest
import torch

from engines.pocket import align as aligning
from engines.pocket.align import align, best_way, durations, listen
from engines.pocket.facts import BANDS, PHONES
from engines.pocket.phones import PAUSE_NUMBER, sounds_of
from engines.pocket.pretrain.aligner import standardised
from engines.pocket.sound import mels
from tests.engines.pocket.small import aligner, sentences

SOUNDS = len(PHONES)


def weights_of(net):
    return {name: each.numpy() for name, each in net.state_dict().items()}


def heard_of(count, seed):
    """What a net hears that has no idea."""
    chance = np.random.default_rng(seed).normal(0, 2, (count, SOUNDS))
    return (chance - np.log(np.exp(chance).sum(1, keepdims=True))).astype(np.float32)


def best_of_all(heard, phones, optional):
    """The likeliest of all ways there are, and how likely it is."""
    needed = {state for state in range(len(phones)) if not optional[state]}
    ways = [
        way
        for way in combinations_with_replacement(range(len(phones)), len(heard))
        if needed <= {*way}
    ]
    scores = [sum(heard[at, phones[state]] for at, state in enumerate(way)) for way in ways]
    best = int(np.argmax(scores))
    return list(ways[best]), float(scores[best])


OPTIONAL = {
    "none": "0000",
    "first": "1000",
    "last": "0001",
    "middle": "0010",
    "both ends": "1001",
    "every other": "10101",
    "only one needed": "101",
    "two sounds": "00",
}


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("which", OPTIONAL.values(), ids=OPTIONAL)
def test_the_way_found_is_the_best_of_all_ways(which, seed):
    optional = np.array([each == "1" for each in which])
    chance = np.random.default_rng(seed)
    phones = chance.permutation(SOUNDS)[: len(optional)]
    for frames in range(max(1, (~optional).sum()), 8):
        heard = heard_of(frames, seed * 100 + frames)

        found = best_way(heard, phones, optional)

        way, score = best_of_all(heard, phones, optional)
        assert found.places.tolist() == way
        assert found.sureness == pytest.approx(score / frames, abs=1e-4)


def speech_of(sounds, seed, frames=(2, 12), pause=0):
    """Phones with pauses that may be, and what a good net hears of them; no sound is certain."""
    chance = np.random.default_rng(seed)
    phones = chance.integers(2, SOUNDS, sounds)
    phones[:: chance.integers(4, 7)] = PAUSE_NUMBER
    lasts = chance.integers(*frames, sounds)
    lasts[(phones == PAUSE_NUMBER) & (chance.random(sounds) < 0.5)] = 0
    if pause:
        phones[sounds // 2], lasts[sounds // 2] = PAUSE_NUMBER, pause
    true = np.repeat(np.arange(sounds), lasts)
    heard = chance.normal(0, 2, (len(true), SOUNDS))
    heard[np.arange(len(true)), phones[true]] += 6
    heard -= np.log(np.exp(heard).sum(1, keepdims=True))
    return heard.astype(np.float32), phones, true


# 200 sounds are a long clip; 2,000 are three minutes; a pause of 1,500 frames lasts 24 s.
@pytest.mark.parametrize(("sounds", "pause"), [(200, 0), (200, 600), (2000, 0), (400, 1500)])
def test_leaving_out_unlikely_ways_changes_nothing(sounds, pause, monkeypatch):
    heard, phones, true = speech_of(sounds, seed=sounds, pause=pause)

    found = best_way(heard, phones, phones == PAUSE_NUMBER)

    monkeypatch.setattr(aligning, "_BEAM", 1e18)
    assert np.array_equal(found.places, best_way(heard, phones, phones == PAUSE_NUMBER).places)
    assert (found.places == true).mean() > 0.95


@pytest.mark.parametrize(("frames", "certain"), [(300, 12), (1000, 8), (100, 20)])
def test_a_text_that_is_longer_than_what_is_spoken_is_laid_over_it_all_the_same(frames, certain):
    heard = np.full((frames, SOUNDS), -float(certain), np.float32)
    heard[:, PAUSE_NUMBER] = -0.01
    phones = np.r_[PAUSE_NUMBER, np.arange(frames // 2) % 30 + 2, PAUSE_NUMBER]

    found = best_way(heard, phones, phones == PAUSE_NUMBER)

    assert set(found.places) >= set(range(1, len(phones) - 1))


@pytest.mark.parametrize("seed", range(20))
def test_every_sound_but_pauses_has_a_frame_and_none_comes_before_its_turn(seed):
    chance = np.random.default_rng(seed)
    phones = chance.integers(2, SOUNDS, 30)
    phones[::5] = PAUSE_NUMBER
    frames = 24 + seed * 3  # the 24 sounds that are no pauses fit in just so

    found = best_way(heard_of(frames, seed), phones, phones == PAUSE_NUMBER)

    lasts = durations(found.places, len(phones))
    assert len(found.places) == lasts.sum() == frames
    assert (lasts[phones != PAUSE_NUMBER] >= 1).all()
    assert (np.diff(found.places) >= 0).all()


def test_fewer_frames_than_sounds_are_refused():
    phones = np.arange(2, 22)

    with pytest.raises(ValueError, match="5 frames for 20 sounds"):
        best_way(heard_of(5, 0), phones, phones == PAUSE_NUMBER)


def test_durations_count_the_frames_of_each_sound_and_none_of_the_left_out():
    assert durations(np.array([0, 0, 2, 3, 3, 3]), 6).tolist() == [2, 0, 1, 3, 0, 0]


# ---- The net ----


def test_the_net_hears_in_numpy_what_it_hears_in_torch():
    net = aligner()
    bands = mels(sentences()[0].samples)

    found = listen(bands, weights_of(net))

    with torch.no_grad():
        wanted = net(standardised(torch.from_numpy(bands))[None])[0].log_softmax(-1)
    assert wanted.std() > 0.3
    np.testing.assert_allclose(found, wanted.numpy(), atol=1e-4)


def test_pieces_of_a_long_recording_are_heard_without_a_seam(monkeypatch):
    chance = np.random.default_rng(0)
    bands = chance.normal(-5, 2, (900, BANDS)).astype(np.float32)
    weights = weights_of(aligner())
    whole = listen(bands, weights)

    monkeypatch.setattr(aligning, "_PIECE", 250)
    found = listen(bands, weights)

    assert len(found) == 900
    np.testing.assert_allclose(found, whole, atol=1e-4)


def test_what_is_heard_is_the_same_however_loud_it_is():
    bands = mels(sentences()[0].samples)
    weights = weights_of(aligner())

    np.testing.assert_allclose(listen(bands + 1, weights), listen(bands, weights), atol=1e-3)


def test_a_sentence_is_laid_over_its_frames():
    said = sentences()[0]
    phones = sounds_of(said.text, pauses_between_words=True).rows[:, 0]
    bands = mels(said.samples)

    found = align(bands, phones, weights_of(aligner()))

    lasts = durations(found.places, len(phones))
    assert lasts.sum() == len(bands)
    assert (lasts[phones != PAUSE_NUMBER] > 0).all()
    assert found.sureness < 0
