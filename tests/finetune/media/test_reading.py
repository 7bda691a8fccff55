"""Spans and outlines of a working copy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import soundfile
import soxr

from engines.errors import AudioError
from finetune.media import reading
from tests.finetune.media.making import speech, tone

RATE = 44100


@pytest.fixture(scope="module")
def samples():
    return np.rint(speech(6, RATE) * 32768).astype(np.int16)


@pytest.fixture(scope="module")
def copy(samples, tmp_path_factory):
    path = tmp_path_factory.mktemp("copies") / "copy.flac"
    soundfile.write(path, samples, RATE, subtype="PCM_16")
    return path


def test_a_span_is_the_same_span_of_the_whole(copy, samples):
    rng = np.random.default_rng(0)
    for start, end in np.sort(rng.uniform(0, 6, (50, 2))):
        sound = reading.read(copy, start, end)

        expected = samples[round(start * RATE) : round(end * RATE)] / 32768
        assert sound.rate == RATE
        assert np.array_equal(sound.samples, expected.astype(np.float32))


@pytest.mark.parametrize("rate", [16000, 22050, 24000, 48000])
def test_a_resampled_span_is_the_same_span_of_the_resampled_whole(rate, copy, samples):
    whole = soxr.resample((samples / 32768).astype(np.float32), RATE, rate)
    rng = np.random.default_rng(rate)
    spans = [*np.sort(rng.uniform(0, 6, (30, 2))), (0, 6), (0, 0.1), (5.9, 6)]

    for start, end in spans:
        sound = reading.read(copy, start, end, rate)

        begin = round(round(start * RATE) * rate / RATE)
        expected = whole[begin : begin + len(sound.samples)]
        assert abs(sound.seconds - (end - start)) < 1.5 / rate
        assert sound.samples.dtype == np.float32
        assert np.max(np.abs(sound.samples - expected)) < 1e-4


def test_neighbouring_spans_leave_nothing_out_and_repeat_nothing(copy):
    edges = [0, 0.7317, 1.5, 2.00001, 4.9, 6]

    pieces = [reading.read(copy, *span, 24000).samples for span in itertools.pairwise(edges)]

    assert np.allclose(np.concatenate(pieces), reading.read(copy, 0, 6, 24000).samples, atol=1e-4)


@pytest.mark.parametrize("span", [(-1, 0), (6, 9), (7, 8), (3, 3), (4, 2)])
def test_where_there_is_nothing_the_sound_is_empty(span, copy):
    for rate in (None, 16000):
        assert len(reading.read(copy, *span, rate).samples) == 0


def test_what_lies_outside_is_not_there(copy):
    assert reading.read(copy, -5, 100).seconds == 6
    assert reading.seconds(copy) == 6


def test_reading_seeks_instead_of_decoding_from_the_start(tmp_path):
    """The last second of ten hours comes as fast as the first."""
    path = tmp_path / "long.flac"
    with soundfile.SoundFile(path, "w", 16000, 1, subtype="PCM_16") as file:
        for _ in range(60):
            file.write(np.zeros(16000 * 60, np.int16))
        file.write(tone(440, 1, 16000))

    sound = reading.read(path, 3600, 3601)

    assert np.max(sound.samples) > 0.2 and sound.seconds == 1


@pytest.mark.parametrize("points_per_second", [1, 50, 33, 1000])
def test_the_outline_holds_every_sample(points_per_second, tmp_path):
    samples = np.rint(speech(9.37, 22050) * 32768).astype(np.int16)
    soundfile.write(tmp_path / "copy.flac", samples, 22050, subtype="PCM_16")

    drawn = reading.peaks(tmp_path / "copy.flac", points_per_second)

    assert drawn.shape == (np.ceil(9.37 * points_per_second), 2)
    for point, (low, high) in enumerate(drawn):
        begin, end = (at * 22050 // points_per_second for at in (point, point + 1))
        part = samples[begin:end] / 32768
        assert (low, high) == (np.float32(part.min()), np.float32(part.max()))


@pytest.mark.parametrize("content", [None, b"", b"fLaC", b"hello"])
def test_a_working_copy_that_is_gone_or_damaged_says_what_to_do(content, tmp_path):
    path = tmp_path / "copy.flac"
    if content is not None:
        path.write_bytes(content)

    for use in (lambda: reading.read(path, 0, 1), lambda: reading.peaks(path)):
        with pytest.raises(AudioError, match="missing or damaged") as caught:
            use()
        assert "Import the recording again" in caught.value.fix


def test_a_working_copy_that_was_cut_off_is_damaged(copy, tmp_path):
    path = tmp_path / "copy.flac"
    path.write_bytes(copy.read_bytes()[: copy.stat().st_size // 2])

    assert reading.read(path, 0, 1).seconds == 1
    with pytest.raises(AudioError, match="damaged"):
        reading.read(path, 4, 5)
