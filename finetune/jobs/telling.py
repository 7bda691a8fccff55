"""Tell how far a long work is, now and then, with a rate and the time that is left."""

from __future__ import annotations

import time
from collections.abc import Callable

from finetune.jobs.events import Event, Progress

EVERY_SECONDS = 0.5
# A rate over less says more about the start than about the work.
_LEAST_SECONDS = 1.0


class Telling:
    """One part of a work, from its beginning to its end."""

    def __init__(self, say: Callable[[Event], None], unit: str, total: float) -> None:
        self._say, self._unit, self._total = say, unit, total
        self._began = time.monotonic()
        self._told_at, self._told = 0.0, -1.0
        self._from = 0.0
        self.at(0.0)

    def skip(self, done: float) -> None:
        """Say that so much of it was done before: it counts, and not for the rate."""
        self._from += done

    def at(self, done: float) -> None:
        """Say how far it is; most of what comes too soon is left out, the last is not."""
        now = time.monotonic()
        too_soon = now - self._told_at < EVERY_SECONDS and done < self._total
        if too_soon or done == self._told or not self._total:
            return
        self._told_at, self._told = now, done
        rate = self._rate(done, now - self._began)
        left = max(0.0, self._total - done) / rate if rate else None
        self._say(Progress(round(done, 1), round(self._total, 1), self._unit, left, rate))

    def _rate(self, done: float, took: float) -> float | None:
        fresh = done - self._from
        return fresh / took if took >= _LEAST_SECONDS and fresh > 0 else None
