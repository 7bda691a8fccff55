"""Speech is written while it comes, whole or not at all, as loud as wished."""

from __future__ import annotations

import errno
import tracemalloc

import numpy as np
import pytest
import soundfile

from engines.base import Sound
from engines.errors import AudioError, DiskFullError, NotFoundError
from tests.voices.speaking.corpus import bundle
from voices.speaking import formats
from voices.speaking.formats import KINDS, Loudness, kind_of, rounded_off, write
from voices.speaking.loudness import LoudnessMeter

RATE = 16000
AS_IT_IS = Loudness(target_lufs=None)


def speech(count=8):
    return [case.sound for case in bundle()[:count]]


def lufs(path):
    samples, rate = soundfile.read(path, dtype="float32")
    meter = LoudnessMeter(rate)
    meter.feed(samples)
    return meter.lufs()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_holds_all_the_sound_and_no_more(kind, tmp_path):
    sounds = speech()

    written = write(tmp_path / f"a.{kind}", sounds, AS_IT_IS)

    samples, rate = soundfile.read(written.path, dtype="float32")
    said = np.concatenate([sound.samples for sound in sounds])
    assert (rate, len(samples)) == (RATE, len(said))
    assert written.seconds == len(said) / RATE
    assert np.corrcoef(samples, said)[0, 1] > 0.98
    if kind in ("wav", "flac"):
        assert np.abs(samples - said).max() <= 1 / 32768


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", [-16.0, -23.0])
def test_it_gets_as_loud_as_wished_without_clipping(kind, target, tmp_path):
    sounds = [Sound(sound.samples * 0.1, RATE) for sound in speech()]

    written = write(tmp_path / f"a.{kind}", sounds, Loudness(target))

    assert lufs(written.path) == pytest.approx(target, abs=0.5)
    assert written.lufs == pytest.approx(target, abs=0.5)
    assert np.abs(soundfile.read(written.path)[0]).max() < 0.95


def test_with_a_known_loudness_each_block_is_written_before_the_next_is_asked_for(tmp_path):
    meter = LoudnessMeter(RATE)
    for sound in speech():
        meter.feed(sound.samples)

    written = write(tmp_path / "a.wav", speech(), Loudness(-16.0, known_lufs=meter.lufs()))

    assert lufs(written.path) == pytest.approx(-16.0, abs=0.5)
    assert list(tmp_path.iterdir()) == [written.path]


def test_silence_stays_silence(tmp_path):
    written = write(tmp_path / "a.wav", [Sound(np.zeros(RATE, np.float32), RATE)])

    assert written.gain_db == 0
    assert not soundfile.read(written.path)[0].any()


@pytest.mark.parametrize("name", ["a.xyz", "a", "a.wav.txt", "a.m4a"])
def test_a_wrong_ending_says_which_there_are(name, tmp_path):
    with pytest.raises(AudioError, match=r"no kind of audio.*\.wav, \.flac, \.mp3, \.ogg"):
        write(tmp_path / name, speech(1))

    assert list(tmp_path.iterdir()) == []


def test_endings_may_be_written_large(tmp_path):
    assert kind_of(tmp_path / "a.MP3") == "mp3"


def test_what_cannot_be_written_is_a_sentence_and_leaves_nothing(tmp_path):
    mixed = [*speech(1), Sound(np.zeros(100, np.float32), 24000)]

    with pytest.raises(AudioError, match="changes from 16000 to 24000"):
        write(tmp_path / "a.wav", mixed)
    with pytest.raises(AudioError, match="no sound to write"):
        write(tmp_path / "a.wav", [])
    with pytest.raises(AudioError, match="mp3 cannot have 17000"):
        write(tmp_path / "a.mp3", [Sound(np.zeros(100, np.float32), 17000)])
    with pytest.raises(NotFoundError, match="no folder"):
        write(tmp_path / "none" / "a.wav", speech(1))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("loudness", [AS_IT_IS, Loudness()])
@pytest.mark.parametrize("kind", KINDS)
def test_a_speaker_that_fails_leaves_what_was_there_before(kind, loudness, tmp_path):
    path = tmp_path / f"a.{kind}"
    path.write_bytes(b"before")

    def stopping():
        yield from speech(2)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(path, stopping(), loudness)

    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("room", [0, 100, 20_000])
@pytest.mark.parametrize("kind", KINDS)
def test_a_full_disk_is_a_sentence(kind, room, tmp_path, monkeypatch, capfd):
    left = [room]

    class Full(formats._Sink):
        def write(self, content):
            left[0] -= len(content)
            if left[0] < 0:
                self._error = OSError(errno.ENOSPC, "No space left on device")
                return 0
            return super().write(content)

    monkeypatch.setattr(formats, "_Sink", Full)

    with pytest.raises(DiskFullError, match="is full"):
        write(tmp_path / f"a.{kind}", speech(), AS_IT_IS)

    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("loudness", [AS_IT_IS, Loudness()])
@pytest.mark.parametrize("kind", KINDS)
def test_memory_does_not_grow_with_the_length(kind, loudness, tmp_path):
    block = Sound(np.random.default_rng(0).standard_normal(RATE).astype(np.float32) * 0.1, RATE)

    def most(seconds):
        tracemalloc.start()
        write(tmp_path / f"a.{kind}", (block for _ in range(seconds)), loudness)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    assert most(120) < most(10) + 200_000


@pytest.mark.parametrize("kind", KINDS)
def test_one_long_block_is_written_a_second_at_a_time(kind, tmp_path, monkeypatch):
    block = Sound(np.full(RATE * 90, 0.1, np.float32), RATE)
    counts, original = [], soundfile.SoundFile.write

    def noted(file, samples):
        counts.append(len(samples))
        original(file, samples)

    monkeypatch.setattr(soundfile.SoundFile, "write", noted)

    assert write(tmp_path / f"a.{kind}", [block], AS_IT_IS).seconds == 90
    assert max(counts) <= RATE


def test_only_loud_peaks_are_bent_and_none_reaches_full_scale():
    samples = np.linspace(-3, 3, 1001, dtype=np.float32)

    bent = rounded_off(samples)

    assert np.array_equal(bent[np.abs(samples) <= 0.7], samples[np.abs(samples) <= 0.7])
    assert np.abs(bent).max() <= 10 ** (-1 / 20)
    assert (np.diff(bent) >= 0).all()
