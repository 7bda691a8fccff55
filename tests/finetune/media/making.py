"""Recordings for these tests, good and odd, made when they are needed."""

from __future__ import annotations

import math
import struct
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import soundfile

from engines.errors import AudioError
from finetune.media.decode import Decoder, Limits
from finetune.media.decoded import Decoded

# container, encoder, ending, rate: what people bring.
KINDS = {
    "wav": ("wav", "pcm_s16le", 44100),
    "mp3": ("mp3", "libmp3lame", 44100),
    "m4a": ("ipod", "aac", 44100),
    "flac": ("flac", "flac", 44100),
    "opus": ("ogg", "libopus", 48000),
    "oga": ("ogg", "flac", 44100),
    "aac": ("adts", "aac", 44100),
    "wma": ("asf", "wmav2", 44100),
    "mka": ("matroska", "ac3", 44100),
    "webm": ("webm", "libopus", 48000),
    "aiff": ("aiff", "pcm_s16be", 44100),
    "caf": ("caf", "alac", 44100),
    "wv": ("wv", "wavpack", 44100),
    "tta": ("tta", "tta", 44100),
    "au": ("au", "pcm_mulaw", 44100),
    "avi": ("avi", "mp2", 44100),
    "ts": ("mpegts", "aac", 44100),
    "flv": ("flv", "aac", 44100),
    "amr": ("amr", "libopencore_amrnb", 8000),
    "w64": ("w64", "pcm_f64le", 44100),
    "mov": ("mov", "pcm_s32le", 44100),
}


def speech(seconds=1.0, rate=44100, noise=0.0005, seed=0):
    """Something with syllables and pauses in it, at the level of speech."""
    rng = np.random.default_rng(seed)
    time = np.arange(int(seconds * rate)) / rate
    buzz = sum(
        np.sin(2 * np.pi * 130 * k * time + k) / k for k in range(1, 40) if 130 * k < rate / 2
    )
    loud = np.clip(np.sin(2 * np.pi * 2.2 * time), 0, 1)
    hiss = rng.standard_normal(len(time))
    return (0.12 * loud * buzz + (noise + 0.02 * loud) * hiss).astype(np.float32)


def encode(path, kind, samples=None, layout="mono", rate=None, **options):
    """Write a file of one of KINDS, or of (container, encoder, rate)."""
    container, encoder, usual = KINDS.get(kind, kind)
    rate = rate or usual
    samples = speech(rate=rate) if samples is None else samples
    with av.open(str(path), "w", format=container, container_options=options) as file:
        stream = file.add_stream(encoder, rate=rate, layout=layout)
        stream.bit_rate = 12200 if "amr" in encoder else 64000
        _encode_into(file, stream, samples, layout, rate)
    return path


def _encode_into(file, stream, samples, layout, rate):
    channels = len(av.AudioLayout(layout).channels)
    for at in range(0, samples.size, rate):
        packed = np.repeat(samples[at : at + rate], channels)[None]
        frame = av.AudioFrame.from_ndarray(packed, format="flt", layout=layout)
        frame.sample_rate, frame.pts, frame.time_base = rate, at, Fraction(1, rate)
        file.mux(stream.encode(frame))
    file.mux(stream.encode(None))


def film(path, container="mp4", tracks=1, seconds=1.0, pictures=True):
    """A film, with as many sound tracks as wanted: each a tone of its own."""
    with av.open(str(path), "w", format=container) as file:
        streams = []
        if pictures:
            streams.append(file.add_stream("mpeg4", rate=10))
            streams[0].width = streams[0].height = 64
            streams[0].pix_fmt = "yuv420p"
        sound = [file.add_stream("aac", rate=44100, layout="mono") for _ in range(tracks)]
        if pictures:
            for number in range(int(10 * seconds)):
                grey = av.VideoFrame.from_ndarray(
                    np.full((64, 64, 3), 8 * number % 255, np.uint8), format="rgb24"
                )
                grey.pts = number
                file.mux(streams[0].encode(grey))
            file.mux(streams[0].encode(None))
        for number, stream in enumerate(sound):
            _encode_into(file, stream, tone(300 * (number + 1), seconds), "mono", 44100)
    return path


def tone(hertz=440.0, seconds=1.0, rate=44100, level_db=-12.0):
    time = np.arange(int(seconds * rate)) / rate
    return (10 ** (level_db / 20) * np.sin(2 * np.pi * hertz * time)).astype(np.float32)


def wav(path, samples, rate=44100, subtype="PCM_16"):
    soundfile.write(path, samples, rate, subtype=subtype, format="WAV")
    return path


def with_cover(path):
    """An mp3 with a picture in it, as shops sell them."""
    picture = b"\x89PNG\r\n\x1a\n" + bytes(300)
    body = b"\x00image/png\x00\x03\x00" + picture
    frame = b"APIC" + struct.pack(">I", len(body)) + b"\x00\x00" + body
    size = len(frame)
    syncsafe = bytes((size >> shift) & 0x7F for shift in (21, 14, 7, 0))
    sound = encode(path, "mp3", id3v2_version="0", write_xing="0").read_bytes()
    path.write_bytes(b"ID3\x03\x00\x00" + syncsafe + frame + sound)
    return path


def silent_film(path):
    return film(path, tracks=0)


class Reused:
    """One decoder for many files: isolation is tested elsewhere, starting takes the time."""

    def __init__(self, folder: Path) -> None:
        self.target = folder / "copy.flac"
        self.crashes: list[str] = []
        self._decoder: Decoder | None = None

    def decode(self, path: Path) -> Decoded:
        self.target.unlink(missing_ok=True)
        if self._decoder is None:
            self._decoder = Decoder(Limits(silent_seconds=20))
        try:
            return self._decoder.decode(path, self.target, lambda done, total: None, lambda: False)
        except AudioError:
            if not self._decoder.alive:
                self.crashes.append(path.name)
                self.close()
            raise

    def close(self) -> None:
        if self._decoder is not None:
            self._decoder.__exit__(None, None, None)
        self._decoder = None


def judge(decoder: Reused, path: Path) -> Decoded | AudioError:
    """What became of a file; whatever it was, it must be one of two things, and whole."""
    try:
        decoded = decoder.decode(path)
    except AudioError as error:
        assert error.what.startswith(path.name) or path.name in error.what, error.what
        assert error.what.endswith(".") and error.fix.endswith("."), error
        assert not decoder.target.exists()
        return error
    copy = soundfile.info(decoder.target)
    assert (copy.channels, copy.format, copy.subtype) == (1, "FLAC", "PCM_16")
    assert copy.samplerate == decoded.rate and 16000 <= decoded.rate <= 48000
    assert copy.frames == round(decoded.seconds * decoded.rate)
    assert decoded.seconds >= 0.1
    levels = decoded.levels
    numbers = [getattr(levels, name) for name in levels.__slots__]
    assert all(math.isfinite(number) for number in [*numbers, decoded.lost_seconds])
    assert all(note.endswith(".") for note in decoded.notes)
    return decoded


def late_sound(path, late_seconds):
    """A film whose sound track begins after its pictures."""
    with av.open(str(path), "w", format="matroska") as file:
        pictures = file.add_stream("mpeg4", rate=10)
        pictures.width = pictures.height = 64
        pictures.pix_fmt = "yuv420p"
        sound = file.add_stream("flac", rate=44100, layout="mono")
        for number in range(10 * late_seconds):
            frame = av.VideoFrame.from_ndarray(np.zeros((64, 64, 3), np.uint8), format="rgb24")
            frame.pts = number
            file.mux(pictures.encode(frame))
        file.mux(pictures.encode(None))
        late = [packet for packet in _packets(sound, tone()) if packet.pts is not None]
        for packet in late:
            packet.pts = packet.dts = packet.pts + late_seconds * 44100
            file.mux(packet)
    return path


def _packets(stream, samples):
    frame = av.AudioFrame.from_ndarray(samples[None], format="fltp", layout="mono")
    frame.sample_rate, frame.pts, frame.time_base = 44100, 0, Fraction(1, 44100)
    return [*stream.encode(frame), *stream.encode(None)]
