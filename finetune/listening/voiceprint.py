"""A voice print: 256 numbers that are alike where the same person speaks (Resemblyzer's weights)."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engines.errors import EngineError
from finetune.quiet import levels

Floats = NDArray[np.float32]
Encode = Callable[[Floats], Floats]

RATE = 16_000
SIZE = 256
# What the encoder was trained on: 25 ms every 10 ms, 40 mel bands, pieces of 1.6 s, -30 dBFS.
_WINDOW, _HOP, _BANDS, _PIECE = 400, 160, 40, 160
# Side by side, pieces all along that overlap by half take four times as long and tell voices no
# better.
_MOST_PIECES = 3
_LOUDNESS = 10 ** (-30 / 20)


class VoicePrints:
    """Makes prints of clips; loads torch (3-4 s) and 17 MB of weights once."""

    def __init__(self, weights: Path | None = None) -> None:
        self._encode = _encoder(weights or weights_file())
        self._filters = _mel_filters()

    def of(self, samples: Floats, rate: int) -> Floats:
        """Measure the voice of a clip; 10 ms for 5 s on one thread."""
        voiced = _voiced(_at_rate(np.nan_to_num(samples), rate))
        if not voiced.any():
            return np.zeros(SIZE, np.float32)
        return self._encode(_pieces(_mels(voiced, self._filters)))


def weights_file() -> Path:
    """Find the weights in the installed package, without importing it."""
    found = importlib.util.find_spec("resemblyzer")
    if found is None or found.origin is None:
        raise EngineError(
            "The weights that tell voices apart are not installed.",
            "Run `python launch.py` once: it installs what is missing.",
        )
    return Path(found.origin).parent / "pretrained.pt"


def _encoder(weights: Path) -> Encode:
    import torch

    # On busy cores, threads that wait for each other took 400 ms where one takes 10.
    torch.set_num_threads(1)
    state = torch.load(weights, map_location="cpu", weights_only=True)["model_state"]
    recurrent = torch.nn.LSTM(_BANDS, SIZE, 3, batch_first=True)
    linear = torch.nn.Linear(SIZE, SIZE)
    for part, name in ((recurrent, "lstm."), (linear, "linear.")):
        mine = {key.removeprefix(name): state[key] for key in state if key.startswith(name)}
        part.load_state_dict(mine)

    def encode(pieces: Floats) -> Floats:
        with torch.inference_mode():
            hidden = recurrent(torch.from_numpy(pieces))[1][0][-1]
            each = torch.nn.functional.normalize(torch.relu(linear(hidden)), dim=1)
            mean = torch.nn.functional.normalize(each.mean(dim=0), dim=0)
        return np.asarray(mean.numpy(), np.float32)

    return encode


def _at_rate(samples: Floats, rate: int) -> Floats:
    if rate == RATE:
        return samples
    import soxr

    return np.asarray(soxr.resample(samples, rate, RATE), np.float32)


def _voiced(samples: Floats) -> Floats:
    """Keep what is loud enough to be speech, with 0.1 s around it, at the trained loudness."""
    heard = levels(samples, RATE)
    if not len(heard) or heard.max() < -80:
        return np.zeros(0, np.float32)
    high, low = np.percentile(heard, (95, 5))
    loud = heard > max(high - 30, min(low + 6, high - 12))
    kept = np.convolve(loud, np.ones(21), "same")[: len(loud)] > 0
    voiced = samples[np.repeat(kept, RATE // 100)[: len(samples)]]
    power = float(np.sqrt(np.mean(np.square(voiced, dtype=np.float64))))
    return np.asarray(voiced * (_LOUDNESS / max(power, 1e-9)), np.float32)


def _mels(samples: Floats, filters: Floats) -> Floats:
    padded = np.pad(samples, _WINDOW // 2)
    moments = np.lib.stride_tricks.sliding_window_view(padded, _WINDOW)[::_HOP]
    bell = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(_WINDOW) / _WINDOW)
    powers = np.abs(np.fft.rfft(moments * bell, axis=1)) ** 2
    return np.asarray(powers @ filters.T, np.float32)


def _pieces(mels: Floats) -> Floats:
    """A few pieces of 1.6 s from all over the clip; a shorter clip is filled up with silence."""
    filled = np.pad(mels, ((0, max(0, _PIECE - len(mels))), (0, 0)))
    count = min(_MOST_PIECES, max(1, round(len(filled) / _PIECE)))
    starts = np.linspace(0, len(filled) - _PIECE, count).astype(int)
    return np.stack([filled[start : start + _PIECE] for start in starts.tolist()])


def _mel_filters() -> Floats:
    """Triangles on Slaney's mel scale: linear to 1 kHz, then logarithmic."""
    linear_end, log_step = 15.0, np.log(6.4) / 27
    top = linear_end + np.log(RATE / 2 / 1000) / log_step
    marks = np.linspace(0, top, _BANDS + 2)
    above = 1000 * np.exp((marks - linear_end) * log_step)
    edges = np.where(marks < linear_end, marks * 200 / 3, above)
    low, middle, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    hertz = np.arange(_WINDOW // 2 + 1) * RATE / _WINDOW
    rising, falling = (hertz - low) / (middle - low), (high - hertz) / (high - middle)
    return np.asarray(np.maximum(0, np.minimum(rising, falling)) * 2 / (high - low), np.float32)
