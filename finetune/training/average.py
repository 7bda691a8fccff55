"""An average of the weights over the last steps: calmer than the weights themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch


class Average:
    """Follows named weights; with a share of 0 it does nothing and takes no memory."""

    def __init__(self, weights: Mapping[str, torch.Tensor], keep: float) -> None:
        self._weights, self._keep = weights, keep
        self.tensors = (
            {name: each.detach().clone() for name, each in weights.items()} if keep else {}
        )

    def follow(self) -> None:
        """Take one more step into account."""
        for name, kept in self.tensors.items():
            weight = self._weights[name].detach()
            if kept.is_floating_point():
                kept.lerp_(weight, 1 - self._keep)
            else:  # a count among the buffers
                kept.copy_(weight)

    def load(self, tensors: Mapping[str, torch.Tensor]) -> None:
        for name, kept in self.tensors.items():
            kept.copy_(tensors[name])

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Let the model be its average for a while."""
        self._exchange()
        try:
            yield
        finally:
            self._exchange()

    def _exchange(self) -> None:
        for name, kept in self.tensors.items():
            weight = self._weights[name].detach()
            was = weight.clone()
            weight.copy_(kept)
            kept.copy_(was)
