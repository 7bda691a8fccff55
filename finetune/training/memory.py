"""Memory that runs out: told from other faults, freed, and measured phase by phase."""

from __future__ import annotations

import gc
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import torch

Result = TypeVar("Result")

# What the allocator of main memory says, which has no error class of its own.
_OF_MAIN_MEMORY = ("DefaultCPUAllocator", "not enough memory", "can't allocate memory")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, of the GPU or of the computer."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in _OF_MAIN_MEMORY)


def free() -> None:
    """Give back what nobody holds any more."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def once_more(work: Callable[[], Result]) -> Result:
    """Do something, and once more after freeing what nobody holds when memory ran out."""
    try:
        return work()
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        traceback.clear_frames(error.__traceback__)
    free()
    return work()


class Peaks:
    """The most memory of the GPU that each phase took, in MB; nothing without a GPU."""

    def __init__(self, device: torch.device) -> None:
        self._cuda = device.type == "cuda"
        self._found: dict[str, float] = {}
        self._reserved = 0.0
        self._retries = 0

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        if not self._cuda:
            yield
            return
        torch.cuda.reset_peak_memory_stats()
        try:
            yield
        finally:
            peak = torch.cuda.max_memory_allocated() / 1e6
            self._found[name] = max(peak, self._found.get(name, 0.0))
            self._reserved = max(self._reserved, torch.cuda.max_memory_reserved() / 1e6)

    def take(self) -> dict[str, float]:
        """What was found since the last time, and the most that torch had reserved of the GPU."""
        found, self._found = self._found, {}
        if found:
            found["reserved"], self._reserved = self._reserved, 0.0
        return {name: round(mb, 1) for name, mb in found.items()}

    def retries(self) -> int:
        """
        How often, since the last time, torch gave all free memory back to find room for more.

        Now and then is the price of a full card; in every step it is slow.
        """
        if not self._cuda:
            return 0
        before, self._retries = self._retries, torch.cuda.memory_stats().get("num_alloc_retries", 0)
        return int(self._retries - before)
