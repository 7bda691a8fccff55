"""The GPUs of this machine as their driver tells; what it does not tell is None, never 0."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

TIMEOUT_SECONDS = 2.0
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Card:
    """One GPU. None is "unknown"."""

    index: int
    uuid: str | None = None
    name: str | None = None
    total_mib: int | None = None
    free_mib: int | None = None
    capability: tuple[int, int] | None = None
    held_mib: dict[int, int | None] = field(default_factory=dict)
    """Memory by process id; the driver may know the process and not the amount."""


@dataclass(frozen=True, slots=True)
class Gpus:
    """What there is, or in `problem` why nothing can be told."""

    cards: tuple[Card, ...] = ()
    driver: str | None = None
    cuda: str | None = None
    """The newest CUDA the driver can run."""
    problem: str = ""


def read(timeout_seconds: float = TIMEOUT_SECONDS) -> Gpus:
    """Ask the driver. A driver that hangs is left behind after the timeout, and said so."""
    answer: list[Gpus] = []

    def ask() -> None:
        try:
            answer.append(_ask())
        except Exception as error:  # whatever is broken there must not break what asks
            answer.append(Gpus(problem=f"The NVIDIA driver cannot be asked ({error})."))

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(timeout_seconds)
    if not answer:
        return Gpus(problem=f"The NVIDIA driver did not answer in {timeout_seconds:.0f} s.")
    return answer[0]


def _ask() -> Gpus:
    import pynvml  # nvidia-ml-py; here, so that a machine without it can still say so

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return Gpus(problem=_no_driver(pynvml, error))
    try:
        ask = _Asker(pynvml.NVMLError)
        count = ask(pynvml.nvmlDeviceGetCount) or 0
        cards = tuple(_card(pynvml, ask, index) for index in range(count))
        version = ask(pynvml.nvmlSystemGetCudaDriverVersion)
        cuda = f"{version // 1000}.{version % 1000 // 10}" if version else None
        return Gpus(cards, ask(pynvml.nvmlSystemGetDriverVersion), cuda)
    finally:
        pynvml.nvmlShutdown()


@dataclass(frozen=True, slots=True)
class _Asker:
    """Asks one thing of the driver; what it refuses to tell is None."""

    refusal: type[Exception]

    def __call__(self, question: Callable[..., Value], *about: Any) -> Value | None:
        try:
            return question(*about)
        except self.refusal:
            return None


def _card(pynvml: Any, ask: _Asker, index: int) -> Card:
    handle = ask(pynvml.nvmlDeviceGetHandleByIndex, index)
    if handle is None:
        return Card(index)
    memory = ask(pynvml.nvmlDeviceGetMemoryInfo, handle)
    processes = ask(pynvml.nvmlDeviceGetComputeRunningProcesses, handle) or []
    return Card(
        index=index,
        uuid=ask(pynvml.nvmlDeviceGetUUID, handle),
        name=ask(pynvml.nvmlDeviceGetName, handle),
        total_mib=_mib(memory and memory.total),
        free_mib=_mib(memory and memory.free),
        capability=ask(pynvml.nvmlDeviceGetCudaComputeCapability, handle),
        held_mib={process.pid: _mib(process.usedGpuMemory) for process in processes},
    )


def _mib(size: int | None) -> int | None:
    return None if size is None else size // 2**20


def _no_driver(pynvml: Any, error: Exception) -> str:
    """Why the driver cannot be asked, in words."""
    code = getattr(error, "value", None)
    if code == pynvml.NVML_ERROR_LIBRARY_NOT_FOUND:
        return "No NVIDIA driver is installed."
    if code == pynvml.NVML_ERROR_DRIVER_NOT_LOADED:
        return "The NVIDIA driver is installed but not running; restart the computer."
    if code == pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH:
        return "The NVIDIA driver was updated while in use; restart the computer."
    return f"The NVIDIA driver cannot be asked ({error})."


def held_mib(gpus: Gpus, pids: set[int]) -> int:
    """How much memory these processes hold on all cards, as far as the driver tells."""
    return sum(mib or 0 for card in gpus.cards for pid, mib in card.held_mib.items() if pid in pids)
