"""The one block that all of pocket's networks are built of."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):  # type: ignore[misc]  # mypy does not follow torch
    """
    Looks at neighbours in time, then thinks about each place: (batch, time, width), residual.

    The depthwise convolution is written for images whose channels are stored last: on a processor
    that takes less than half the time of shifted multiply-adds, which are faster than nn.Conv1d.
    What voice it is scales and shifts each channel.
    """

    def __init__(
        self, width: int, wider: int, reach: int, voice: int = 0, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(reach, width) / math.sqrt(reach))
        self.bias = nn.Parameter(torch.zeros(width))
        self.norm = nn.LayerNorm(width, elementwise_affine=not voice)
        self.widen = nn.Linear(width, width * wider)
        self.narrow = nn.Linear(width * wider, width)
        nn.init.normal_(self.narrow.weight, std=0.02)
        nn.init.zeros_(self.narrow.bias)
        self.voiced = _scale_and_shift(voice, width) if voice else None
        self.dropout = dropout

    def forward(
        self, x: torch.Tensor, mask: torch.Tensor | None = None, voice: torch.Tensor | None = None
    ) -> torch.Tensor:
        if mask is not None:
            x = x * mask
        y = self.norm(self._looked_around(x))
        if self.voiced is not None:
            scale, shift = self.voiced(voice)[:, None].chunk(2, -1)
            y = y * (1 + scale) + shift
        y = self.narrow(functional.silu(self.widen(y)))
        if self.training and self.dropout:
            y = functional.dropout(y, self.dropout)
        return x + y

    def _looked_around(self, x: torch.Tensor) -> torch.Tensor:
        # (batch, time, width) is an image one line high whose channels are stored last.
        image = x.float().transpose(1, 2)[:, :, None]
        weight = self.weight.t()[:, None, None]
        reach, width = self.weight.shape
        with torch.autocast(x.device.type, enabled=False):  # half precision would be slower here
            seen = functional.conv2d(
                image, weight, self.bias, padding=(0, reach // 2), groups=width
            )
        return seen[:, :, 0].transpose(1, 2)


def _scale_and_shift(voice: int, width: int) -> nn.Linear:
    made = nn.Linear(voice, 2 * width)
    nn.init.normal_(made.weight, std=0.02)
    nn.init.zeros_(made.bias)
    return made
