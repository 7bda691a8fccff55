"""What is measured, against sounds whose levels are known."""

from __future__ import annotations

import numpy as np
import pytest

from finetune.media.meter import Meter
from tests.finetune.media.making import speech, tone


def measure(samples, rate=48000, block=None):
    meter = Meter(rate)
    block = block or rate
    for at in range(0, len(samples), block):
        meter.feed(np.asarray(samples[at : at + block], np.float32))
    return meter.levels()


# BS.1770-4: a 997 Hz sine at full scale in one channel reads -3.01 LKFS.
@pytest.mark.parametrize("level_db", [0, -20, -23, -40])
@pytest.mark.parametrize("rate", [16000, 22050, 44100, 48000])
def test_loudness_of_the_sine_the_standard_names(rate, level_db):
    levels = measure(tone(997, 20, rate, level_db), rate)

    assert levels.loudness_lufs == pytest.approx(level_db - 3.01, abs=0.1)


# EBU Tech 3341, cases 3 to 5: loud and quiet parts, one channel (3.01 less than both).
@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([(-36, 10), (-23, 60), (-36, 10)], -23),
        ([(-72, 10), (-36, 10), (-23, 60), (-36, 10), (-72, 10)], -23),
        ([(-26, 20), (-20, 20.1), (-26, 20)], -23),
    ],
)
def test_what_is_far_quieter_than_the_rest_does_not_count(parts, expected):
    samples = np.concatenate([tone(1000, seconds, 48000, level) for level, seconds in parts])

    assert measure(samples).loudness_lufs == pytest.approx(expected - 3.01, abs=0.1)


def test_a_deep_rumble_is_hardly_heard_and_a_hiss_more():
    assert measure(tone(20, 10, 48000)).loudness_lufs < -28
    assert measure(tone(5000, 10, 48000)).loudness_lufs == pytest.approx(-15 + 3.3, abs=0.3)


@pytest.mark.parametrize("block", [7, 1000, 48000, 10**6])
def test_how_the_sound_is_cut_into_blocks_changes_nothing(block):
    samples = speech(3, 48000) if block > 100 else speech(0.2, 48000)
    whole, cut = measure(samples, block=len(samples)), measure(samples, block=block)

    for name in ("peak_db", "rms_db", "loudness_lufs", "noise_db", "speech_db", "silence_share"):
        assert getattr(cut, name) == pytest.approx(getattr(whole, name), abs=0.001), name
    assert cut.clipped_share == whole.clipped_share


@pytest.mark.parametrize("noise_db", [-60, -45, -30])
def test_noise_between_the_words_is_measured(noise_db):
    samples = speech(20, 48000, noise=10 ** (noise_db / 20))

    levels = measure(samples)

    assert levels.noise_db == pytest.approx(noise_db, abs=1.5)
    assert levels.speech_to_noise_db == pytest.approx(levels.speech_db - noise_db, abs=1.5)
    if noise_db < -40:  # else too near the voice to tell
        assert levels.silence_share == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("drive", [1, 2, 4])
def test_clipping_is_counted(drive):
    samples = np.clip(tone(440, 5, 48000, level_db=0) * drive, -1, 1)

    share = measure(samples).clipped_share

    at_full = np.mean(np.abs(np.sin(np.linspace(0, 2 * np.pi, 100000))) * drive >= 1)
    assert share == pytest.approx(at_full, abs=0.03)
    assert measure(samples * 0.9).clipped_share == 0


def test_an_offset_is_measured():
    assert measure(tone() + 0.1).dc_offset == pytest.approx(0.1, abs=0.001)


@pytest.mark.parametrize("highest", [3400, 8000, 15000])
def test_up_to_where_there_is_sound(highest):
    rng = np.random.default_rng(0)
    spectrum = np.fft.rfft(rng.standard_normal(48000 * 4))
    spectrum[int(highest * 4) :] *= 1e-5

    levels = measure(np.fft.irfft(spectrum) * 0.1)

    assert levels.bandwidth_hz == pytest.approx(highest, abs=300)


@pytest.mark.parametrize("length", [0, 1, 100, 2000, 6000])
def test_very_little_sound_and_silence_have_levels(length):
    for samples in (np.zeros(length), speech(1, 48000)[:length]):
        levels = measure(samples)

        assert all(np.isfinite(getattr(levels, name)) for name in levels.__slots__)

    assert measure(np.zeros(length)).peak_db == -120
    assert measure(np.zeros(length)).loudness_lufs == -70
