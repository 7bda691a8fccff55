"""
Speech as a file: wav, flac, mp3 or ogg, written while it is being spoken, as loud as wished.

How loud a text was is known when its last sentence is: so its sound is first kept in a file
without a name, on the disk of the target, and then written once, with the right gain. Whoever
cannot wait says how loud the voice usually is, and each block is written as it comes; sentences
of one voice are within about 2 LU of each other, and so is the file from what was wished.

soundfile writes every kind. Its wheels bring libsndfile 1.2 with FLAC, Vorbis and LAME, so
neither an ffmpeg nor a further package is needed.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from engines.base import Sound
from engines.errors import AudioError, NotFoundError
from voices import files
from voices.speaking.loudness import QUIETEST_LUFS, LoudnessMeter
from voices.speaking.voiced import Floats

# What soundfile is told; those that lose something take the best the encoder has.
KINDS: dict[str, dict[str, Any]] = {
    "wav": {"format": "WAV", "subtype": "PCM_16"},
    "flac": {"format": "FLAC", "subtype": "PCM_16"},
    "mp3": {"format": "MP3", "bitrate_mode": "VARIABLE", "compression_level": 0.0},
    "ogg": {"format": "OGG", "subtype": "VORBIS", "compression_level": 0.2},
}
MP3_RATES = (8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000)
_LOUDEST = 10 ** (-1 / 20)
# From here on peaks are rounded off, by 6 dB at most: what is above is a consonant's first wave.
_KNEE = 0.7
_ROUNDED_OFF = 2.0


@dataclass(frozen=True, slots=True)
class Loudness:
    """How loud a file gets."""

    target_lufs: float | None = -16.0
    """What podcasts have; None leaves it as it was spoken."""
    known_lufs: float | None = None
    """How loud the voice usually is: with it, sound is written as it comes."""


@dataclass(frozen=True, slots=True)
class Written:
    """What was written."""

    path: Path
    seconds: float
    lufs: float
    gain_db: float


def kind_of(path: Path) -> str:
    """The kind of audio that a file's name asks for; raise AudioError where there is none."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in KINDS:
        asked = f"ends in {path.suffix}, which is" if kind else "has no ending, so it is"
        raise AudioError(
            f"{path.name} {asked} no kind of audio that can be written.",
            f"Let its name end in {', '.join(f'.{known}' for known in KINDS)}.",
        )
    return kind


def write(path: Path, blocks: Iterable[Sound], loudness: Loudness | None = None) -> Written:
    """
    Write a file, which is there when all of it is; no more than a block of it is in memory.

    Raise AudioError for a name or sound that cannot be written, DiskFullError where there is no
    room; what was there before is then as it was.
    """
    kind, wish = kind_of(path), loudness or Loudness()
    if not path.parent.is_dir():
        raise NotFoundError(f"There is no folder {path.parent}.", "Make it, or choose another.")
    stream = _Stream(blocks, kind)
    with files.new_file(path) as file, ExitStack() as stack:
        if wish.target_lufs is None:
            gain, sounds = 1.0, iter(stream)
        elif wish.known_lufs is not None:
            gain, sounds = _factor(wish.target_lufs - wish.known_lufs), iter(stream)
        else:
            kept = stack.enter_context(tempfile.TemporaryFile(dir=path.parent))
            gain, sounds = _measured(stream, kept, wish.target_lufs), _again(kept, stream.rate)
        lufs = _encode(file, kind, stream.rate, _levelled(sounds, gain, wish))
    return Written(path, stream.count / stream.rate, lufs, 20 * math.log10(gain))


class _Stream:
    """Blocks of one rate, none longer than a second, counted as they go by."""

    def __init__(self, blocks: Iterable[Sound], kind: str) -> None:
        self._blocks = iter(blocks)
        self._first = next((block for block in self._blocks if len(block.samples)), None)
        if self._first is None:
            raise AudioError("There is no sound to write.", "Give a text with words in it.")
        self.rate, self.count = self._first.rate, 0
        if kind == "mp3" and self.rate not in MP3_RATES:
            raise AudioError(
                f"An mp3 cannot have {self.rate} samples a second.", "Choose wav, flac or ogg."
            )

    def __iter__(self) -> Iterator[Floats]:
        first, self._first = self._first, None
        if first is not None:
            yield from self._pieces(first)
        del first
        for block in self._blocks:
            yield from self._pieces(block)
            del block

    def _pieces(self, block: Sound) -> Iterator[Floats]:
        if block.rate != self.rate:
            raise AudioError(
                f"The sound changes from {self.rate} to {block.rate} samples a second.",
                "Write what each engine speaks into a file of its own.",
            )
        # libsndfile 1.2's Vorbis takes what it is given onto its stack: eight minutes end the process.
        for at in range(0, len(block.samples), self.rate):
            piece = block.samples[at : at + self.rate]
            self.count += len(piece)
            yield np.asarray(piece, np.float32)


def _measured(stream: _Stream, kept: BinaryIO, target_lufs: float) -> float:
    """Keep a stream in a file, and find what makes it as loud as wished."""
    meter, peak = LoudnessMeter(stream.rate), 0.0
    for samples in stream:
        meter.feed(samples)
        peak = max(peak, float(np.abs(samples).max(initial=0.0)))
        kept.write(samples.tobytes())
    lufs = meter.lufs()
    if lufs <= QUIETEST_LUFS or peak == 0:  # silence stays silence
        return 1.0
    return min(_factor(target_lufs - lufs), _ROUNDED_OFF * _LOUDEST / peak)


def _again(kept: BinaryIO, rate: int) -> Iterator[Floats]:
    kept.seek(0)
    while content := kept.read(rate * 4):
        yield np.frombuffer(content, np.float32)


def _levelled(sounds: Iterable[Floats], gain: float, wish: Loudness) -> Iterator[Floats]:
    for samples in sounds:
        yield samples if wish.target_lufs is None else rounded_off(samples * np.float32(gain))


def rounded_off(samples: Floats) -> Floats:
    """Bend peaks that would be clipped, so that none is above -1 dB; the rest stays as it is."""
    sizes = np.abs(samples)
    if sizes.max(initial=0.0) <= _KNEE:
        return samples
    room = _LOUDEST - _KNEE
    bent = _KNEE + room * np.tanh((sizes - _KNEE) / room)
    return np.where(sizes > _KNEE, np.sign(samples) * bent, samples).astype(np.float32)


def _factor(decibels: float) -> float:
    return float(10 ** (decibels / 20))


class _Sink:
    """A file that libsndfile writes through, and that remembers why it could not."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._error: OSError | None = None

    def write(self, content: bytes) -> int:
        return self._tried(lambda: self._file.write(content))

    def read(self, size: int) -> bytes:
        return b""  # it is asked for, and never used while writing

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._tried(lambda: self._file.seek(offset, whence))  # it writes what waits

    def tell(self) -> int:
        return self._tried(self._file.tell)

    def _tried(self, work: Callable[[], int]) -> int:
        try:
            return work()
        except OSError as error:  # it must not rise through C, which would only print it
            self._error = self._error or error
            return 0

    def check(self) -> None:
        """Raise what went wrong, if something did."""
        if self._error is not None:
            raise self._error


def _encode(file: BinaryIO, kind: str, rate: int, sounds: Iterable[Floats]) -> float:
    """Write a stream of sound, and return how loud it is."""
    import soundfile

    sink, meter = _Sink(file), LoudnessMeter(rate)
    try:
        with soundfile.SoundFile(sink, "w", rate, 1, **KINDS[kind]) as out:
            for samples in sounds:
                meter.feed(samples)
                out.write(whole(samples))
                sink.check()
    except (soundfile.SoundFileError, AssertionError):
        sink.check()
        raise
    sink.check()
    return meter.lufs()


def whole(samples: Floats) -> NDArray[np.int16]:
    """Samples in whole numbers: soundfile reads them as parts of 32,768 and writes of 32,767."""
    rounded = np.rint(samples * np.float32(32768)).clip(-32768, 32767)
    return np.asarray(rounded, np.int16)
