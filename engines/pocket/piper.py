"""Writes a pocket voice as Piper's runtime reads one: a graph that takes in what espeak-ng says."""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import soundfile
import torch
from torch import nn
from torch.nn import functional
from torch.onnx._internal.torchscript_exporter import onnx_proto_utils as exporter

from engines.base import Sound
from engines.pocket import saving
from engines.pocket.acoustic import PITCH_SPREAD, Acoustic
from engines.pocket.facts import HOP, PITCH_IN_MANNER, RATE, WINDOW
from engines.pocket.piper_rows import RowsOfSigns
from engines.pocket.piper_symbols import BEGIN, END, NUMBER, PAD, SIGNS
from engines.pocket.shape import Shape
from engines.pocket.sound import Floats
from engines.pocket.speaking import LOUDEST, Manner
from engines.pocket.vocoder import Vocoder

GRAPH, CONFIG = "voice.onnx", "voice.onnx.json"
# The first with LayerNormalization, and with sums in ScatterElements.
_OPSET = 17
_INPUTS = ("input", "input_lengths", "scales")


def export(acoustic: Acoustic, vocoder: Vocoder, manner: Floats, name: str, folder: Path) -> None:
    """
    Write a voice for Piper into a folder that exists.

    Of Piper's scales it knows the length. Noise is a part of what it says, as loud as it learned,
    and lengths are not drawn by chance: noise_scale and noise_w change nothing.
    """
    write_graph(Voice(acoustic, vocoder, manner), folder / GRAPH)
    text = json.dumps(_config(name), ensure_ascii=False, indent=2)
    (folder / CONFIG).write_text(text + "\n", encoding="utf-8")


def _config(name: str) -> dict[str, object]:
    return {
        "dataset": name,
        "audio": {"sample_rate": RATE, "quality": "low"},
        "espeak": {"voice": "en-us"},
        "language": {
            **{"code": "en_US", "family": "en", "region": "US", "name_native": "English"},
            **{"name_english": "English", "country_english": "United States"},
        },
        "inference": {"noise_scale": 0.667, "length_scale": 1.0, "noise_w": 0.8},
        "phoneme_type": "espeak",
        "phoneme_map": {},
        "phoneme_id_map": {sign: [number] for number, sign in enumerate(SIGNS)},
        "num_symbols": len(SIGNS),
        "num_speakers": 1,
        "speaker_id_map": {},
        "hop_length": HOP,
        "piper_version": "1.0.0",
    }


# ---- The graph ----


class Voice(nn.Module):  # type: ignore[misc]  # mypy does not follow torch
    """What Piper sends to samples: pocket's two networks with one voice's manner built in."""

    voice: torch.Tensor

    def __init__(self, acoustic: Acoustic, vocoder: Vocoder, manner: Floats) -> None:
        super().__init__()
        self.rows = RowsOfSigns()
        self.acoustic, self.vocoder = acoustic, _vocoder(vocoder)
        self.height = float(manner[PITCH_IN_MANNER])
        with torch.no_grad():
            voice = self.acoustic.voice(torch.from_numpy(np.asarray(manner, np.float32))[None])
        self.register_buffer("voice", voice)
        self.eval()

    def forward(
        self, signs: torch.Tensor, lengths: torch.Tensor, scales: torch.Tensor
    ) -> torch.Tensor:
        """(1, signs), (1), noise and length and its noise -> (1, 1, 1, samples)."""
        rows = self.rows(signs[0, : lengths[0]])
        state, mask = self.acoustic.read(rows, self.voice)
        prosody = self.acoustic.prosody(state, mask, self.voice)
        durations = (prosody.durations.exp() * scales[1]).round().clamp(min=1).long()
        said = self.acoustic.speak(state, durations, prosody.pitch, prosody.energy, self.voice)
        pitch = said.pitch * PITCH_SPREAD + self.height
        voiced = (said.voicing > 0).float()
        mels = self.acoustic.natural(said.mels)
        samples: torch.Tensor = self.vocoder(mels, pitch, voiced, self.noise(pitch))
        # Quieter where it would be too loud, as speaking does it.
        return (samples * (LOUDEST / samples.abs().amax().clamp(min=LOUDEST)))[:, None, None]

    def noise(self, frames: torch.Tensor) -> torch.Tensor:
        """White noise, as many samples as these frames have."""
        return torch.randn_like(frames[..., None].expand(-1, -1, HOP).flatten(1))


def _vocoder(net: Vocoder) -> Vocoder:
    found = _TraceableVocoder(net.shape)
    found.load_state_dict({**found.state_dict(), **net.state_dict()})
    return found


class _TraceableVocoder(Vocoder):
    """The same sound by products of matrices: graphs have no Fourier transform with an inverse."""

    basis: torch.Tensor
    weights: torch.Tensor

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        # Persistent: the file would hold what is not once for each use, 4 MB more each time.
        self.register_buffer("basis", _basis(self.window))
        weights = torch.full((WINDOW // 2 + 1,), 2 / WINDOW)
        weights[[0, -1]] = 1 / WINDOW
        self.register_buffer("weights", weights)

    def _filtered(
        self, mels: torch.Tensor, out: torch.Tensor, source: torch.Tensor, noise: torch.Tensor
    ) -> torch.Tensor:
        harmonic, breath, phase = self.gains(mels, out)
        real, imaginary = self._parts(source)
        noise_real, noise_imaginary = self._parts(noise)
        cosine, sine = harmonic * phase.cos(), harmonic * phase.sin()
        heard_real = real * cosine - imaginary * sine + noise_real * breath
        heard_imaginary = real * sine + imaginary * cosine + noise_imaginary * breath
        return self._sound(heard_real, heard_imaginary)

    def _parts(self, samples: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The spectrum of each frame, real and imaginary."""
        hops = functional.pad(samples, (WINDOW // 2, WINDOW // 2)).unflatten(1, (-1, HOP))
        shares = WINDOW // HOP
        # There is a frame around each hop's start, and no other.
        windows = [hops[:, share : share - shares] for share in range(shares)]
        # Frames are turned, not the basis: the file would hold it a second time, and 4 MB more.
        parts = (self.basis @ torch.cat(windows, -1).transpose(1, 2)).transpose(1, 2)
        real, imaginary = parts.chunk(2, -1)
        return real, imaginary

    def _sound(self, real: torch.Tensor, imaginary: torch.Tensor) -> torch.Tensor:
        """What the frames of a spectrum and a silent one behind them sound like."""
        spectrum = torch.cat([real * self.weights, imaginary * self.weights], -1)
        return self.joined(spectrum @ self.basis)


def _basis(window: torch.Tensor) -> torch.Tensor:
    """Windowed cosines, then sines: (bins twice, samples)."""
    bins, times = torch.arange(WINDOW // 2 + 1)[:, None], torch.arange(WINDOW)
    turned = 2 * math.pi * (bins * times % WINDOW).double() / WINDOW
    return torch.cat([turned.cos(), -turned.sin()]).float() * window


# ---- The file ----


def write_graph(voice: Voice, path: Path) -> None:
    """Trace a voice with some words, and write it for words of any length."""
    said = [BEGIN, PAD, *(sign for each in "ə wˈɜːd, ænd tˈuː." for sign in (each, PAD)), END]
    signs = torch.tensor([[NUMBER[sign] for sign in said]])
    scales = torch.tensor([0.667, 1.0, 0.8])
    with torch.no_grad(), _alone():
        torch.onnx.export(
            voice, (signs, torch.tensor([signs.shape[1]]), scales), str(path), dynamo=False,
            opset_version=_OPSET, input_names=list(_INPUTS), output_names=["output"],
            dynamic_axes={"input": {1: "signs"}, "output": {3: "samples"}},
        )  # fmt: skip


# The exporter is old, uses what is older, and leaves a constant that it could have worked out.
_KNOWN = (
    "You are using the legacy TorchScript-based ONNX export",
    "The feature will be removed. Please remove usage of this function",
    "Constant folding - Only steps=1 can be constant folded",
)


@contextmanager
def _alone() -> Iterator[None]:
    """
    Trace without the onnx package, and without being told what is known.

    The exporter asks for that package only to add functions made with onnxscript; here are none.
    """
    adds, exporter._add_onnxscript_fn = exporter._add_onnxscript_fn, _as_it_is
    try:
        with warnings.catch_warnings():
            for known in _KNOWN:
                warnings.filterwarnings("ignore", known)
            yield
    finally:
        exporter._add_onnxscript_fn = adds


def _as_it_is(model: bytes, _: Mapping[str, int]) -> bytes:
    return model


# ---- As a process of its own ----


def main(engine: Path, reference: Path, name: str, folder: Path) -> None:
    """Write a voice that lies in a folder, as it speaks like a reference."""
    network, _ = saving.load(engine, dropout=0.0)
    samples, rate = soundfile.read(reference, dtype="float32")
    like = Manner.of(Sound(np.asarray(samples, np.float32), rate))
    export(network.acoustic, network.vocoder, like.numbers.numpy(), name, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4]))
