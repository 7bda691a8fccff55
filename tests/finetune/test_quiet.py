from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finetune.quiet import clipped_share, levels, quiet_runs, quietest, sounding


def tone(seconds: float, rate: int, loudness: float = 0.5) -> np.ndarray:
    return loudness * np.sin(2 * np.pi * 440 * np.arange(int(seconds * rate)) / rate)


@pytest.mark.parametrize("rate", [8000, 11025, 16000, 22050, 44100, 48000])
def test_levels_come_every_10_ms_at_every_rate(rate):
    heard = levels(np.concatenate((tone(1, rate), np.zeros(rate))), rate)

    assert len(heard) == 200
    assert heard[:99] == pytest.approx(-9.03, abs=1.5)  # 0.5 / sqrt 2
    assert set(heard[101:].tolist()) == {-100.0}


def test_blocks_of_whole_seconds_measure_the_same_as_one_piece():
    sound = np.random.default_rng(3).normal(0, 0.1, 22050 * 5)

    pieces = [levels(sound[second * 22050 : (second + 1) * 22050], 22050) for second in range(5)]

    assert np.concatenate(pieces) == pytest.approx(levels(sound, 22050), abs=1e-4)


def test_broken_samples_stay_where_they_are():
    sound = tone(1, 16000)
    sound[800] = np.nan
    sound[12000] = np.inf

    assert np.isfinite(levels(sound, 16000)).all()


def test_the_quietest_10_ms_is_found_to_the_step():
    heard = np.full(300, -20.0, np.float32)
    heard[137] = -50

    assert quietest(heard, 0, 3) == pytest.approx(1.375)
    assert quietest(heard, 2, 3) == pytest.approx(2.5, abs=0.02)


@given(
    st.lists(st.floats(-100, 0), max_size=50),
    st.floats(-1, 2, allow_subnormal=False),
    st.floats(0, 1, allow_subnormal=False),
)
def test_what_is_found_lies_between_the_times_asked_for(values, start, length):
    heard, end = np.array(values, np.float32), start + length

    assert start <= quietest(heard, start, end) <= end
    for begin, stop in [*quiet_runs(heard, start, end), sounding(heard, start, end)]:
        assert start <= begin <= stop <= end


def test_silence_between_two_tones_is_one_quiet_run():
    sound = np.concatenate((tone(0.5, 16000), np.zeros(4000), tone(0.5, 16000)))

    assert quiet_runs(levels(sound, 16000), 0, 1.25) == [(0.5, 0.75)]


def test_steady_noise_has_no_quiet_runs():
    noise = np.random.default_rng(1).normal(0, 0.1, 16000)

    assert quiet_runs(levels(noise, 16000), 0, 1) == []


def test_clipping_is_flat_tops_and_not_single_peaks():
    sound = tone(1, 16000)
    sound[100] = 1.0
    assert clipped_share(sound) == 0

    assert clipped_share(np.clip(sound * 4, -1, 1)) > 0.5
    assert clipped_share(np.zeros(2)) == 0
