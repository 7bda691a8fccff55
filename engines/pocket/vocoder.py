"""From mel bands and pitch to a sound: a pulse for each swing of the voice, and noise, filtered."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from engines.pocket.blocks import Block
from engines.pocket.facts import BANDS, HOP, RATE, WINDOW
from engines.pocket.shape import SHIPPED, Shape
from engines.pocket.sound import mel_filters

_BINS = WINDOW // 2 + 1
_STEEP, _LOUDEST = 3.0, 6.0


class Vocoder(nn.Module):  # type: ignore[misc]  # mypy does not follow torch
    """
    Filters for a source, frame by frame, and an inverse Fourier transform: 2.8 M parameters.

    The harmonics come from the pitch, so that the network need not invent phases: it is
    intelligible after minutes and speaks with voices it never heard. It starts at the envelope
    that the mel bands draw.
    """

    mel_to_bins: torch.Tensor
    gain: torch.Tensor
    window: torch.Tensor

    def __init__(self, shape: Shape = SHIPPED) -> None:
        super().__init__()
        self.shape, width = shape, shape.sound
        self.take_in = nn.Linear(BANDS + 2, width)
        self.blocks = nn.ModuleList(Block(width, 3, 7) for _ in range(shape.sound_blocks))
        self.norm, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * _BINS)
        nn.init.normal_(self.out.weight, std=0.01)
        nn.init.zeros_(self.out.bias)
        self.harmonic_start = nn.Parameter(torch.linspace(0, -3, _BINS) - 3)
        self.noise_start = nn.Parameter(torch.linspace(-2, 0, _BINS) - 3)
        filters = torch.from_numpy(mel_filters())
        self.register_buffer("mel_to_bins", _shares(filters), persistent=False)
        self.register_buffer("gain", -filters.sum(1).log(), persistent=False)
        self.register_buffer("window", torch.hann_window(WINDOW), persistent=False)

    def forward(
        self, mels: torch.Tensor, pitch: torch.Tensor, voiced: torch.Tensor, noise: torch.Tensor
    ) -> torch.Tensor:
        """
        Samples of frames: (batch, frames, bands), ln hertz drawn across, 0 or 1, white noise.
        """
        known = torch.stack([(pitch - 5) * voiced, voiced], -1)
        x = self.take_in(torch.cat([(mels + 5) / 2.5, known], -1))
        for block in self.blocks:
            x = block(x)
        out = _STEEP * self.out(self.norm(x)).float()
        with torch.autocast(mels.device.type, enabled=False):
            return self._filtered(mels.float(), out, pulses(pitch, voiced), noise)

    def _filtered(
        self, mels: torch.Tensor, out: torch.Tensor, source: torch.Tensor, noise: torch.Tensor
    ) -> torch.Tensor:
        harmonic, breath, phase = self.gains(mels, out)
        spectrum = self._spectrum(source) * torch.polar(harmonic, phase)
        spectrum = spectrum + self._spectrum(noise) * breath
        return self.joined(torch.fft.irfft(spectrum, WINDOW) * self.window)

    def gains(
        self, mels: torch.Tensor, out: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """How loud pulses and noise are in each bin, and how far the pulses are turned."""
        envelope = (mels + self.gain) @ self.mel_to_bins
        harmonic, breath, phase = out.chunk(3, -1)
        harmonic = (envelope + self.harmonic_start + harmonic).clamp(max=_LOUDEST).exp()
        breath = (envelope + self.noise_start + breath).clamp(max=_LOUDEST).exp()
        return harmonic, breath, phase

    def joined(self, windows: torch.Tensor) -> torch.Tensor:
        """
        What windowed frames sound like, with a silent one behind them: (batch, samples).

        As torch.istft, which looks at its window each time, so that a GPU is waited for.
        """
        windows = functional.pad(windows, (0, 0, 0, 1))
        weights = (self.window**2).expand_as(windows[:1])
        cut = WINDOW // 2
        return (_overlapped(windows) / _overlapped(weights).clamp(min=1e-8))[:, cut : cut - WINDOW]

    def _spectrum(self, samples: torch.Tensor) -> torch.Tensor:
        found = torch.stft(
            samples, WINDOW, HOP, WINDOW, self.window, center=True, pad_mode="constant",
            return_complex=True,
        )  # fmt: skip
        return found.transpose(1, 2)[:, :-1]


def _overlapped(windows: torch.Tensor) -> torch.Tensor:
    """Add up windows that begin a hop behind each other."""
    shares = WINDOW // HOP
    parts = windows.unflatten(-1, (shares, HOP)).unbind(2)
    moved = (
        functional.pad(part, (0, 0, share, shares - 1 - share)) for share, part in enumerate(parts)
    )
    return torch.stack(tuple(moved)).sum(0).flatten(1)


def _shares(filters: torch.Tensor) -> torch.Tensor:
    """How much each band says of each bin; beyond the outermost bands, the nearest says all."""
    reached = filters.sum(0).nonzero()
    shares = filters.clone()
    shares[0, : reached[0]] = 1
    shares[-1, reached[-1] + 1 :] = 1
    return shares / shares.sum(0)


def pulses(pitch: torch.Tensor, voiced: torch.Tensor) -> torch.Tensor:
    """
    A pulse for each swing of the voice: (batch, frames) of ln hertz to samples of one loudness.

    A pulse lies between two samples and is shared by them, so that the pitch is no step.
    """
    ahead = torch.cat([pitch[:, 1:], pitch[:, -1:]], 1)
    share = torch.arange(HOP, device=pitch.device) / HOP
    swings = (pitch[..., None] * (1 - share) + ahead[..., None] * share).exp() / RATE
    begun = _swung_before(swings)[..., None]
    swung = begun + swings.cumsum(-1)
    whole = swung.floor()
    begins = whole > torch.cat([begun, swung[..., :-1]], -1).floor()
    loud = begins * swings.rsqrt() * voiced[..., None]
    late = (swung - whole) / swings
    here, before = (loud * (1 - late)).flatten(1), (loud * late).flatten(1)
    return here + functional.pad(before[:, 1:], (0, 1))


def _swung_before(swings: torch.Tensor) -> torch.Tensor:
    """What part of a swing has passed when a frame begins."""
    # Among thousands of swings a float has no room for their fractions.
    wide = torch.float32 if swings.device.type == "mps" else torch.float64
    passed = functional.pad(swings.sum(-1).to(wide).cumsum(1)[:, :-1], (1, 0))
    return (passed - passed.floor()).float()
