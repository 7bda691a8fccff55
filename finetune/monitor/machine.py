"""The computer around the GPUs, and GPUs that are not NVIDIA's, as far as they can be told."""

from __future__ import annotations

import importlib
import platform
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import psutil

from finetune.monitor.cards import Card

APPLES = "The GPU has no memory of its own, it shares the computer's."
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Computer:
    """None is "unknown"."""

    ram_mib: int | None = None
    ram_free_mib: int | None = None
    """What programs can still have without anything being moved to the disk."""
    swap_mib: int | None = None
    swap_used_mib: int | None = None
    cpu_percent: float | None = None
    """Of all cores together, since the reading before."""
    disk_mib: int | None = None
    disk_free_mib: int | None = None
    cards: tuple[Card, ...] = ()
    """GPUs of Apple and AMD."""


class Machine:
    """Reads the computer, from one thread."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._counts_since: int | None = None

    def read(self) -> Computer:
        ram = _told(psutil.virtual_memory)
        swap = _told(psutil.swap_memory)
        disk = _told(lambda: psutil.disk_usage(str(_nearest(self._workspace))))
        ram_mib, free_mib = _mib(ram and ram.total), _mib(ram and ram.available)
        return Computer(
            ram_mib=ram_mib,
            ram_free_mib=free_mib,
            swap_mib=_mib(swap and swap.total),
            swap_used_mib=_mib(swap and swap.used),
            cpu_percent=self._cpu_percent(),
            disk_mib=_mib(disk and disk.total),
            disk_free_mib=_mib(disk and disk.free),
            cards=(*apples(ram_mib, free_mib), *_amds()),
        )

    def _cpu_percent(self) -> float | None:
        """How busy the processor was since the last time; psutil counts for each thread apart."""
        told = _told(psutil.cpu_percent)
        counted = self._counts_since == threading.get_ident()
        self._counts_since = threading.get_ident()
        return told if counted else None


def apples(ram_mib: int | None, free_mib: int | None) -> tuple[Card, ...]:
    """The GPU of an Apple chip: its memory is the computer's."""
    if platform.system() != "Darwin" or platform.machine() != "arm64":
        return ()
    return (
        Card(
            0,
            name="Apple GPU",
            total_mib=ram_mib,
            free_mib=free_mib,
            shares_memory=True,
            notes=(APPLES,),
        ),
    )


# ---- AMD, where its amdsmi is installed ----------------------------------------------------------


@cache
def _amdsmi() -> Any | None:
    """AMD's library, ready to be asked; looked for once."""
    try:
        amdsmi: Any = importlib.import_module("amdsmi")
        amdsmi.amdsmi_init()
    except Exception:  # not there, or not for this driver: nothing is known of such GPUs then
        return None
    return amdsmi


def _amds() -> tuple[Card, ...]:
    amdsmi = _amdsmi()
    if amdsmi is None:
        return ()
    handles = _asked(amdsmi.amdsmi_get_processor_handles) or ()
    return tuple(_amd(amdsmi, index, handle) for index, handle in enumerate(handles))


def _amd(amdsmi: Any, index: int, handle: Any) -> Card:
    memory = _asked(amdsmi.amdsmi_get_gpu_vram_usage, handle) or {}
    power = _asked(amdsmi.amdsmi_get_power_info, handle) or {}
    about = _asked(amdsmi.amdsmi_get_gpu_asic_info, handle) or {}
    total, used = _number(memory.get("vram_total")), _number(memory.get("vram_used"))
    total = total or None
    used = used if total and used is not None and used <= total else None
    watts = _number(power.get("current_socket_power"))
    watts = watts if watts is not None else _number(power.get("average_socket_power"))
    heat = _asked(
        lambda: amdsmi.amdsmi_get_temp_metric(
            handle, amdsmi.AmdSmiTemperatureType.EDGE, amdsmi.AmdSmiTemperatureMetric.CURRENT
        )
    )
    return Card(
        index=index,
        uuid=_asked(amdsmi.amdsmi_get_gpu_device_uuid, handle) or None,
        name=about.get("market_name") or None,
        total_mib=total,
        used_mib=used,
        free_mib=total - used if total is not None and used is not None else None,
        temperature_c=_number(heat),
        watts=None if watts is None else float(watts),
    )


def _asked(question: Callable[..., Any], *about: Any) -> Any:
    """An answer of amdsmi's; its errors differ from version to version, and each is a refusal."""
    try:
        return question(*about)
    except Exception:
        return None


def _number(value: Any) -> int | None:
    """A number that can be meant: "N/A" and 2**16 - 1 and the like are amdsmi's "unknown"."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value < 2**24 and value != 2**16 - 1 else None


def _told(question: Callable[[], Value]) -> Value | None:
    """What the system tells; some systems, and some containers, refuse."""
    try:
        return question()
    except (OSError, RuntimeError, NotImplementedError, AttributeError, psutil.Error):
        return None


def _nearest(path: Path) -> Path:
    """The path, or the closest folder above it that is there."""
    return path if path.exists() or path == path.parent else _nearest(path.parent)


def _mib(size: int | None) -> int | None:
    return None if size is None else int(size) // 2**20
