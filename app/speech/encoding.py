"""Speech as bytes while it is being spoken: nothing that was sent is ever changed afterwards."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import soundfile
import soxr

from engines.base import Sound
from voices.speaking import formats
from voices.speaking.voiced import Floats


@dataclass(frozen=True, slots=True)
class Kind:
    """One way to send speech."""

    media_type: str
    encoder: dict[str, Any] | None = None
    """What soundfile is told; None for samples as they are."""
    rates: tuple[int, ...] = ()
    """Samples a second that it can have; any, where none are named."""


KINDS = {
    # A stream has no table of where what is, so players take its length from its rate: a constant
    # one, at 22,050 or 24,000 samples a second 160 kbit/s, as OpenAI sends.
    "mp3": Kind(
        "audio/mpeg",
        {"format": "MP3", "bitrate_mode": "CONSTANT", "compression_level": 0.0},
        formats.MP3_RATES,
    ),
    "opus": Kind(
        "audio/ogg", {"format": "OGG", "subtype": "OPUS"}, (8000, 12000, 16000, 24000, 48000)
    ),
    "flac": Kind("audio/flac", formats.KINDS["flac"]),
    "wav": Kind("audio/wav"),
    # Nothing in it says so: whoever asks for it knows that it has 24,000.
    "pcm": Kind("audio/pcm", rates=(24000,)),
}
# "Unknown" in a header of RIFF: it goes on to the end of what is sent.
_ENDLESS = 0xFFFFFFFF


class Encoder:
    """Turns sounds into the bytes of one stream."""

    def __init__(self, kind: str, rate: int, gain: float) -> None:
        self._gain = np.float32(gain)
        known = KINDS[kind]
        self.rate = rate_for(known, rate)
        self._resampler = (
            soxr.ResampleStream(rate, self.rate, 1, dtype="float32") if self.rate != rate else None
        )
        self._made = _Made()
        self._out = (
            soundfile.SoundFile(self._made, "w", self.rate, 1, **known.encoder)
            if known.encoder
            else None
        )
        if kind == "wav":
            self._made.write(_wav_header(self.rate))

    def feed(self, sound: Sound) -> bytes:
        """Take in a sound; return what can be sent by now."""
        # By the second: libsndfile takes what it is given onto its stack for some kinds.
        for at in range(0, len(sound.samples), sound.rate):
            piece = formats.rounded_off(sound.samples[at : at + sound.rate] * self._gain)
            self._write(self._resampled(piece, last=False))
        return self._made.taken()

    def end(self) -> bytes:
        """Return what is left."""
        self._write(self._resampled(np.zeros(0, np.float32), last=True))
        if self._out is not None:
            self._out.close()
        return self._made.taken()

    def _resampled(self, samples: Floats, *, last: bool) -> Floats:
        if self._resampler is None:
            return samples
        return np.asarray(self._resampler.resample_chunk(samples, last=last), np.float32)

    def _write(self, samples: Floats) -> None:
        whole = formats.whole(samples)
        if self._out is None:
            self._made.write(whole.astype("<i2").tobytes())
        elif len(whole):
            self._out.write(whole)


class _Made:
    """A file that libsndfile writes to, of which everything is taken away at once."""

    def __init__(self) -> None:
        self._waiting = bytearray()
        self._at = self._end = 0

    def write(self, content: bytes) -> int:
        # At the end it would write the length into the first bytes, which are long gone.
        new = bytes(content)[max(0, self._end - self._at) :]
        self._waiting += new
        self._at += len(content)
        self._end += len(new)
        return len(content)

    def read(self, size: int) -> bytes:
        return b""  # it is asked for, and never used while writing

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._end)[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def taken(self) -> bytes:
        taken, self._waiting = bytes(self._waiting), bytearray()
        return taken


def rate_for(kind: Kind, rate: int) -> int:
    """The rate a kind can have that loses nothing and is nearest, else its highest."""
    if not kind.rates or rate in kind.rates:
        return rate
    return min((each for each in kind.rates if each > rate), default=max(kind.rates))


def _wav_header(rate: int) -> bytes:
    fmt = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, rate, 2 * rate, 2, 16)
    return (
        struct.pack("<4sI4s", b"RIFF", _ENDLESS, b"WAVE")
        + fmt
        + struct.pack("<4sI", b"data", _ENDLESS)
    )
