"""What pocket learns of a clip, and how it describes a voice."""

from __future__ import annotations

import numpy as np
import pytest

from engines.pocket.acoustic import MANNER
from engines.pocket.facts import BANDS, HOP, RATE
from engines.pocket.features import features_of, manner
from engines.pocket.sound import levelled, mels, pitch, whole_frames
from tests.engines.pocket.small import hum, noise, sentences


def described(samples):
    return manner(mels(samples), pitch(samples))


def spoken(number):
    return whole_frames(levelled(sentences()[number].samples))


def test_everything_of_a_clip_is_counted_in_the_same_frames():
    samples = spoken(0)
    frames = len(samples) // HOP
    lasts = np.array([10, frames - 15, 5])

    found = features_of(samples, np.ones((3, 4), np.int64), lasts)

    assert found["durations"].tolist() == lasts.tolist()
    assert found["rows"].shape == (3, 4)
    assert found["mels"].shape == (frames, BANDS)
    assert found["pitch"].shape == found["voiced"].shape == (frames,)
    assert found["samples"].shape == (frames * HOP,)
    assert found["manner"].shape == (MANNER,)


def test_what_is_kept_of_a_clip_is_near_enough_to_what_it_was():
    samples = spoken(0)

    found = features_of(samples, np.ones((1, 4), np.int64), np.array([len(samples) // HOP]))

    np.testing.assert_allclose(found["samples"] / 32767, samples, atol=1 / 32767)
    np.testing.assert_allclose(found["mels"].astype(np.float32), mels(samples), atol=0.005)


def test_a_clip_clipped_at_both_ends_stays_within_its_numbers():
    samples = np.where(hum(150) > 0, 1, -1).astype(np.float32)[: 60 * HOP]

    found = features_of(samples, np.ones((1, 4), np.int64), np.array([60]))

    assert found["samples"].max() == 32767 and found["samples"].min() == -32767
    assert np.array_equal(np.sign(found["samples"]), np.sign(samples))


def test_a_manner_tells_how_high_a_voice_is_how_it_moves_and_how_often_it_is_voiced():
    still = np.concatenate([hum(200, 1.5), noise(0.5, 0.02)])
    moving = hum(np.geomspace(150, 300, RATE))

    assert described(still)[-3] == pytest.approx(np.log(200), abs=0.01)
    assert described(still)[-2] < 0.03
    assert described(still)[-1] == pytest.approx(0.75, abs=0.05)
    # Even steps over an octave spread by ln 2 / sqrt 12.
    assert described(moving)[-2] == pytest.approx(np.log(2) / np.sqrt(12), rel=0.1)


def test_silence_around_speech_hardly_changes_the_spectrum_of_its_manner():
    samples = spoken(0)
    silence = np.zeros(RATE // 2, np.float32)

    alone, within = described(samples), described(np.concatenate([silence, samples, silence]))

    assert np.abs(alone[:BANDS] - within[:BANDS]).mean() < 0.5


def test_two_sentences_of_a_voice_are_nearer_than_those_of_two_voices():
    by_voice = {}
    for number, each in enumerate(sentences()[:20]):
        by_voice.setdefault(each.voice, []).append(described(spoken(number))[:BANDS])

    for voice, (one, other, *_) in by_voice.items():
        others = [each[0] for name, each in by_voice.items() if name != voice]
        nearest = min(np.abs(one - each).mean() for each in others)
        assert np.abs(one - other).mean() < nearest


def test_the_manner_of_silence_of_any_length_is_numbers():
    for frames in range(1, 200):
        assert np.isfinite(described(np.zeros(frames * HOP, np.float32))).all()


@pytest.mark.parametrize("count", [0, 1, HOP, 2 * HOP])
def test_hardly_any_sound_has_a_manner_too(count):
    found = described(hum(120)[:count])

    assert found.shape == (MANNER,)
    assert np.isfinite(found).all()
