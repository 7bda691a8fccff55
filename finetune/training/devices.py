"""What computes, and in which numbers: settled when a run starts, each with its reason."""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch
from accelerate import Accelerator

from engines.errors import SettingsError
from finetune import gpu

# From here on a GPU computes bf16 in hardware (Ampere); before it, it only pretends to.
_BF16_CAPABILITY = (8, 0)
# Tensor cores that fp16 gains from came with Volta.
_FP16_CAPABILITY = (7, 0)


@dataclass(frozen=True, slots=True)
class Chosen:
    """One thing settled, and why."""

    value: str
    reason: str


def choose_device(wanted: str) -> Chosen:
    """The device a run computes on; raise when the wanted one is not there."""
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if wanted != "auto":
        if not there.get(wanted, True):
            raise SettingsError(
                f"device is {wanted}, and this computer has none that works.",
                "Choose auto or cpu; `doctor` says what is missing.",
            )
        return Chosen(wanted, "as chosen")
    found = next((name for name, works in there.items() if works), "cpu")
    return Chosen(found, "the fastest there is" if found != "cpu" else "there is no GPU")


def choose_precision(
    wanted: str, device: str, capability: tuple[int, int], half_on_processors: bool = False
) -> Chosen:
    """
    The numbers a run computes with. The weights themselves always stay fp32.

    `half_on_processors` says whether the engine learns as well so (Engine.half_on_processors).
    """
    if wanted == "fp16" and device == "cpu":
        raise SettingsError("precision is fp16, which needs a GPU.", "Choose auto.")
    if wanted == "bf16" and device == "cuda" and capability < _BF16_CAPABILITY:
        raise SettingsError(
            "precision is bf16, which this GPU cannot compute.", "Choose auto or fp16."
        )
    if wanted != "auto":
        return Chosen(wanted, "as chosen")
    if device == "cpu" and half_on_processors and computes_half():
        return Chosen("bf16", "this processor computes it in hardware, twice as fast")
    if device != "cuda":
        return Chosen("fp32", "half precision gains nothing on this device")
    if capability >= _BF16_CAPABILITY:
        return Chosen("bf16", "this GPU computes it, and it never overflows")
    if capability >= _FP16_CAPABILITY:
        return Chosen("fp16", "this GPU has no bf16; losses are scaled so that nothing vanishes")
    return Chosen("fp32", "this GPU is no faster in half precision")


def computes_half() -> bool:
    """Whether the processor has instructions for bf16: Intel since 2020, AMD since 2022."""
    return bool(torch.cpu._is_avx512_bf16_supported())


def capability(device: str) -> tuple[int, int]:
    return torch.cuda.get_device_capability() if device == "cuda" else (0, 0)


def accelerator_for(device: str, precision: str) -> Accelerator:
    """Set up the device, and the other processes when this is one of several."""
    made = Accelerator(
        cpu=device == "cpu", mixed_precision="no" if precision == "fp32" else precision
    )
    if device == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = True
        torch.backends.cudnn.allow_tf32 = True
    return made


def facts(device: torch.device) -> dict[str, str]:
    """What the memory of a training depends on, of the device and its software."""
    found = {"device": device.type, "torch": str(torch.__version__)}
    if device.type == "cuda":
        card = torch.cuda.get_device_properties(device)
        found |= {
            "name": str(card.name),
            "total": str(card.total_memory),
            "driver": str(gpu.read().driver),
            "cudnn": str(torch.backends.cudnn.version()),
            "benchmark": str(torch.backends.cudnn.benchmark),
        }
    return found


def set_threads(wanted: int, device: str) -> int:
    """
    Set how many threads torch computes with.

    On a GPU they only prepare batches; on a processor, each core we may use.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    count = wanted or (cores or 1 if device == "cpu" else min(4, cores or 1))
    torch.set_num_threads(count)
    return count
