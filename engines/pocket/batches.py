"""Clips put together for the networks, padded; and pieces of them for the vocoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch.nn.utils.rnn import pad_sequence

from engines.base import Batch, Features, Item
from engines.pocket.acoustic import PITCH_SPREAD
from engines.pocket.facts import FULL_SCALE, HOP, PITCH_IN_MANNER

PIECE = 64
"""Frames that the vocoder is shown of a clip at a time: one second."""
SILENT = -9.2
# Levelled speech lies around -5 with a spread of 2 (mean of its mel bands' logarithms).
_USUAL_ENERGY, _ENERGY_SPREAD = -5.0, 2.0


def whole(items: Sequence[Item]) -> dict[str, torch.Tensor]:
    """What the acoustic network takes in and is to answer."""
    clips = [item.features for item in items]
    manner = torch.stack([item.companion["manner"] for item in items])
    centre = manner[:, PITCH_IN_MANNER, None]
    durations = _padded(clips, "durations", torch.Tensor.long)
    mels = _padded(clips, "mels", torch.Tensor.float, SILENT)
    pitch = (_padded(clips, "pitch", torch.Tensor.float) - centre) / PITCH_SPREAD
    return {
        "rows": _padded(clips, "rows", torch.Tensor.long),
        "durations": durations,
        "mels": mels,
        "pitch": pitch,
        "voiced": _padded(clips, "voiced", torch.Tensor.float),
        "sound_pitch": _mean_over_sounds(pitch, durations),
        "sound_energy": (_mean_over_sounds(mels.mean(-1), durations) - _USUAL_ENERGY)
        / _ENERGY_SPREAD,
        "manner": manner,
    }


def targets(clips: Sequence[Features]) -> dict[str, float]:
    """How much there is to be learned in clips."""
    return {
        "clips": float(len(clips)),
        "sounds": float(sum(len(each["durations"]) for each in clips)),
        "frames": float(sum(len(each["mels"]) for each in clips)),
        "voiced": float(sum(int(each["voiced"].sum()) for each in clips)),
    }


@dataclass(frozen=True, slots=True)
class Pieces:
    """A second of each clip, as the vocoder takes it in and is to answer."""

    mels: torch.Tensor
    pitch: torch.Tensor
    voiced: torch.Tensor
    noise: torch.Tensor
    samples: torch.Tensor


def starts(clips: Sequence[Features], chances: Sequence[torch.Generator]) -> list[int]:
    """Where a piece of each clip begins, by chance."""
    return [
        int(torch.randint(max(1, len(each["mels"]) - PIECE + 1), (), generator=chance))
        for each, chance in zip(clips, chances, strict=True)
    ]


def pieces(
    clips: Sequence[Features], begins: Sequence[int], chances: Sequence[torch.Generator]
) -> Pieces:
    """Cut the pieces that begin there; a shorter clip is followed by silence."""
    device = clips[0]["mels"].device

    def cut(name: str, per_frame: int = 1, fill: float = 0.0) -> torch.Tensor:
        found = [
            _piece(each[name], begin, per_frame, fill)
            for each, begin in zip(clips, begins, strict=True)
        ]
        return torch.stack(found)

    noise = torch.stack([torch.randn(PIECE * HOP, generator=chance) for chance in chances])
    return Pieces(
        cut("mels", fill=SILENT), cut("pitch", fill=5.0), cut("voiced"), noise.to(device),
        cut("samples", HOP) / FULL_SCALE,
    )  # fmt: skip


def _piece(values: torch.Tensor, begin: int, per_frame: int, fill: float) -> torch.Tensor:
    found = values[begin * per_frame : (begin + PIECE) * per_frame].float()
    lacks = PIECE * per_frame - len(found)
    if not lacks:
        return found
    return torch.cat([found, found.new_full((lacks, *found.shape[1:]), fill)])


def _padded(
    clips: Sequence[Features],
    name: str,
    convert: Callable[[torch.Tensor], torch.Tensor],
    fill: float = 0.0,
) -> torch.Tensor:
    return pad_sequence([convert(each[name]) for each in clips], True, fill)


def _mean_over_sounds(values: torch.Tensor, durations: torch.Tensor) -> torch.Tensor:
    """The mean of each sound's frames."""
    ends = durations.cumsum(1)
    summed = torch.nn.functional.pad(values.cumsum(1), (1, 0))
    within = summed.gather(1, ends) - summed.gather(1, ends - durations)
    return within / durations.clamp(min=1)


def as_batch(items: Sequence[Item], drawn_share: float) -> Batch:
    """A batch as the training loop hands it on."""
    clips = [item.features for item in items]
    # On the processor, so that chance is the same whatever computes.
    chances = [torch.Generator().manual_seed(item.seed) for item in items]
    begins = starts(clips, chances)
    drawn = torch.tensor([float(torch.rand((), generator=chance)) for chance in chances])
    return {
        **whole(items),
        "pieces": pieces(clips, begins, chances),
        "begins": begins,
        "drawn": (drawn < drawn_share).to(clips[0]["mels"].device),
        "targets": targets(clips),
    }


def cut_out(values: torch.Tensor, begins: Sequence[int], fill: float) -> torch.Tensor:
    """Cut a piece out of each row."""
    rows = zip(values, begins, strict=True)
    return torch.stack([_piece(row, begin, 1, fill) for row, begin in rows])
