"""One card, asked question by question; what NVML refuses to tell or cannot mean is None."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from finetune.monitor.cards import Card

# NVML's error codes; they are part of its interface and never change.
UNINITIALIZED, NOT_SUPPORTED, NO_PERMISSION, NOT_LOADED = 1, 3, 4, 9
LIBRARY_NOT_FOUND, LOST, RESET_REQUIRED, BLOCKED, MISMATCH, NOT_FOUND = 12, 15, 16, 17, 18, 28
_CARD_ENDED = {LOST, RESET_REQUIRED, NOT_FOUND}
_DRIVER_ENDED = {UNINITIALIZED, NOT_LOADED, MISMATCH}
_CARD_PROBLEMS = {
    NO_PERMISSION: "This program may not ask about the GPU.",
    LOST: "The GPU is lost: it does not answer any more. Restart the computer.",
    RESET_REQUIRED: "The GPU stopped working and must be reset. Restart the computer.",
    BLOCKED: "The system or the container keeps the GPU from this program.",
    NOT_FOUND: "The GPU is lost: the driver does not find it any more. Restart the computer.",
}
# More than any of them will be for long. What cannot be told comes as 2**64 - 1 or 2**32 - 1.
_MOST_BYTES = 2**44
_MODELS = {0: "WDDM", 1: "WDM", 2: "MCDM"}
_TX, _RX, _SM_CLOCK, _MEMORY_CLOCK, _ON_THE_CHIP = 0, 1, 1, 2, 0


class CardEndedError(Exception):
    """The card answers nothing any more; says why."""


@dataclass
class Asker:
    """Asks one thing of the driver; what it refuses to tell is None."""

    pynvml: Any
    refusal: int | None = None
    """The code of the last refusal."""

    def __call__(self, question: str, *about: Any) -> Any:
        ask = getattr(self.pynvml, question, None)
        try:
            return ask(*about) if ask else None
        except self.pynvml.NVMLError as error:
            self.refusal = getattr(error, "value", None)
            if self.refusal in _CARD_ENDED:
                raise CardEndedError(card_problem(error)) from None
            if self.refusal in _DRIVER_ENDED:
                raise
            return None
        except ValueError:  # a name that is not UTF-8
            return None

    def first(self, *questions: tuple[Any, ...]) -> Any:
        """Ask the newest way first: an older driver does not know it."""
        for question in questions:
            if (answer := self(*question)) is not None:
                return answer
        return None


def card_problem(error: Exception) -> str:
    """Why a card cannot be asked, in words."""
    code = getattr(error, "value", 0)
    return _CARD_PROBLEMS.get(code, f"The GPU cannot be asked ({error}).")


@dataclass(frozen=True, slots=True)
class Facts:
    """What does not change of a card."""

    handle: Any
    uuid: str | None
    name: str | None
    capability: tuple[int, int] | None
    driver_model: str | None


def facts(ask: Asker, index: int) -> Facts:
    """Find a card, and ask what does not change; raise CardEndedError when there is none."""
    try:
        handle = ask.pynvml.nvmlDeviceGetHandleByIndex(index)
    except ask.pynvml.NVMLError as error:
        if getattr(error, "value", None) in _DRIVER_ENDED:
            raise
        raise CardEndedError(card_problem(error)) from None
    model = ask.first(("nvmlDeviceGetDriverModel_v2", handle), ("nvmlDeviceGetDriverModel", handle))
    return Facts(
        handle=handle,
        uuid=ask("nvmlDeviceGetUUID", handle) or None,
        name=ask("nvmlDeviceGetName", handle) or None,
        capability=ask("nvmlDeviceGetCudaComputeCapability", handle),
        driver_model=_MODELS.get(model[0]) if model else None,
    )


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What of the computer decides whether a card's answers can be believed."""

    pid_exists: Callable[[int], bool]
    driver: str | None = None
    windows: bool = field(default_factory=lambda: platform.system() == "Windows")
    wsl: bool = field(default_factory=lambda: "microsoft" in platform.release().lower())

    def has(self, pid: int) -> bool:
        try:
            return self.pid_exists(pid)
        except OverflowError:  # no system numbers its processes so high
            return False


def card(ask: Asker, index: int, known: Facts, around: Surroundings) -> Card:
    """Ask what changes; raise CardEndedError when the card is lost over it."""
    handle = known.handle
    memory = _memory(ask, handle)
    held = None if miscounts(around.driver) else _held(ask, handle, memory.total)
    strangers = frozenset(pid for pid in held or () if not around.has(pid))
    mig = ask("nvmlDeviceGetMigMode", handle)
    busy = ask("nvmlDeviceGetUtilizationRates", handle)
    read = Card(
        index=index,
        uuid=known.uuid,
        name=known.name,
        total_mib=_mib(memory.total),
        free_mib=_mib(memory.free),
        capability=known.capability,
        held_mib=held,
        used_mib=_mib(memory.used),
        reserved_mib=_mib(memory.reserved),
        busy_percent=_within(0, busy and busy.gpu, 100),
        temperature_c=_within(0, _temperature(ask, handle), 200),
        watts=_thousandth(_within(0, ask("nvmlDeviceGetPowerUsage", handle), 10**7)),
        watts_limit=_thousandth(_within(1, ask("nvmlDeviceGetEnforcedPowerLimit", handle), 10**7)),
        clock_mhz=_within(0, ask("nvmlDeviceGetClockInfo", handle, _SM_CLOCK), 10**5),
        memory_clock_mhz=_within(0, ask("nvmlDeviceGetClockInfo", handle, _MEMORY_CLOCK), 10**5),
        pcie_generation=_within(1, ask("nvmlDeviceGetCurrPcieLinkGeneration", handle), 20),
        pcie_lanes=_within(1, ask("nvmlDeviceGetCurrPcieLinkWidth", handle), 64),
        received_mb_s=_traffic(ask, handle, _RX),
        sent_mb_s=_traffic(ask, handle, _TX),
        mig=None if mig is None else mig[0] == 1,
        driver_model=known.driver_model,
        shares_memory=memory.is_the_computers,
        strangers=strangers,
    )
    return _with_notes(read, around)


@dataclass(frozen=True, slots=True)
class _Memory:
    """In bytes."""

    total: int | None = None
    free: int | None = None
    used: int | None = None
    reserved: int | None = None
    is_the_computers: bool = False


def _memory(ask: Asker, handle: Any) -> _Memory:
    """Ask for memory as newer drivers tell it, apart from what they reserve; else as all do."""
    ask.refusal, newer = None, getattr(ask.pynvml, "nvmlMemory_v2", None)
    told = ask("nvmlDeviceGetMemoryInfo", handle, newer) if newer else None
    told = told or ask("nvmlDeviceGetMemoryInfo", handle)
    if told is None:
        return _Memory(is_the_computers=ask.refusal == NOT_SUPPORTED)
    if told.total == 0:
        return _Memory(is_the_computers=True)
    total = _within(1, told.total, _MOST_BYTES)
    most = total or _MOST_BYTES
    reserved = _within(0, getattr(told, "reserved", None), most)
    return _Memory(total, _within(0, told.free, most), _within(0, told.used, most), reserved)


def _held(ask: Asker, handle: Any, total: int | None) -> dict[int, int | None] | None:
    """Memory by process, of those that compute and those that draw; None when nobody tells."""
    computing, drawing = (
        ask.first(
            (f"nvmlDeviceGet{kind}RunningProcesses_v3", handle),
            (f"nvmlDeviceGet{kind}RunningProcesses_v2", handle),
        )
        for kind in ("Compute", "Graphics")
    )
    if computing is None:
        return None
    # A process that does both is in both lists, each time with all it holds.
    processes = [*computing, *(drawing or ())]
    most = total or _MOST_BYTES
    return {each.pid: _mib(_within(0, each.usedGpuMemory, most)) for each in processes}


def _temperature(ask: Asker, handle: Any) -> Any:
    return ask.first(
        ("nvmlDeviceGetTemperatureV", handle, _ON_THE_CHIP),
        ("nvmlDeviceGetTemperature", handle, _ON_THE_CHIP),
    )


def _traffic(ask: Asker, handle: Any, way: int) -> float | None:
    """MB a second. The driver counts for 20 ms before it answers, without using the processor."""
    return _thousandth(_within(0, ask("nvmlDeviceGetPcieThroughput", handle, way), 10**9))


def _within(low: int, value: Any, high: int) -> int | None:
    """A number that can be meant, else None."""
    return int(value) if value is not None and low <= value <= high else None


def _mib(size: int | None) -> int | None:
    return None if size is None else size // 2**20


def _thousandth(value: int | None) -> float | None:
    return None if value is None else value / 1000


def miscounts(driver: str | None) -> bool:
    """Whether a driver fills its list of processes wrongly: 535.43 to 535.86 do."""
    parts = (driver or "").split(".")
    if len(parts) < 2 or not (parts[0].isdigit() and parts[1].isdigit()):
        return False
    return (535, 43) <= (int(parts[0]), int(parts[1])) <= (535, 86)


def _with_notes(card: Card, around: Surroundings) -> Card:
    """Say what cannot be told of a card, and why."""
    silent = card.held_mib is not None and None in card.held_mib.values()
    untold = silent or (card.held_mib is None and not miscounts(around.driver))
    # Of older drivers on Windows pynvml cannot ask the model; nearly all are WDDM.
    wddm = card.driver_model == "WDDM" or (around.windows and card.driver_model is None)
    said = {
        "The GPU has no memory of its own, it shares the computer's.": card.shares_memory,
        "The GPU is divided (MIG): what its parts do cannot be told.": bool(card.mig),
        "Windows (WDDM) does not tell how much memory a program holds.": wddm and untold,
        "Windows does not tell WSL how much memory a program holds.": around.wsl and untold,
        f"Driver {around.driver} misreports programs: update it to 535.98 or newer.": miscounts(
            around.driver
        ),
        "Programs from outside this container, or that just ended, use the GPU:"
        " whose memory it is cannot be told.": bool(card.strangers),
    }
    return replace(card, notes=tuple(note for note, holds in said.items() if holds))
