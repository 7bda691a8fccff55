"""Activations forgotten and computed again: memory for time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint


def forget_activations(blocks: Sequence[torch.nn.Module]) -> None:
    """Let these modules keep only what goes in; what is drawn inside is drawn the same again."""
    for block in blocks:
        _wrap(block)


def keep_activations(blocks: Sequence[torch.nn.Module]) -> None:
    """Let modules that forgot them keep their activations again."""
    for block in blocks:
        block.__dict__.pop("forward", None)


def _wrap(block: torch.nn.Module) -> None:
    forward = block.forward

    def forgetful(*given: Any, **named: Any) -> Any:
        if not torch.is_grad_enabled():
            return forward(*given, **named)
        return checkpoint(forward, *given, use_reentrant=False, **named)

    block.forward = forgetful
