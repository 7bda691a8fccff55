"""Learning with fewer weights: small additions to the transformer (LoRA), and parts that rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import nn

from engines.xtts.settings import PARTS

TARGETS = ["attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"]
NAME = "default"


def add_lora(gpt: nn.Module, rank: int, alpha: float) -> None:
    """Put additions of a low rank on every block of the transformer: only they learn then."""
    from peft import LoraConfig, inject_adapter_in_model

    gpt.requires_grad_(False)
    # The matrices of GPT-2 lie the other way round than nn.Linear's.
    config = LoraConfig(r=rank, lora_alpha=alpha, target_modules=TARGETS, fan_in_fan_out=True)
    inject_adapter_in_model(config, gpt.gpt, adapter_name=NAME)


def merge_lora(gpt: nn.Module) -> None:
    """Work the additions into the weights they were added to, and take them away."""
    for name, layer in [*_layers(gpt)]:
        layer.merge(adapter_names=[NAME])
        parent, _, child = name.rpartition(".")
        setattr(gpt.get_submodule(parent), child, layer.get_base_layer())
    if hasattr(gpt.gpt, "peft_config"):
        del gpt.gpt.peft_config


def merged_state(gpt: nn.Module) -> dict[str, torch.Tensor]:
    """Give the weights as the base names them, additions worked in, and leave the network as is."""
    layers = dict(_layers(gpt))
    found = {}
    for name, value in gpt.state_dict().items():
        owner, _, rest = name.partition(".base_layer.")
        if not rest and any(name.startswith(f"{each}.") for each in layers):
            continue  # an addition itself
        if rest == "weight":
            value = value + layers[owner].get_delta_weight(NAME).detach()
        found[f"{owner}.{rest}" if rest else name] = value
    return found


def freeze(gpt: nn.Module, parts: Iterable[str]) -> None:
    """Let parts, by their names in PARTS, stay as they are."""
    resting = tuple(start for part in parts for start in PARTS[part])
    for name, weight in gpt.named_parameters():
        if name.startswith(resting):
            weight.requires_grad_(False)


def _layers(gpt: nn.Module) -> Iterator[tuple[str, Any]]:
    from peft.tuners.lora import LoraLayer

    return ((name, each) for name, each in gpt.named_modules() if isinstance(each, LoraLayer))
