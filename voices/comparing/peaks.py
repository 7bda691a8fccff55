"""Pictures of a sound: its outline, and its spectrogram as a PNG. Files are read block by block."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engines.errors import AudioError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

_BLOCK_SECONDS = 8
_LOWEST_HZ, _HIGHEST_HZ = 60.0, 8000.0
_WINDOW_S = 0.032
# Each column is the mean of so many windows, however long the sound is: of a minute at 800 columns
# that is one every 19 ms, and of an hour it takes no longer.
_WINDOWS_A_COLUMN = 4
_DARKEST_DB = -75.0


def outline(path: Path, buckets: int = 800) -> Floats:
    """The lowest and the highest sample of each of so many equal stretches, or of each sample."""
    import numpy as np

    with _open(path) as file:
        count = min(buckets, file.frames)
        found = np.zeros((count, 2), np.float32)
        edges = np.arange(count + 1) * file.frames // max(1, count)
        for start, block in _blocks(file):
            first = int(np.searchsorted(edges, start, "right")) - 1
            last = int(np.searchsorted(edges, start + len(block), "left"))
            begins = np.maximum(edges[first:last] - start, 0)
            lows, highs = np.minimum.reduceat(block, begins), np.maximum.reduceat(block, begins)
            is_new = edges[first:last] >= start  # of the others a part was in the block before
            old = found[first:last]
            found[first:last, 0] = np.where(is_new, lows, np.minimum(old[:, 0], lows))
            found[first:last, 1] = np.where(is_new, highs, np.maximum(old[:, 1], highs))
    return found


def spectrogram(path: Path, width: int = 800, height: int = 96) -> NDArray[np.uint8]:
    """
    Mel bands over time, the highest in the first row; 255 is the loudest there is in this sound.

    Silence is 0, as everything is that lies 75 dB below.
    """
    import numpy as np

    with _open(path) as file:
        bands = _bands(file.samplerate, height)
        size = 2 * (bands.shape[0] - 1)
        columns = width * _WINDOWS_A_COLUMN
        starts = np.arange(columns) * max(0, file.frames - size) // max(1, columns - 1)
        powers = np.zeros((columns, height), np.float32)
        done = 0
        for frames in _windows(file, starts, size):
            spectra = np.abs(np.fft.rfft(frames * np.hanning(size).astype(np.float32), axis=1))
            powers[done : done + len(frames)] = (spectra**2).astype(np.float32) @ bands
            done += len(frames)
    means = powers.reshape(width, _WINDOWS_A_COLUMN, height).mean(axis=1)
    return np.ascontiguousarray(_shades(means).T[::-1])


def png(rows: NDArray[np.uint8]) -> bytes:
    """Rows of grey as the bytes of a PNG file."""
    height, width = rows.shape
    # Each line begins with how it is filtered: not at all.
    lines = b"".join(b"\0" + row.tobytes() for row in rows)
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(lines, 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content))
        + kind
        + content
        + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in parts
    )


def _windows(file: Any, starts: NDArray[np.int64], size: int) -> Iterator[Floats]:
    """The windows that begin there, in order, some hundreds at once; the file is read once."""
    import numpy as np

    held, begin, at = np.zeros(0, np.float32), 0, 0
    for _, block in _blocks(file):
        held = np.concatenate((held, block))
        until = int(np.searchsorted(starts, begin + len(held) - size, "right"))
        if until > at:
            yield held[starts[at:until, None] - begin + np.arange(size)]
            at = until
        if at < len(starts):
            gone = max(0, min(int(starts[at]) - begin, len(held)))
            held, begin = held[gone:], begin + gone
    if at < len(starts):  # the sound is shorter than a window, or than its file says
        rest = np.pad(held, (0, size))
        first = np.minimum(starts[at:] - begin, len(held))
        yield rest[first[:, None] + np.arange(size)]


@lru_cache(maxsize=8)
def _bands(rate: int, height: int) -> Floats:
    """How much each line of a spectrum counts for each mel band (O'Shaughnessy's scale)."""
    import numpy as np

    size = 1 << math.ceil(math.log2(max(_WINDOW_S * rate, 64)))
    highest = min(_HIGHEST_HZ, rate / 2)
    low, high = (2595 * math.log10(1 + hertz / 700) for hertz in (_LOWEST_HZ, highest))
    edges = 700 * (10 ** (np.linspace(low, high, height + 2) / 2595) - 1)
    lines = np.linspace(0, rate / 2, size // 2 + 1)[:, None]
    # The lowest bands are narrower than the lines are apart: each reaches to the next line at least.
    step = rate / size
    rising = (lines - edges[:-2]) / np.maximum(np.diff(edges)[:-1], step)
    falling = (edges[2:] - lines) / np.maximum(np.diff(edges)[1:], step)
    weights = np.maximum(0, np.minimum(rising, falling))
    found: Floats = (weights / np.maximum(weights.sum(axis=0), 1e-9)).astype(np.float32)
    return found


def _shades(powers: Floats) -> NDArray[np.uint8]:
    import numpy as np

    loudest = float(powers.max(initial=0.0))
    if loudest <= 0:
        return np.zeros(powers.shape, np.uint8)
    decibels = 10 * np.log10(np.maximum(powers / loudest, 1e-12))
    shades: NDArray[np.uint8] = np.rint(255 * np.clip(1 - decibels / _DARKEST_DB, 0, 1)).astype(
        np.uint8
    )
    return shades


def _blocks(file: Any) -> Iterator[tuple[int, Floats]]:
    """Pieces of one channel, each with where it begins; never the whole of a file in memory."""
    import numpy as np

    start = 0
    for block in file.blocks(file.samplerate * _BLOCK_SECONDS, dtype="float32", always_2d=True):
        if len(block):
            one = block[:, 0] if block.shape[1] == 1 else block.mean(axis=1)
            yield start, np.nan_to_num(one, posinf=0.0, neginf=0.0)
        start += len(block)


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    import soundfile  # here, because it loads numpy and a C library

    try:
        with soundfile.SoundFile(path) as file:
            yield file
    except (OSError, soundfile.LibsndfileError) as error:
        raise AudioError(
            f"{path.name} cannot be drawn: it is missing or damaged.", "Have it spoken once more."
        ) from error
