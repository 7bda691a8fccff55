"""Where the time and the memory of a step go."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch

from finetune.training.memory import Peaks

# Phases whose work the GPU does later than the call: timed by its own clock.
_ON_DEVICE = frozenset({"forward", "backward", "optimizer"})


class Watch:
    """Adds up milliseconds and peaks of phases until they are taken."""

    def __init__(self, device: torch.device) -> None:
        self._cuda = device.type == "cuda"
        self._peaks = Peaks(device)
        self._ms: dict[str, float] = defaultdict(float)
        self._running: list[tuple[str, Any, Any]] = []

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        with self._peaks.phase(name), self._timed(name):
            yield

    def memory(self, name: str) -> AbstractContextManager[None]:
        """Something that is no part of a step, and yet takes memory."""
        return self._peaks.phase(name)

    @contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        if self._cuda and name in _ON_DEVICE:
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            yield
            end.record()
            self._running.append((name, start, end))
            return
        began = time.perf_counter()
        try:
            yield
        finally:
            self._ms[name] += (time.perf_counter() - began) * 1000

    def take(self, steps: int) -> dict[str, float]:
        """Milliseconds of each phase in a step, since the last time; what still runs comes next."""
        waiting = []
        for name, start, end in self._running:
            if end.query():
                self._ms[name] += start.elapsed_time(end)
            else:
                waiting.append((name, start, end))
        self._running = waiting
        found, self._ms = self._ms, defaultdict(float)
        return {name: round(ms / max(1, steps), 2) for name, ms in found.items()}

    def take_peaks(self) -> dict[str, float]:
        return self._peaks.take()

    def take_retries(self) -> int:
        return self._peaks.retries()
