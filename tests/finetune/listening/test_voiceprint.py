"""The prints of one voice lie together, those of two apart."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from engines.errors import EngineError
from finetune.listening import voiceprint
from tests.speech import RATE, bundled


@pytest.fixture(scope="module")
def maker():
    return voiceprint.VoicePrints()


@pytest.fixture(scope="module")
def prints(maker):
    said = bundled()[:20]
    return [each.voice for each in said], np.stack([maker.of(each.samples, RATE) for each in said])


def test_a_print_is_nearest_to_one_of_the_same_voice(prints):
    voices, found = prints
    alike = found @ found.T - 2 * np.eye(len(found))

    assert [voices[at] for at in alike.argmax(axis=1)] == voices


def test_a_print_has_length_one_and_does_not_mind_loudness_or_rate(maker):
    import soxr

    clip = bundled()[0].samples
    plain = maker.of(clip, RATE)

    assert np.linalg.norm(plain) == pytest.approx(1, abs=1e-4)
    assert plain @ maker.of(0.2 * clip, RATE) > 0.95
    assert plain @ maker.of(soxr.resample(clip, RATE, 44_100), 44_100) > 0.98


@pytest.mark.parametrize("count", [0, 1, 100, 16_000])
def test_silence_has_no_voice(maker, count):
    assert not maker.of(np.zeros(count, np.float32), RATE).any()


def test_missing_weights_say_how_to_get_them(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    with pytest.raises(EngineError, match=r"launch\.py"):
        voiceprint.weights_file()
