"""Good, odd and broken files: each one a good result or a sentence, and never a crash."""

from __future__ import annotations

import os
import re

import numpy as np
import pytest
import soundfile

from engines.errors import AudioError
from finetune.media.decoded import Decoded
from tests.finetune.media import making
from tests.finetune.media.making import encode, judge, speech, wav


@pytest.fixture(autouse=True)
def no_crash(decoder):
    yield
    assert decoder.crashes == []


@pytest.mark.parametrize("kind", making.KINDS)
def test_a_file_of_this_kind_is_read_whole(kind, decoder, tmp_path):
    path = encode(tmp_path / f"voice.{kind}", kind)

    decoded = judge(decoder, path)

    assert decoded.seconds == pytest.approx(1, abs=0.06)
    assert decoded.lost_seconds == 0 and decoded.notes == ()
    assert decoded.levels.rms_db == pytest.approx(-25, abs=1)


@pytest.mark.parametrize("rate", [8000, 11025, 16000, 22050, 48000, 96000, 192000, 384000])
def test_any_rate_becomes_one_that_everything_can_take(rate, decoder, tmp_path):
    path = wav(tmp_path / "voice.wav", making.tone(1000, rate=rate), rate)

    decoded = judge(decoder, path)

    assert decoded.source_rate == rate
    assert decoded.rate == min(max(rate, 16000), 48000)
    assert decoded.seconds == pytest.approx(1, abs=0.001)
    heard, _ = soundfile.read(decoder.target)
    strongest = np.argmax(np.abs(np.fft.rfft(heard))) * decoded.rate / len(heard)
    assert strongest == pytest.approx(1000, abs=2)


@pytest.mark.parametrize("channels", range(1, 9))
def test_any_number_of_channels_becomes_one(channels, decoder, tmp_path):
    samples = np.repeat(making.tone()[:, None], channels, axis=1)
    path = wav(tmp_path / "voice.wav", samples)

    decoded = judge(decoder, path)

    assert decoded.channels == channels
    assert decoded.levels.peak_db == pytest.approx(-12, abs=0.1)


@pytest.mark.parametrize("kind", [("wav", "pcm_s16le", 44100), ("wv", "wavpack", 44100)])
def test_more_channels_than_the_usual_eight(kind, decoder, tmp_path):
    path = encode(tmp_path / "voice", kind, making.tone(), layout="hexadecagonal")

    decoded = judge(decoder, path)

    assert decoded.channels == 16
    assert decoded.levels.peak_db == pytest.approx(-12, abs=0.3)


@pytest.mark.parametrize("subtype", ["PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE"])
def test_any_sample_format_has_the_same_level(subtype, decoder, tmp_path):
    path = wav(tmp_path / "voice.wav", making.tone(), subtype=subtype)

    assert judge(decoder, path).levels.peak_db == pytest.approx(-12, abs=0.3)


@pytest.mark.parametrize("encoder", ["pcm_alaw", "adpcm_ima_wav", "pcm_s64le", "pcm_f32le"])
def test_a_wav_is_not_always_plain_numbers(encoder, decoder, tmp_path):
    path = encode(tmp_path / "voice.wav", ("wav", encoder, 44100), making.tone())

    assert judge(decoder, path).levels.peak_db == pytest.approx(-12, abs=0.6)


def test_sixteen_bits_arrive_bit_for_bit(decoder, tmp_path):
    numbers = np.random.default_rng(1).integers(-32768, 32767, 30000, np.int16)
    soundfile.write(tmp_path / "voice.wav", numbers, 44100)

    judge(decoder, tmp_path / "voice.wav")

    assert np.array_equal(soundfile.read(decoder.target, dtype="int16")[0], numbers)


@pytest.mark.parametrize(
    ("kind", "name"), [("mp3", "a.wav"), ("wav", "a.mp3"), ("flac", "a"), ("m4a", "a.txt")]
)
def test_the_content_counts_and_not_the_ending(kind, name, decoder, tmp_path):
    encode(tmp_path / "made", kind).rename(tmp_path / name)

    assert judge(decoder, tmp_path / name).lost_seconds == 0


@pytest.mark.parametrize(
    "name", ["a b.wav", "ünï – 声.wav", 'it\'s $(x) %s "q".wav', "-rf.wav", "a\nb.wav", "C:x.wav"]
)
def test_any_name_works(name, decoder, tmp_path):
    try:
        path = wav(tmp_path / name, speech())
    except (OSError, RuntimeError):
        pytest.skip("This system knows no such name")

    assert judge(decoder, path).seconds == 1


@pytest.mark.parametrize("container", ["mp4", "mov", "matroska", "avi", "mpegts"])
def test_a_film_gives_its_sound(container, decoder, tmp_path):
    decoded = judge(decoder, making.film(tmp_path / "film", container))

    assert decoded.seconds == pytest.approx(1, abs=0.06)
    assert decoded.codec == "aac"


def test_of_several_tracks_the_first_is_taken_and_said(decoder, tmp_path):
    decoded = judge(decoder, making.film(tmp_path / "film.mkv", "matroska", tracks=3))

    heard, rate = soundfile.read(decoder.target)
    assert np.argmax(np.abs(np.fft.rfft(heard))) * rate / len(heard) == pytest.approx(300, abs=5)
    assert decoded.notes == ("It has 3 sound tracks; the first one was taken.",)


def test_sound_that_begins_late_in_a_film_stays_at_its_time(decoder, tmp_path):
    path = tmp_path / "film.mkv"
    making.late_sound(path, late_seconds=2)

    decoded = judge(decoder, path)

    assert decoded.seconds == pytest.approx(3, abs=0.1) and decoded.lost_seconds == 0


def test_a_cover_is_not_a_film(decoder, tmp_path):
    assert judge(decoder, making.with_cover(tmp_path / "song.mp3")).codec == "mp3float"


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_becomes_silence_and_is_said(number, decoder, tmp_path):
    samples = making.tone()
    samples[10000:14410] = number
    path = wav(tmp_path / "voice.wav", samples, subtype="FLOAT")

    decoded = judge(decoder, path)

    assert decoded.lost_seconds == pytest.approx(0.1)
    assert decoded.notes == ("0.1 s of it holds invalid numbers; silence replaces them.",)
    assert not soundfile.read(decoder.target)[0][10000:14410].any()


def test_nothing_but_nan_is_silence(decoder, tmp_path):
    path = wav(tmp_path / "voice.wav", np.full(44100, np.nan, np.float32), subtype="FLOAT")

    assert judge(decoder, path).levels.peak_db == -120


@pytest.mark.parametrize("scale", [30.0, 32768.0, 1e30])
def test_numbers_beyond_full_scale_are_cut_and_measured(scale, decoder, tmp_path):
    path = wav(tmp_path / "voice.wav", making.tone() * scale, subtype="DOUBLE")

    levels = judge(decoder, path).levels

    assert levels.peak_db > 1 and levels.clipped_share > 0.5


def test_channels_that_cancel_each_other_are_not_mixed(decoder, tmp_path):
    path = wav(tmp_path / "voice.wav", np.stack((making.tone(), -making.tone()), axis=1))

    decoded = judge(decoder, path)

    assert decoded.levels.peak_db == pytest.approx(-12, abs=0.1)
    assert decoded.notes == ("Its channels cancel each other out; only the first was taken.",)


def test_a_channel_that_only_rumbles_is_left_out(decoder, tmp_path):
    path = encode(tmp_path / "voice.wav", "wav", making.tone(), layout="5.1")

    assert judge(decoder, path).levels.peak_db == pytest.approx(-12, abs=0.1)


def test_a_wav_from_a_pipe_does_not_know_its_length(decoder, tmp_path):
    content = bytearray(wav(tmp_path / "a", speech()).read_bytes())
    content[4:8] = content[40:44] = b"\xff\xff\xff\xff"
    (tmp_path / "voice.wav").write_bytes(content)

    decoded = judge(decoder, tmp_path / "voice.wav")

    assert decoded.seconds == pytest.approx(1) and decoded.lost_seconds == 0


def test_a_rate_that_changes_on_the_way_keeps_its_times(decoder, tmp_path):
    for name, rate in (("a", 44100), ("b", 22050)):
        encode(tmp_path / name, ("adts", "aac", rate), making.tone(rate=rate))
    both = (tmp_path / "a").read_bytes() + (tmp_path / "b").read_bytes()
    (tmp_path / "voice.aac").write_bytes(both)

    decoded = judge(decoder, tmp_path / "voice.aac")

    assert decoded.rate == 44100
    assert decoded.seconds == pytest.approx(2, abs=0.2)


CUTS = [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999]


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("kind", ["wav", "mp3", "m4a", "flac", "opus", "webm", "wma", "aiff"])
def test_a_file_that_was_cut_off_gives_what_there_is_or_says_why_not(kind, cut, decoder, tmp_path):
    path = encode(tmp_path / f"voice.{kind}", kind, speech(2, making.KINDS[kind][2]))
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * cut)])

    judged = judge(decoder, path)

    if isinstance(judged, Decoded):
        assert judged.seconds <= 2.1


@pytest.mark.parametrize(("kind", "size"), [("wav", 60000), ("flac", 40000)])
def test_how_much_was_cut_off_is_said(kind, size, decoder, tmp_path):
    path = encode(tmp_path / f"voice.{kind}", kind, speech(4))
    path.write_bytes(path.read_bytes()[:size])

    decoded = judge(decoder, path)

    assert decoded.seconds + decoded.lost_seconds == pytest.approx(4, abs=0.02)
    assert re.fullmatch(r"It was cut off: its last 3\.\d s is missing\.", decoded.notes[0])


@pytest.mark.parametrize("kind", ["flac", "m4a", "opus"])
def test_damage_in_the_middle_is_left_out_counted_and_times_stay(kind, decoder, tmp_path):
    path = encode(tmp_path / f"voice.{kind}", kind, speech(8, making.KINDS[kind][2]))
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    noise = np.random.default_rng(0).bytes(len(content) // 20)
    content[middle : middle + len(noise)] = noise
    path.write_bytes(content)

    decoded = judge(decoder, path)

    assert decoded.seconds == pytest.approx(8, abs=0.3)
    assert 0 < decoded.lost_seconds < 2
    assert any("is damaged and was left out" in note for note in decoded.notes)


@pytest.mark.parametrize("place", [0, 1])
def test_damage_at_either_end_is_counted_too(place, decoder, tmp_path):
    path = encode(tmp_path / "voice.m4a", "m4a", speech(8))
    content = bytearray(path.read_bytes())
    first, length = content.index(b"mdat") + 4, 4000
    at = first if place == 0 else content.index(b"moov") - 4 - length
    content[at : at + length] = np.random.default_rng(0).bytes(length)
    path.write_bytes(content)

    decoded = judge(decoder, path)

    assert decoded.lost_seconds > 0.1
    assert decoded.seconds + decoded.lost_seconds > 7.9


def built(name, folder):
    """A file that cannot be used, by what is wrong with it."""
    path = folder / f"{name.replace(' ', '-')}.wav"
    path.write_bytes(b"")
    header = wav(folder / "header", np.zeros(0)).read_bytes()
    contents = {
        "empty": b"",
        "one byte": b"R",
        "only a wav header": header,
        "half a wav header": header[:20],
        "only zeros": bytes(5000),
        "text": b"Dear diary,\nit was a recording day.\n" * 30,
        "unicode text": "Поющие в терновнике. 荆棘鸟。\n".encode() * 300,
        "a web page": b"<!DOCTYPE html><html><body>404</body></html>",
        "a picture": b"\x89PNG\r\n\x1a\n" + bytes(500),
        "a photo": b"\xff\xd8\xff\xe0" + bytes(500),
        "a zip": b"PK\x03\x04" + bytes(500),
        "a pdf": b"%PDF-1.7\n" + bytes(500),
        "a program": b"\x7fELF" + bytes(500),
        "a midi file": b"MThd\x00\x00\x00\x06\x00\x01\x00\x01\x00`MTrk" + bytes(50),
        "only an mp3 tag": b"ID3\x03\x00\x00\x00\x00\x10\x00" + bytes(2048),
        "only a flac header": b"fLaC\x80\x00\x00\x22" + bytes(34),
        "an unfinished film": b"\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom\x00\x10\x00\x00mdat"
        + bytes(4000),
        "a wav of pictures": b"RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00" + b"\xfe\xca" * 40,
    }
    if name in contents:
        path.write_bytes(contents[name])
    else:
        _MADE[name](path)
    return path


_MADE = {
    "one sample": lambda path: wav(path, np.zeros(1)),
    "50 ms": lambda path: wav(path, speech(0.05)),
    "a film without sound": making.silent_film,
    "an encrypted song": lambda path: encode(
        path,
        ("mp4", "aac", 44100),
        encryption_scheme="cenc-aes-ctr",
        encryption_key="0" * 31 + "1",
        encryption_kid="0" * 31 + "2",
    ),
    "a film without its index": lambda path: path.write_bytes(
        making.film(path).read_bytes().replace(b"moov", b"m00v")
    ),
}

SAYS = {
    "empty": "is empty",
    "only zeros": "nothing but zeros",
    "text": "is text",
    "unicode text": "is text",
    "a picture": "is a picture",
    "a photo": "is a picture",
    "a zip": "ZIP archive",
    "a pdf": "PDF",
    "a program": "a program",
    "a midi file": "MIDI",
    "only a wav header": "no sound in it",
    "half a wav header": "missing or damaged",
    "an unfinished film": "is not complete",
    "a film without its index": "is not complete",
    "one sample": "0 ms of sound",
    "50 ms": "50 ms of sound",
    "a film without sound": "pictures without sound",
    "an encrypted song": "copy-protected",
    "one byte": "",
    "a web page": "is text",
    "only an mp3 tag": "",
    "only a flac header": "",
    "a wav of pictures": "",
}


@pytest.mark.parametrize("name", SAYS)
def test_what_cannot_be_used_says_what_it_is(name, decoder, tmp_path):
    judged = judge(decoder, built(name, tmp_path))

    assert isinstance(judged, AudioError)
    assert SAYS[name] in judged.what


def test_nothing_but_noise_in_a_file_is_a_sentence(decoder, tmp_path):
    for seed in range(10):
        path = tmp_path / f"{seed}.wav"
        path.write_bytes(np.random.default_rng(seed).bytes(30000))

        judge(decoder, path)


def test_a_folder_a_pipe_and_a_file_that_is_gone_are_sentences(decoder, tmp_path):
    paths = [tmp_path, tmp_path / "gone.wav"]
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.wav")
        paths.append(tmp_path / "pipe.wav")

    assert all(isinstance(judge(decoder, path), AudioError) for path in paths)


def test_sound_comes_in_blocks_of_about_a_second(tmp_path):
    from finetune.media.sound import Recording

    path = encode(tmp_path / "voice.opus", "opus", speech(20, 48000))

    with path.open("rb") as file:
        blocks = list(Recording(path, file, lambda: None).blocks())

    assert max(len(block.samples) for block in blocks) < 2 * 48000
