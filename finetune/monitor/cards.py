"""GPUs as they are told: what nobody tells is None, never 0."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Card:
    """One GPU. None is "unknown"."""

    index: int
    """In the order of the slots, as CUDA counts with CUDA_DEVICE_ORDER=PCI_BUS_ID."""
    uuid: str | None = None
    name: str | None = None
    total_mib: int | None = None
    free_mib: int | None = None
    capability: tuple[int, int] | None = None
    held_mib: dict[int, int | None] | None = None
    """Memory by process id; the driver may know the process and not the amount."""
    used_mib: int | None = None
    """With what the driver keeps for itself, when `reserved_mib` is unknown."""
    reserved_mib: int | None = None
    """What the driver keeps for itself."""
    busy_percent: int | None = None
    """Share of the time in which something ran, be it ever so small a part of the GPU."""
    temperature_c: int | None = None
    watts: float | None = None
    watts_limit: float | None = None
    clock_mhz: int | None = None
    memory_clock_mhz: int | None = None
    pcie_generation: int | None = None
    pcie_lanes: int | None = None
    received_mb_s: float | None = None
    sent_mb_s: float | None = None
    mig: bool | None = None
    """Whether it is divided into parts that look like GPUs of their own."""
    driver_model: str | None = None
    """On Windows: WDDM, WDM (also called TCC) or MCDM."""
    shares_memory: bool = False
    """Whether it has no memory of its own and uses the computer's."""
    strangers: frozenset[int] = frozenset()
    """Ids in `held_mib` that no process of this computer or container has."""
    problem: str = ""
    """Why nothing of it can be told."""
    notes: tuple[str, ...] = ()
    """What cannot be told of it, and why."""


@dataclass(frozen=True, slots=True)
class Gpus:
    """What there is, or in `problem` why nothing can be told."""

    cards: tuple[Card, ...] = ()
    driver: str | None = None
    cuda: str | None = None
    """The newest CUDA the driver can run."""
    problem: str = ""
    gone: tuple[Card, ...] = ()
    """Those that were there earlier, and that the driver does not list any more."""


def held_mib(gpus: Gpus, pids: set[int]) -> int:
    """How much memory these processes hold on all cards, as far as the driver tells."""
    held = (item for card in gpus.cards for item in (card.held_mib or {}).items())
    return sum(mib or 0 for pid, mib in held if pid in pids)


# What a lane carries, in MB a second, by generation.
_LANE_MB = {1: 250, 2: 500, 3: 985, 4: 1969, 5: 3938, 6: 7563}


def pcie_limit_mb_s(card: Card) -> int | None:
    """How much its connection to the computer can carry one way, as it is now."""
    lane = _LANE_MB.get(card.pcie_generation or 0)
    return lane * card.pcie_lanes if lane and card.pcie_lanes else None
