"""Tests of app/speech/encoding.py."""

import io
import itertools
import wave

import av
import numpy as np
import pytest

from app.speech.encoding import KINDS, Encoder, rate_for
from engines.base import Sound

SECONDS = 3


def tone(rate, seconds=SECONDS, level=0.3):
    return Sound(
        (level * np.sin(np.arange(round(rate * seconds)) * 2 * np.pi * 440 / rate)).astype("f4"),
        rate,
    )


def encoded(kind, rate, gain=1.0, parts=6):
    """A tone in several parts, and what came of each."""
    encoder, sound = Encoder(kind, rate, gain), tone(rate)
    size = len(sound.samples) // parts
    came = [
        encoder.feed(Sound(sound.samples[at : at + size], rate))
        for at in range(0, len(sound.samples), size)
    ]
    return [*came, encoder.end()]


def decoded(kind, content):
    """Samples and their rate."""
    raw = {"format": "s16le", "options": {"sample_rate": "24000"}} if kind == "pcm" else {}
    with av.open(io.BytesIO(content), **raw) as file:
        frames = [frame.to_ndarray() for frame in file.decode(audio=0)]
        rate = file.streams.audio[0].rate
    samples = np.concatenate([frame[:1].astype("f8") for frame in frames], axis=1)[0]
    whole = np.issubdtype(frames[0].dtype, np.integer)
    return samples / (np.iinfo(frames[0].dtype).max if whole else 1), rate


@pytest.mark.parametrize(
    "kind, rate", list(itertools.product(KINDS, [16_000, 22_050, 24_000, 44_100]))
)
def test_what_is_sent_in_parts_is_the_whole_sound(kind, rate):
    samples, has = decoded(kind, b"".join(encoded(kind, rate)))

    # An mp3 has a frame before the sound, and is a whole number of them.
    assert len(samples) / has == pytest.approx(SECONDS, abs=0.15)
    middle = samples[has : 2 * has]
    assert np.sqrt(np.mean(middle**2)) == pytest.approx(0.3 / np.sqrt(2), rel=0.1)
    assert abs(np.fft.rfft(middle)).argmax() == pytest.approx(440, abs=1)


@pytest.mark.parametrize("kind", KINDS)
def test_sound_is_sent_long_before_the_end(kind):
    came = encoded(kind, 24_000)

    # Ogg keeps a page back, which lasts a second.
    assert len(b"".join(came[:4])) > 0.3 * len(b"".join(came))


def test_flac_and_wav_lose_nothing():
    sound = tone(22_050)
    for kind in ("flac", "wav"):
        samples, rate = decoded(kind, b"".join(encoded(kind, 22_050)))

        assert rate == 22_050
        assert np.abs(samples - sound.samples).max() < 1 / 30_000


def test_a_wav_that_nobody_knows_the_end_of_is_read_by_python_itself():
    content = b"".join(encoded("wav", 22_050))

    with wave.open(io.BytesIO(content)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (22_050, 1, 2)
        assert len(file.readframes(10**6)) == 2 * 22_050 * SECONDS


def test_what_is_louder_than_can_be_written_is_rounded_off_and_never_turns_over():
    samples, _ = decoded("wav", b"".join(encoded("wav", 24_000, gain=10.0)))

    assert 0.85 < np.abs(samples).max() < 0.9
    assert np.abs(np.diff(samples)).max() < 0.5


@pytest.mark.parametrize(
    "kind, rate, has",
    [
        ("pcm", 16_000, 24_000),
        ("mp3", 22_050, 22_050),
        ("mp3", 23_000, 24_000),
        ("mp3", 96_000, 48_000),
        ("opus", 22_050, 24_000),
        ("opus", 44_100, 48_000),
        ("flac", 22_050, 22_050),
    ],
)
def test_the_rate_is_the_voices_own_or_the_next_that_the_kind_can_have(kind, rate, has):
    assert rate_for(KINDS[kind], rate) == has
