"""Outlines and spectrograms show what is in a sound, from files of any length."""

from __future__ import annotations

import struct
import time
import tracemalloc
import zlib
from itertools import pairwise

import numpy as np
import pytest
import soundfile

from engines.errors import AudioError
from voices.comparing import peaks

CHANCE = np.random.default_rng(0)


def written(path, samples, rate=16000):
    soundfile.write(path, samples, rate, subtype="PCM_16")
    return path


def tone(hertz, seconds, rate=16000, gain=0.5):
    return gain * np.sin(2 * np.pi * hertz * np.arange(int(seconds * rate)) / rate)


# ---- The outline ----


@pytest.mark.parametrize("count", [1, 7, 799, 800, 801, 16000, 128000, 128001, 300007])
@pytest.mark.parametrize("buckets", [1, 3, 800])
def test_each_bucket_is_the_least_and_the_most_of_its_part(tmp_path, count, buckets):
    samples = CHANCE.uniform(-0.9, 0.9, count)
    path = written(tmp_path / "a.wav", samples)
    kept = soundfile.read(path, dtype="float32")[0]

    found = peaks.outline(path, buckets)

    edges = np.arange(len(found) + 1) * count // len(found)
    parts = [kept[start:end] for start, end in pairwise(edges)]
    assert len(found) == min(buckets, count)
    assert np.array_equal(found, [(part.min(), part.max()) for part in parts])


def test_two_channels_are_drawn_as_their_middle(tmp_path):
    both = np.stack((tone(100, 1), -tone(100, 1)), axis=1)

    assert np.abs(peaks.outline(written(tmp_path / "a.wav", both), 50)).max() < 1e-3


def test_samples_that_are_no_numbers_are_drawn_as_silence(tmp_path):
    samples = np.zeros(16000, np.float32)
    samples[100:103] = np.nan, np.inf, -np.inf
    soundfile.write(tmp_path / "a.wav", samples, 16000, subtype="FLOAT")

    assert not peaks.outline(tmp_path / "a.wav").any()
    assert not peaks.spectrogram(tmp_path / "a.wav", 20, 10).any()


def test_a_file_without_sound_has_no_outline_and_a_black_picture(tmp_path):
    path = written(tmp_path / "a.wav", np.zeros(0))

    assert peaks.outline(path).shape == (0, 2)
    assert not peaks.spectrogram(path, 20, 10).any()


# ---- The spectrogram ----


def row_of(hertz, height, rate):
    """Where a tone must be, from the top, by the same scale worked out apart."""
    mel = [2595 * np.log10(1 + each / 700) for each in (60, hertz, min(8000, rate / 2))]
    return height - (mel[1] - mel[0]) / (mel[2] - mel[0]) * (height + 1)


@pytest.mark.parametrize("rate", [8000, 16000, 24000, 44100])
@pytest.mark.parametrize("hertz", [120, 440, 1000, 3000])
def test_a_tone_is_a_line_at_its_height(tmp_path, rate, hertz):
    path = written(tmp_path / "a.wav", tone(hertz, 3, rate), rate)

    rows = peaks.spectrogram(path, 100, 64)

    assert rows.shape == (64, 100) and rows.dtype == np.uint8
    brightest = rows[:, 2:-2].argmax(axis=0)
    assert np.abs(brightest - row_of(hertz, 64, rate)).max() <= 1.5
    assert rows.max() == 255


def test_what_comes_later_is_further_right_however_long_it_is(tmp_path):
    for seconds in (0.2, 2, 40):
        parts = [tone(300, seconds / 2), tone(3000, seconds / 2)]
        path = written(tmp_path / "a.wav", np.concatenate(parts))

        rows = peaks.spectrogram(path, 200, 48)

        low, high = rows[:, 20:80], rows[:, 120:180]
        assert (low.argmax(0) > 30).all() and (high.argmax(0) < 24).all(), seconds


def test_silence_is_black_and_quiet_speech_is_as_bright_as_loud(tmp_path):
    loud, quiet = (
        peaks.spectrogram(
            written(tmp_path / "a.wav", np.concatenate((tone(500, 1, gain=g), np.zeros(16000)))),
            100,
            48,
        )
        for g in (0.8, 0.1)
    )

    assert not loud[:, 55:].any() and loud.max() == quiet.max() == 255
    assert np.abs(loud[:, :45].astype(int) - quiet[:, :45]).mean() < 12


@pytest.mark.parametrize("count", [1, 100, 511, 512, 513])
def test_the_shortest_sounds_are_drawn_too(tmp_path, count):
    rows = peaks.spectrogram(written(tmp_path / "a.wav", tone(1000, 1)[:count]), 30, 16)

    assert rows.shape == (16, 30) and (rows.any() or count == 1)


def test_where_the_blocks_meet_nothing_is_seen(tmp_path, monkeypatch):
    path = written(tmp_path / "a.wav", CHANCE.normal(0, 0.1, 5 * 16000))
    whole = peaks.spectrogram(path), peaks.outline(path)

    monkeypatch.setattr(peaks, "_BLOCK_SECONDS", 1)
    parts = peaks.spectrogram(path), peaks.outline(path)

    assert all(np.array_equal(one, other) for one, other in zip(whole, parts, strict=True))


# ---- The file ----


def test_a_png_holds_the_rows_as_they_are():
    rows = CHANCE.integers(0, 256, (37, 91), dtype=np.uint8)

    content = peaks.png(rows)

    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    at, parts = 8, {}
    while at < len(content):
        (length,) = struct.unpack(">I", content[at : at + 4])
        kind, body = content[at + 4 : at + 8], content[at + 8 : at + 8 + length]
        (sum_,) = struct.unpack(">I", content[at + 8 + length : at + 12 + length])
        assert sum_ == zlib.crc32(kind + body)
        parts[kind], at = body, at + 12 + length
    assert list(parts) == [b"IHDR", b"IDAT", b"IEND"]
    assert struct.unpack(">IIBBBBB", parts[b"IHDR"]) == (91, 37, 8, 0, 0, 0, 0)
    lines = np.frombuffer(zlib.decompress(parts[b"IDAT"]), np.uint8).reshape(37, 92)
    assert not lines[:, 0].any() and np.array_equal(lines[:, 1:], rows)


# ---- How long it takes, and how much ----


def test_a_minute_is_drawn_at_once(tmp_path):
    path = written(tmp_path / "a.flac", CHANCE.normal(0, 0.1, 60 * 24000), 24000)
    taken = []
    for _ in range(3):
        start = time.perf_counter()
        peaks.outline(path)
        peaks.png(peaks.spectrogram(path))
        taken.append(time.perf_counter() - start)

    assert min(taken) < 0.6  # 0.15 s for both where nothing else runs


def test_a_longer_file_takes_no_more_memory(tmp_path):
    most = []
    for minutes in (1, 6):
        path = written(tmp_path / "a.wav", np.tile(tone(200, 60, 8000), minutes), 8000)
        tracemalloc.start()
        peaks.outline(path)
        peaks.spectrogram(path)
        most.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()

    assert most[1] < 1.3 * most[0]


def test_what_is_no_sound_is_refused_in_words(tmp_path):
    (tmp_path / "a.wav").write_bytes(b"RIFF, or not")

    for draw in (peaks.outline, peaks.spectrogram):
        for name in ("a.wav", "nowhere.flac"):
            with pytest.raises(AudioError, match="cannot be drawn"):
                draw(tmp_path / name)
