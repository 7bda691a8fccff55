"""
The sound of a file, block by block, whatever is broken in it.

Only ever imported by the decoder's process: FFmpeg is large, written in C, and fed by strangers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import av
import numpy as np
from numpy.typing import NDArray

from engines.errors import AudioError
from finetune.media import formats

BLOCK_SECONDS = 1
# A hole between two frames is filled with silence, so that times stay those of the recording.
# Shorter ones are how some formats round; longer ones are a clock that was set, or damage.
_HOLE_SECONDS = (0.1, 600.0)
_HOLE_AFTER_DAMAGE_SECONDS = 0.005
_FILLED_AT_MOST_SECONDS = 3600.0
_DAMAGED_IN_A_ROW = 1000
_OTHER_FILES = {"format_whitelist": ",".join(formats.CONTAINERS), "protocol_whitelist": "none"}
_OPEN_OPTIONS = {**_OTHER_FILES, "codec_whitelist": ",".join(formats.CODECS)}
_FULL_SCALE = {"u8": 2.0**7, "s16": 2.0**15, "s32": 2.0**31, "s64": 2.0**63, "flt": 1, "dbl": 1}
# Far above any real recording, and its square is still a number.
_LARGEST = 8.0


@dataclass(frozen=True, slots=True)
class Block:
    """About a second of one channel; around -1 to 1, and beyond where the recording is."""

    samples: NDArray[np.float32]
    rate: int


class WatchedFile:
    """A file FFmpeg reads without knowing its name: only the content can say what it is."""

    def __init__(self, file: BinaryIO, on_read: Callable[[], None]) -> None:
        self._file, self._on_read = file, on_read

    def read(self, size: int) -> bytes:
        self._on_read()
        return self._file.read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        if offset < 0 and whence == 0:  # what a damaged header leads to; FFmpeg takes a no
            return -1
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()


class Recording:
    """A file that was opened and has sound in it."""

    def __init__(self, path: Path, file: BinaryIO, on_read: Callable[[], None]) -> None:
        self._path = path
        self._size = path.stat().st_size
        self._head = file.read(formats.HEAD_BYTES)
        file.seek(0)
        self._file = file
        self._container = self._open(WatchedFile(file, on_read))
        self._stream = self._choose()
        self._mixer = _Mixer()
        self._clock = _Clock(self._container)
        self.notes: list[str] = []
        self.container = str(self._container.format.name)
        self.codec = str(self._stream.codec_context.name)
        self.channels = 0
        self.seconds = self._announced_seconds()
        self.lost_seconds = 0.0

    def blocks(self) -> Iterator[Block]:
        """Decode to the end. What is damaged is left out and counted."""
        self._note_other_tracks()
        gathered: list[Any] = []
        samples = 0
        for frame in self._frames():
            self.channels = self.channels or len(frame.layout.channels)
            hole = self._clock.hole_before(frame)
            full = samples >= BLOCK_SECONDS * frame.sample_rate
            if gathered and (hole or full or not _alike(gathered[0], frame)):
                yield self._block(gathered)
                gathered, samples = [], 0
            yield from _silence(hole, frame.sample_rate)
            gathered.append(frame)
            samples += frame.samples
        if gathered:
            yield self._block(gathered)
        self._account()

    def progress(self, seconds: float) -> float:
        """Guess the total length after so many seconds; 0 when nothing is known."""
        if self.seconds:
            return max(self.seconds, seconds)
        return float(seconds * self._size / max(1, self._file.tell()))

    def _open(self, watched: WatchedFile) -> Any:
        try:
            return av.open(
                watched,
                options=_OPEN_OPTIONS,
                io_open=_refuse_other_files,
                metadata_errors="replace",
            )
        except MemoryError:
            raise
        except (av.FFmpegError, ValueError, OtherFileWanted) as error:
            what, fix = formats.refusal(self._head, self._size)
            raise AudioError(f"{self._path.name} {what}", fix) from error

    def _choose(self) -> Any:
        """The first sound track that can be decoded."""
        tracks = list(self._container.streams.audio)
        known = [track for track in tracks if _codec_name(track) in formats.CODECS]
        if known:
            codec = known[0].codec_context
            codec.thread_count = 1  # the decoder's process may not start another thread
            if codec.name in formats.CHECKED_CODECS:
                codec.options = {"err_detect": "crccheck+explode"}
            return known[0]
        if tracks:
            raise AudioError(
                f"{self._path.name} has sound in a format that Timbre does not know"
                f" ({_codec_name(tracks[0]) or 'unnamed'}).",
                "Save it as WAV, FLAC or MP3 with the program it came from.",
            )
        found = "pictures" if self._container.streams.video else "a file"
        raise AudioError(
            f"{self._path.name} has no sound track: it is {found} without sound.",
            "Choose a file with sound in it.",
        )

    def _announced_seconds(self) -> float:
        stream = self._stream
        if stream.duration and stream.time_base:
            return max(0.0, float(stream.duration * stream.time_base))
        return max(0.0, float((self._container.duration or 0) / av.time_base))

    def _note_other_tracks(self) -> None:
        tracks = len(self._container.streams.audio)
        if tracks > 1:
            self.notes.append(f"It has {tracks} sound tracks; the first one was taken.")

    def _frames(self) -> Iterator[Any]:
        for packet in self._packets():
            try:
                frames = [_packed_if_wide(frame) for frame in packet.decode()]
            except MemoryError:
                raise
            except av.EOFError:
                continue  # a second end
            except (av.FFmpegError, ValueError):
                self._clock.lost(packet)
                continue
            for frame in frames:
                if frame.samples and frame.sample_rate:
                    yield frame

    def _packets(self) -> Iterator[Any]:
        """Go on after damage, until there is nothing but damage."""
        in_a_row = 0
        while in_a_row < _DAMAGED_IN_A_ROW:
            try:
                for packet in self._container.demux(self._stream):
                    in_a_row = 0
                    yield packet
                return
            except MemoryError:
                raise
            except av.EOFError:
                return
            except (av.FFmpegError, ValueError, OtherFileWanted):
                in_a_row += 1

    def _block(self, frames: list[Any]) -> Block:
        first = frames[0]
        channels = len(first.layout.channels)
        parts = [_planes(frame, channels) for frame in frames]
        samples = _as_float(np.concatenate(parts, axis=1), first.format.name)
        samples, broken = _without_broken_numbers(samples)
        self._clock.broken_seconds += broken / first.sample_rate
        low = [channel.name == "LFE" for channel in first.layout.channels]
        return Block(self._mixer.mix(samples, low), first.sample_rate)

    def _account(self) -> None:
        """Say what was lost and why, or why there is nothing at all."""
        clock = self._clock
        clock.end()
        # A few encrypted packets decode by chance, to noise.
        if clock.lost_packets > clock.frames / 10 and self._is_protected():
            raise AudioError(
                f"{self._path.name} is copy-protected: only the program it was bought for can"
                " play it.",
                "Use a recording without copy protection.",
            )
        if not clock.frames:
            raise self._nothing_decoded()
        missing = self._missing_at_end()
        self.lost_seconds = clock.lost_seconds + clock.broken_seconds + missing
        if missing:
            self.notes.append(f"It was cut off: its last {_time(missing)} is missing.")
        if clock.lost_seconds:
            self.notes.append(f"{_time(clock.lost_seconds)} of it is damaged and was left out.")
        if clock.broken_seconds:
            self.notes.append(
                f"{_time(clock.broken_seconds)} of it holds invalid numbers; silence replaces them."
            )
        if self._mixer.cancels:
            self.notes.append("Its channels cancel each other out; only the first was taken.")

    def _missing_at_end(self) -> float:
        """Seconds the file announces and does not have."""
        cut_off = formats.cut_off_bytes(self._head, self._size)
        if cut_off and self._stream.codec_context.bit_rate:
            return float(cut_off * 8 / self._stream.codec_context.bit_rate)
        if self.container not in formats.LENGTH_IS_EXACT:
            return 0.0
        missing = self.seconds - self._clock.decoded_seconds - self._clock.lost_seconds
        return missing if missing > max(0.5, self.seconds / 1000) else 0.0

    def _is_protected(self) -> bool:
        self._file.seek(max(0, self._size - (1 << 20)))
        tail = self._file.read(1 << 20)
        self._file.seek(0)
        return formats.is_protected(self.container, self._file.read(1 << 20), tail)

    def _nothing_decoded(self) -> AudioError:
        name = self._path.name
        if self._clock.lost_packets:
            return AudioError(
                f"{name} is damaged from the beginning: none of its sound can be decoded.",
                "Copy it again from where it came from.",
            )
        return AudioError(
            f"{name} has the beginning of a recording and no sound in it.",
            "Copy it again from where it came from, or record it again.",
        )


class OtherFileWanted(Exception):
    """A recording named another file or address, to be opened with it."""


class _Clock:
    """Where in the recording a frame belongs, and what is missing before it."""

    def __init__(self, container: Any) -> None:
        self._start = (container.start_time or 0) / av.time_base
        self._next: float | None = None
        self._damaged_seconds = 0.0
        self._filled = 0.0
        self.decoded_seconds = self.lost_seconds = self.broken_seconds = 0.0
        self.lost_packets = self.frames = 0

    def lost(self, packet: Any) -> None:
        """Count a packet that could not be decoded; the next frame tells how long it was."""
        self.lost_packets += 1
        if packet.duration and packet.time_base:
            self._damaged_seconds += min(60.0, max(0.0, float(packet.duration * packet.time_base)))

    def hole_before(self, frame: Any) -> float:
        """Seconds to fill with silence before this frame."""
        began, self.frames = self.frames > 0, self.frames + 1
        hole = self._hole(frame)
        if began or self._damaged_seconds:
            self.lost_seconds += hole or self._damaged_seconds
        self._damaged_seconds = 0.0
        self._filled += hole
        self.decoded_seconds += frame.samples / frame.sample_rate
        return hole

    def end(self) -> None:
        """Count what is damaged after the last frame."""
        self.lost_seconds += self._damaged_seconds
        self._damaged_seconds = 0.0

    def _hole(self, frame: Any) -> float:
        length = frame.samples / frame.sample_rate
        if frame.pts is None or not frame.time_base:
            self._next = None if self._next is None else self._next + length
            return 0.0
        at = float(frame.pts * frame.time_base)
        expected = self._start if self._next is None else self._next
        self._next = at + length
        smallest, largest = _HOLE_SECONDS
        if self._damaged_seconds:
            smallest = _HOLE_AFTER_DAMAGE_SECONDS
        hole = at - expected
        fits = smallest <= hole <= min(largest, _FILLED_AT_MOST_SECONDS - self._filled)
        return hole if fits else 0.0


class _Mixer:
    """Many channels to one: their mean, without the one that only rumbles."""

    def __init__(self) -> None:
        self.cancels = False
        """Whether one channel is another one upside down, so that their mean is silence."""

    def mix(self, channels: NDArray[np.float32], low: list[bool]) -> NDArray[np.float32]:
        """Return one channel; once channels were found to cancel it is the first one."""
        voices = channels[~np.array(low)] if len(channels) > 1 and not all(low) else channels
        mixed = np.asarray(np.mean(voices, axis=0), np.float32)
        if len(voices) > 1 and not self.cancels:
            power = float(np.mean(voices**2))
            self.cancels = power > 1e-7 and float(np.mean(mixed**2)) < power / 100
        return voices[0] if self.cancels else mixed


def _refuse_other_files(url: str, flags: int, options: dict[str, str]) -> None:
    raise OtherFileWanted("A recording may not open anything beside itself.")


def _codec_name(track: Any) -> str:
    return str(track.codec_context.name) if track.codec_context else ""


def _alike(first: Any, frame: Any) -> bool:
    return _shape(first) == _shape(frame)


def _shape(frame: Any) -> tuple[int, str, str]:
    return frame.sample_rate, frame.format.name, frame.layout.name


def _silence(seconds: float, rate: int) -> Iterator[Block]:
    left = int(seconds * rate)
    while left > 0:
        piece = min(left, BLOCK_SECONDS * rate)
        yield Block(np.zeros(piece, np.float32), rate)
        left -= piece


def _packed_if_wide(frame: Any) -> Any:
    """PyAV (18.1) reads beyond the list of planes when there are more than FFmpeg's usual eight."""
    if len(frame.layout.channels) <= 8 or not frame.format.is_planar:
        return frame
    packed = av.AudioResampler(frame.format.packed, frame.layout, frame.sample_rate)
    return packed.resample(frame)[0]


def _planes(frame: Any, channels: int) -> NDArray[Any]:
    """One row a channel, also where the file has them interleaved."""
    if frame.format.name == "s64":  # PyAV knows no such array
        whole = np.frombuffer(frame.planes[0], np.int64)[: frame.samples * channels]
        return whole.reshape(-1, channels).T
    samples: NDArray[Any] = frame.to_ndarray()
    return samples if frame.format.is_planar else samples.reshape(-1, channels).T


def _as_float(samples: NDArray[Any], name: str) -> NDArray[np.float32]:
    kind = name.rstrip("p")  # planar or not
    full = _FULL_SCALE[kind]
    wide = np.float64 if full > 2**15 else np.float32  # 32 bits do not fit in a float32
    with np.errstate(over="ignore"):  # a double beyond it is infinite, and handled as such
        numbers = samples.astype(wide).astype(np.float32) / np.float32(full)
    return numbers - np.float32(1) if kind == "u8" else numbers


def _without_broken_numbers(
    samples: NDArray[np.float32],
) -> tuple[NDArray[np.float32], int]:
    """Silence where a float recording has no number; and at how many moments it has none."""
    good = np.isfinite(samples)
    broken = 0 if good.all() else int(np.count_nonzero(~good.all(axis=0)))
    return np.clip(np.where(good, samples, 0), -_LARGEST, _LARGEST), broken


def _time(seconds: float) -> str:
    if seconds < 0.1:
        return "Less than 0.1 s"
    return f"{seconds:.1f} s" if seconds < 60 else f"{seconds // 60:.0f}:{seconds % 60:02.0f}"
