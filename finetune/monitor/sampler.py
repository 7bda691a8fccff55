"""A reading each second, kept for an hour: the newest, and the hour in as many points as wanted."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

from finetune.monitor.cards import Gpus
from finetune.monitor.driver import Driver
from finetune.monitor.machine import Computer, Machine

EVERY_SECONDS = 1.0
KEPT_SECONDS = 3600.0
# A reading older than this says nothing about now.
STALE_SECONDS = 5.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reading:
    """All that was seen at one time."""

    at: float
    """Seconds since 1970."""
    gpus: Gpus
    computer: Computer

    @property
    def used_mib(self) -> int:
        """What is used on all GPUs, as far as known: to find peaks by."""
        cards = (*self.gpus.cards, *self.computer.cards)
        return sum(card.used_mib or 0 for card in cards)


class Sampler:
    """Reads in a thread of its own; who asks never waits for a driver."""

    def __init__(
        self,
        driver: Driver,
        machine: Machine,
        every_seconds: float = EVERY_SECONDS,
        noted: Callable[[Reading], None] | None = None,
    ) -> None:
        self._driver, self._machine = driver, machine
        self._every_seconds, self._noted = every_seconds, noted
        self._readings: deque[Reading] = deque(maxlen=int(KEPT_SECONDS / every_seconds))
        self._newest: Reading | None = None
        self._newest_at = 0.0
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to read; one that reads already goes on."""
        with self._lock:
            if self._thread is None or self._ending.is_set():
                self._ending = threading.Event()
                self._thread = threading.Thread(
                    target=self._run, args=(self._ending,), name="monitor", daemon=True
                )
                self._thread.start()

    def stop(self) -> None:
        """Read no more, and let the GPUs sleep. What was read stays."""
        self._ending.set()
        if self._thread:
            self._thread.join(2 * STALE_SECONDS)

    def latest(self) -> Reading | None:
        """The newest reading; when it is old, with nothing about the GPUs but that."""
        with self._lock:
            newest, age = self._newest, time.monotonic() - self._newest_at
        if newest is None or age <= STALE_SECONDS + self._every_seconds:
            return newest
        silent = f"Nothing was read for {age:.0f} s."
        return replace(newest, gpus=Gpus(problem=silent), computer=Computer())

    def history(self, points: int) -> list[Reading]:
        """What was read in the last hour, oldest first."""
        with self._lock:
            readings = list(self._readings)
        return thinned(readings, points)

    def _run(self, ending: threading.Event) -> None:
        self._driver.stays_open = True
        due = time.monotonic()
        while not ending.is_set():
            self._read()
            due = max(due + self._every_seconds, time.monotonic())
            ending.wait(due - time.monotonic())
        self._driver.close()

    def _read(self) -> None:
        try:
            reading = Reading(time.time(), self._driver.read(), self._machine.read())
            with self._lock:
                self._readings.append(reading)
                self._newest, self._newest_at = reading, time.monotonic()
            if self._noted:
                self._noted(reading)
        except Exception:  # a fault here must not end what watches
            _log.exception("The GPUs and the computer could not be read.")


def thinned(readings: list[Reading], points: int) -> list[Reading]:
    """So many of them at most, evenly spread: of each stretch its peak, at the end the newest."""
    if len(readings) <= points:
        return readings
    if points <= 1:
        return readings[len(readings) - points :]
    *older, newest = readings
    edges = [len(older) * at // (points - 1) for at in range(points)]
    stretches = (older[begin:end] for begin, end in pairwise(edges))
    # Of equal ones the last: what is shown is as new as it can be.
    return [*(max(reversed(each), key=lambda one: one.used_mib) for each in stretches), newest]
