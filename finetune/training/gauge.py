"""How much memory tensors hold: told by the GPU's allocator, or counted where there is none."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

# The allocator of a GPU gives memory in pieces of this size; counted like that everywhere, so that
# what is counted on a processor says something about a GPU.
_PIECE = 512


class Gauge(Protocol):
    """Tells what tensors hold, and the most they held since it was last set back."""

    slows: bool
    """Whether what is done under it takes longer than without."""

    def aside(self) -> AbstractContextManager[None]:
        """Inside nothing is counted, refused or slowed: what is made there must go there too."""

    def held(self) -> int: ...

    def peak(self) -> int: ...

    def set_back(self) -> None: ...

    def seconds(self) -> float:
        """The time, when all that was asked of the device is done."""

    def fragmented(self) -> float:
        """What was reserved for each byte that tensors held at the highest peak."""


class CudaGauge:
    """Asks the allocator of the GPU."""

    slows = False

    def __init__(self) -> None:
        self._most_held = self._most_reserved = 0

    def aside(self) -> AbstractContextManager[None]:
        return nullcontext()

    def held(self) -> int:
        return int(torch.cuda.memory_allocated())

    def peak(self) -> int:
        found = int(torch.cuda.max_memory_allocated())
        # What was reserved stays so: only beside the highest peak does it tell what was wasted.
        self._most_held = max(self._most_held, found)
        self._most_reserved = max(self._most_reserved, int(torch.cuda.max_memory_reserved()))
        return found

    def set_back(self) -> None:
        torch.cuda.reset_peak_memory_stats()

    def seconds(self) -> float:
        torch.cuda.synchronize()
        return time.perf_counter()

    def fragmented(self) -> float:
        return max(1.0, self._most_reserved / max(1, self._most_held))


class Counted(TorchDispatchMode):  # type: ignore[misc]  # mypy does not follow torch
    """
    Counts every storage that is made while it is entered, real ones and fake ones.

    What lay there before is told to it with `begin_with`. With a ceiling it does as a full card
    does: it raises torch.OutOfMemoryError. What libraries take for themselves it does not see.
    """

    # Each operation goes through Python: a small network then takes half as long again.
    slows = True

    def __init__(self, ceiling: float = float("inf")) -> None:
        super().__init__()
        self._ceiling = ceiling
        self._sizes: dict[int, int] = {}
        self._held = self._peak = 0

    @contextmanager
    def aside(self) -> Iterator[None]:
        self.__exit__(None, None, None)
        try:
            yield
        finally:
            self.__enter__()

    def begin_with(self, tensors: Iterable[torch.Tensor]) -> None:
        for each in tensors:
            self._note(each)

    def held(self) -> int:
        return self._held

    def peak(self) -> int:
        return self._peak

    def set_back(self) -> None:
        self._peak = self._held

    def seconds(self) -> float:
        return time.perf_counter()

    def fragmented(self) -> float:
        return 1.0

    def __torch_dispatch__(
        self, function: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        made = function(*args, **(kwargs or {}))
        for each in tree_iter(made):
            if isinstance(each, torch.Tensor):
                self._note(each)
        if self._held > self._ceiling:
            raise torch.OutOfMemoryError(f"{self._held} bytes are more than {self._ceiling:.0f}")
        return made

    def _note(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self._sizes:
            return
        self._sizes[key] = size = -(-storage.nbytes() // _PIECE) * _PIECE
        self._held += size
        self._peak = max(self._peak, self._held)
        weakref.finalize(storage, self._forget, key)

    def _forget(self, key: int) -> None:
        self._held -= self._sizes.pop(key, 0)
