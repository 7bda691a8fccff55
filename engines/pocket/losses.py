"""How far pocket's networks are from what they are to say."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch.nn import functional

from engines.pocket.acoustic import Acoustic, Frames, Prosody
from engines.pocket.facts import BANDS

# What each counts beside the mel bands.
WEIGHTS = {
    **{"mels": 1.0, "timing": 0.3, "tempo": 0.3, "melody": 0.2, "energy": 0.1},
    **{"pitch": 0.2, "voicing": 0.2},
}
# Of whether a frame is voiced it may be no surer: learned by heart, that alone doubled the loss on
# clips it had not heard, while all the rest still got better.
_DOUBT = 0.05
_LEAST = -(_DOUBT * math.log(_DOUBT) + (1 - _DOUBT) * math.log(1 - _DOUBT))
Batch = Mapping[str, torch.Tensor]


def spoken(net: Acoustic, batch: Batch) -> tuple[Frames, Prosody]:
    """Say a batch with the durations, pitch and loudness that it has."""
    voice = net.voice(batch["manner"])
    state, mask = net.read(batch["rows"], voice)
    prosody = net.prosody(state, mask, voice)
    said = (batch["durations"], batch["sound_pitch"], batch["sound_energy"])
    return net.speak(state, *said, voice, batch["mels"].shape[1]), prosody


def acoustic_losses(
    net: Acoustic, batch: Batch, frames: Frames, prosody: Prosody, totals: Mapping[str, float]
) -> dict[str, torch.Tensor]:
    """Each loss as a share of the whole step's: sums divided by its totals."""
    sounds = (batch["rows"][..., 0] > 0).float()
    lasts = batch["durations"].clamp(min=1).float().log()
    mask, voiced = frames.mask[..., 0], batch["voiced"]
    wanted = net.standardised(batch["mels"])
    sure = _DOUBT + (1 - 2 * _DOUBT) * voiced
    voicing = functional.binary_cross_entropy_with_logits(frames.voicing, sure, reduction="none")
    voicing = voicing - _LEAST
    return {
        "mels": ((frames.mels - wanted).abs() * frames.mask).sum() / BANDS / totals["frames"],
        "timing": ((prosody.durations - lasts) ** 2 * sounds).sum() / totals["sounds"],
        # Errors of logarithms forgive what is too short: alone they make speech 2 to 11 % fast.
        "tempo": _tempo(prosody.durations, batch["durations"], sounds) / totals["clips"],
        "melody": _squares(prosody.pitch, batch["sound_pitch"], sounds) / totals["sounds"],
        "energy": _squares(prosody.energy, batch["sound_energy"], sounds) / totals["sounds"],
        "pitch": ((frames.pitch - batch["pitch"]).abs() * voiced).sum()
        / max(1.0, totals["voiced"]),
        "voicing": (voicing * mask).sum() / totals["frames"],
    }


def weighed(losses: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """All of them as the one that is made smaller."""
    found = sum(WEIGHTS[name] * losses[name] for name in WEIGHTS)
    assert isinstance(found, torch.Tensor)
    return found


def _squares(found: torch.Tensor, wanted: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return ((found - wanted) ** 2 * mask).sum()


def _tempo(logarithms: torch.Tensor, frames: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    said = (logarithms.clamp(max=6).exp() * mask).sum(1)
    found: torch.Tensor = ((said.log() - frames.sum(1).float().log()) ** 2).sum()
    return found


# ---- The vocoder's ----

_RESOLUTIONS = ((256, 64), (512, 128), (1024, 256), (2048, 512))
_EPSILON = 1e-3
_EDGE = 512


def inner(samples: torch.Tensor) -> torch.Tensor:
    """A piece without its ends, which know nothing of what is beside it."""
    return samples[:, _EDGE:-_EDGE]


def spectral_losses(found: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """How different each pair sounds, at four resolutions; one number a pair."""
    total = found.new_zeros(len(found))
    for size, hop in _RESOLUTIONS:
        a, b = spectrum(found, size, hop), spectrum(wanted, size, hop)
        logarithms = ((a + _EPSILON).log() - (b + _EPSILON).log()).abs().mean((1, 2))
        shape = (a - b).norm(dim=(1, 2)) / (b.norm(dim=(1, 2)) + _EPSILON)
        total = total + logarithms + 0.5 * shape
    return total / len(_RESOLUTIONS)


def spectrum(samples: torch.Tensor, size: int, hop: int) -> torch.Tensor:
    window = torch.hann_window(size, device=samples.device)
    found = torch.stft(samples, size, hop, size, window, center=True, return_complex=True)
    return (found.real**2 + found.imag**2 + 1e-7).sqrt()
