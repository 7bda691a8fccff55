"""What learns a voice: the acoustic network, and beside it the vocoder that makes it heard."""

from __future__ import annotations

import torch
from torch import nn

from engines.base import Batch, Losses, Totals
from engines.pocket import losses
from engines.pocket.acoustic import Acoustic, Frames
from engines.pocket.batches import SILENT, cut_out
from engines.pocket.shape import Shape
from engines.pocket.vocoder import Vocoder


class PocketNetwork(nn.Module):  # type: ignore[misc]  # mypy does not follow torch
    """
    Both networks, each with its own losses in the same step.

    The vocoder learns from the bands that the acoustic network draws now, so that it speaks well
    of what it will be given; its errors change only itself, as bands are the one thing both mean.
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.acoustic, self.vocoder = Acoustic(shape), Vocoder(shape)

    def forward(self, batch: Batch, totals: Totals, turn: str = "model") -> Losses:
        """Give this micro-batch's share of a step's losses."""
        frames, prosody = losses.spoken(self.acoustic, batch)
        found = losses.acoustic_losses(self.acoustic, batch, frames, prosody, totals)
        sound = self._sound_loss(batch, frames) / totals["clips"]
        parts = {name: each.detach() for name, each in {**found, "sound": sound}.items()}
        return {"loss": losses.weighed(found) + sound, **parts}

    def _sound_loss(self, batch: Batch, frames: Frames) -> torch.Tensor:
        pieces = batch["pieces"]
        natural = self.acoustic.natural(frames.mels.detach())
        # Behind its end a clip has no frames, whatever longer ones it is batched with.
        natural = torch.where(frames.mask > 0, natural, SILENT)
        drawn = cut_out(natural, batch["begins"], SILENT)
        mels = torch.where(batch["drawn"][:, None, None], drawn, pieces.mels)
        made = self.vocoder(mels, pieces.pitch, pieces.voiced, pieces.noise)
        return losses.spectral_losses(losses.inner(made), losses.inner(pieces.samples)).sum()
