"""What changes the weights: AdamW in its variants, with weight decay only where it belongs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from engines.errors import SettingsError
from finetune.settings import TrainSettings

# As the released weights of XTTS were trained; the usual 0.999 remembers longer than a run lasts.
_BETAS = (0.9, 0.96)


def optimizer_for(
    parameters: Iterable[torch.nn.Parameter], settings: TrainSettings, device: torch.device
) -> torch.optim.Optimizer:
    """Make the optimizer of one turn. Its rate is set anew for every step."""
    trained = [each for each in parameters if each.requires_grad]
    matrices = [each for each in trained if each.ndim > 1]
    rest = [each for each in trained if each.ndim <= 1]
    groups: list[dict[str, Any]] = [
        {"params": matrices, "weight_decay": settings.weight_decay},
        {"params": rest, "weight_decay": 0.0},
    ]
    kind, options = _kind(settings.optimizer, device)
    made: torch.optim.Optimizer = kind(
        [group for group in groups if group["params"]], lr=0.0, betas=_BETAS, eps=1e-8, **options
    )
    return made


def _kind(name: str, device: torch.device) -> tuple[Any, dict[str, Any]]:
    if name == "adamw":
        # Fused: one kernel, and no copies of the gradients on the way.
        return torch.optim.AdamW, {"fused": device.type in ("cuda", "cpu")}
    try:
        import bitsandbytes
    except ImportError as error:
        raise SettingsError(
            f"optimizer is {name}, which needs the package bitsandbytes.",
            "Install it (`.venv/bin/uv pip install --python .venv/bin/python bitsandbytes`),"
            " or choose adamw.",
        ) from error
    kinds = {
        "adamw_8bit": bitsandbytes.optim.AdamW8bit,
        "paged_adamw_8bit": bitsandbytes.optim.PagedAdamW8bit,
    }
    return kinds[name], {}
