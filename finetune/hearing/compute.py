"""How a Whisper is run: on which processor, in which numbers, how much at once, and why."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import psutil

from engines.errors import EngineError, SettingsError
from finetune import gpu
from finetune.gpu import Card

Device = Literal["cpu", "cuda"]
WANTED = ("auto", "gpu", "cpu")

# Whisper's weights lie on the disk in float16. What it takes beside them fits what faster-whisper
# states of itself: large-v2 on an RTX 3070 Ti 4,525 MB in float16 and 2,926 MB in int8, with eight
# pieces at once 1,570 MB more; small on a Core i7 1,477 MB in int8, with eight at once 2,130 more.
_WEIGHTS = {"float32": 2.0, "float16": 1.0, "int8_float32": 0.5, "int8_float16": 0.5, "int8": 0.5}
_GPU_WORK_MIB, _GPU_PIECE_MIB, _GPU_PIECES = 1400, 220, 16
_CPU_WORK_MIB, _CPU_PIECE_MIB, _CPU_PIECES = 1200, 300, 8
# Two that hear with one core each take half the time of one with two (tiny Whisper, two cores).
_MOST_SIDE_BY_SIDE = 4
# More threads than this only wait for one another.
_MOST_THREADS = 8
# What the wheels of ctranslate2 4.8 open by name when they first compute on a GPU. They bring
# neither, and torch 2.11 brings those of CUDA 13. The first is needed by the second.
_LIBRARIES = {
    "linux": ("libcublasLt.so.12", "libcublas.so.12"),
    "win32": ("cublasLt64_12.dll", "cublas64_12.dll"),
}


@dataclass(frozen=True, slots=True)
class Compute:
    """How a model is run."""

    device: Device
    index: int
    """Which GPU, as CUDA counts them in this process."""
    type: str
    """The kind of numbers, as ctranslate2 names it."""
    threads: int
    """For each of those that hear side by side."""
    batch: int
    """How many pieces of up to 30 seconds are heard at once."""
    reason: str
    """A sentence that says what was chosen and why."""
    side_by_side: int = 1
    """How many hear at the same time, sharing the pieces."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What there is to compute with."""

    cores: int
    cpu_types: frozenset[str]
    free_mib: int | None = None
    """Main memory; None is "unknown"."""
    cards: tuple[Card, ...] = ()
    """Those that CUDA shows to this process, as it counts them."""
    gpu_types: Mapping[int, frozenset[str]] = field(default_factory=dict)
    problem: str = ""
    """Why no GPU can be used, in a sentence."""


def choose(machine: Machine, model_mb: float, wanted: str = "auto") -> Compute:
    """Choose how to run a model of this size: on a GPU where it fits, unless `wanted` says where."""
    if wanted not in WANTED:
        raise SettingsError(
            f"{wanted!r} is no place to compute.", f"Choose one of: {', '.join(WANTED)}."
        )
    if wanted == "cpu":
        return _on_cpu(machine, model_mb, "you chose it")
    found = _on_gpu(machine, model_mb)
    if isinstance(found, Compute):
        return found
    if wanted == "gpu":
        raise EngineError(
            f"The GPU cannot be used: {found}.", "Choose the processor, or a smaller Whisper."
        )
    return _on_cpu(machine, model_mb, found)


def here(model_mb: float, wanted: str = "auto") -> Compute:
    """Choose for this machine. Loads ctranslate2, and CUDA for a GPU: call it in a job only."""
    return choose(look(with_gpus=wanted != "cpu"), model_mb, wanted)


def need_mib(model_mb: float, kind: str, batch: int = 1) -> int:
    """About how much GPU memory a model takes, from its size on the disk in float16."""
    return _weights_mib(model_mb, kind) + _GPU_WORK_MIB + _GPU_PIECE_MIB * (batch - 1)


def _on_gpu(machine: Machine, model_mb: float) -> Compute | str:
    """How it is run on the GPU with the most free memory, or why on none."""
    usable = [card for card in machine.cards if _kinds(machine, card)]
    if machine.problem or not usable:
        return _inside(machine.problem) or "there is none that Whisper can use"
    card = max(usable, key=lambda card: -1 if card.free_mib is None else card.free_mib)
    kinds = _kinds(machine, card)
    name = f"GPU {card.index} ({card.name})" if card.name else f"GPU {card.index}"
    if card.free_mib is None:
        why = "how much of its memory is free is not known, so one piece is heard at a time"
        return _gpu(machine, card, kinds[0], 1, f"On {name} in {kinds[0]}: {why}.")
    for kind in kinds:
        if need_mib(model_mb, kind) <= card.free_mib:
            return _fitting(machine, card, kind, kinds[0], model_mb, name)
    least = need_mib(model_mb, kinds[-1])
    return f"it needs {least:,} MiB and {name} has {card.free_mib:,} MiB free"


def _inside(sentence: str) -> str:
    """A sentence as a part of another one; abbreviations stay as they are."""
    small = sentence[1:2].islower() and not sentence.startswith("Whisper")
    return (sentence[:1].lower() if small else sentence[:1]) + sentence[1:].rstrip(".")


def _kinds(machine: Machine, card: Card) -> list[str]:
    """The kinds of numbers a card computes well, the most exact first."""
    known = machine.gpu_types.get(card.index, frozenset())
    half = "float16" in known  # ctranslate2 leaves it out where the card is slow in it
    wished = ("float16", "int8_float16") if half else ("float32", "int8_float32")
    return [kind for kind in wished if kind in known]


def _fitting(
    machine: Machine, card: Card, kind: str, best: str, model_mb: float, name: str
) -> Compute:
    assert card.free_mib is not None
    spare = card.free_mib - need_mib(model_mb, kind)
    batch = min(_GPU_PIECES, 1 + spare // _GPU_PIECE_MIB)
    takes = f"{need_mib(model_mb, kind, batch):,} of {card.free_mib:,} MiB free"
    why = ""
    if kind != best:
        why = f"; {best} would need {need_mib(model_mb, best):,} MiB"
    elif kind == "float32":
        why = "; this card is slow in float16 or cannot do it"
    reason = f"On {name} in {kind}, {_pieces(batch)}: about {takes}{why}."
    return _gpu(machine, card, kind, batch, reason)


def _gpu(machine: Machine, card: Card, kind: str, batch: int, reason: str) -> Compute:
    return Compute("cuda", card.index, kind, _threads(machine), batch, reason)


def _on_cpu(machine: Machine, model_mb: float, why: str) -> Compute:
    kind = "int8" if "int8" in machine.cpu_types else "float32"
    least = _weights_mib(model_mb, kind) + _CPU_WORK_MIB
    batch = 1
    if machine.free_mib is not None:
        spare = machine.free_mib // 2 - least  # the other half is for everything else
        batch = max(1, min(_CPU_PIECES, 1 + spare // _CPU_PIECE_MIB))
    numbers = "int8, the fastest there" if kind == "int8" else "float32, as it knows no int8"
    reason = f"On the processor in {numbers}, {_pieces(batch)}: {why}."
    if machine.free_mib is not None and machine.free_mib < least:
        reason += (
            f" It needs about {least:,} MiB of memory and {machine.free_mib:,} MiB are free:"
            " close other programs, or choose a smaller Whisper."
        )
    side_by_side = min(_MOST_SIDE_BY_SIDE, batch, max(1, machine.cores))
    threads = max(1, _threads(machine) // side_by_side)
    return Compute("cpu", 0, kind, threads, batch, reason, side_by_side)


def _pieces(batch: int) -> str:
    return "one piece at a time" if batch == 1 else f"{batch} pieces at once"


def _weights_mib(model_mb: float, kind: str) -> int:
    return round(_WEIGHTS[kind] * model_mb * 1e6 / 2**20)


def _threads(machine: Machine) -> int:
    return max(1, min(_MOST_THREADS, machine.cores))


def look(with_gpus: bool = True) -> Machine:
    """Look at what there is. Loads ctranslate2, and CUDA for a GPU: call it in a job only."""
    # CUDA would count the fastest card first, the driver counts them by their slot.
    os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    gpus = gpu.read() if with_gpus else gpu.Gpus()
    cards = visible(gpus.cards, os.environ.get("CUDA_VISIBLE_DEVICES"))
    problem = gpus.problem or (cuda_libraries() if cards else "")
    import ctranslate2

    gpu_types = {}
    if cards and not problem:
        try:
            for index in range(ctranslate2.get_cuda_device_count()):
                known = ctranslate2.get_supported_compute_types("cuda", index)
                gpu_types[index] = frozenset(known)
        except RuntimeError as error:  # a driver too old for it, or a card in a bad way
            problem = f"CUDA cannot be used ({error})."
    return Machine(
        cores=_cores(),
        cpu_types=frozenset(ctranslate2.get_supported_compute_types("cpu")),
        free_mib=psutil.virtual_memory().available // 2**20,
        cards=cards,
        gpu_types=gpu_types,
        problem=problem,
    )


def visible(cards: tuple[Card, ...], chosen: str | None) -> tuple[Card, ...]:
    """The cards that CUDA_VISIBLE_DEVICES leaves, numbered as CUDA then counts them."""
    if chosen is None:
        return cards
    seen: list[Card] = []
    for word in chosen.split(","):
        card = next((card for card in cards if _is_meant(card, word.strip())), None)
        if card is None:
            break  # as CUDA does: an unknown one hides what follows it
        seen.append(replace(card, index=len(seen)))
    return tuple(seen)


def _is_meant(card: Card, word: str) -> bool:
    if word.isdigit():
        return int(word) == card.index
    return bool(word) and card.uuid is not None and card.uuid.startswith(word)


def cuda_libraries(load: Callable[[str], object] = ctypes.CDLL) -> str:
    """
    Load the CUDA libraries that ctranslate2 will ask for; say why not, or nothing.

    The system then finds them by their name, wherever a package has put them.
    """
    for name in _LIBRARIES.get(sys.platform, ()):
        place = brought(name, sys.path)
        try:
            load(str(place or name))
        except OSError as error:
            if place:
                return f"{place} cannot be loaded ({error})."
            return f"Whisper needs {name}, which the package nvidia-cublas-cu12 would bring."
    return ""


def brought(name: str, places: Iterable[str]) -> Path | None:
    """Where a package of NVIDIA's has put a library: nvidia/<package>/lib, on Windows bin."""
    for place in places:
        for folder in ("lib", "bin"):
            for path in sorted(Path(place).glob(f"nvidia/*/{folder}/{name}")):
                return path
    return None


def _cores() -> int:
    """How many cores this process may use; two threads of one core only get in each other's way."""
    real = psutil.cpu_count(logical=False) or psutil.cpu_count() or 1
    if sys.platform == "linux":
        return min(real, len(os.sched_getaffinity(0)))
    return real
