"""Something that takes long to find out: looked for in a thread, the newest answer kept."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

Value = TypeVar("Value")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Looked(Generic[Value]):
    """What is known of it now."""

    busy: bool = False
    at: float | None = None
    """When the answer was complete, in seconds since 1970; None before the first."""
    found: Value | None = None
    problem: str = ""
    """Why there is no newer answer."""


class Looking(Generic[Value]):
    """Looks when asked; who asks for the answer never waits."""

    def __init__(self, find: Callable[[], Value], name: str) -> None:
        self._find, self._name = find, name
        self._lock = threading.Lock()
        self._known: Looked[Value] = Looked()
        self._wanted = False

    def known(self) -> Looked[Value]:
        with self._lock:
            return self._known

    def begin(self) -> None:
        """Look anew; asked for while looking, once more after that: what changed must be seen."""
        with self._lock:
            if self._known.busy:
                self._wanted = True
                return
            self._known = Looked(True, self._known.at, self._known.found)
        threading.Thread(target=self._run, name=self._name, daemon=True).start()

    def refresh(self, older_than_seconds: float) -> None:
        """Look anew when there is no answer yet, or an old one."""
        known = self.known()
        if not known.busy and (known.at is None or time.time() - known.at > older_than_seconds):
            self.begin()

    def _run(self) -> None:
        while True:
            answer = self._answer()
            with self._lock:
                again, self._wanted = self._wanted, False
                self._known = Looked(again, answer.at, answer.found, answer.problem)
            if not again:
                return

    def _answer(self) -> Looked[Value]:
        try:
            return Looked(False, time.time(), self._find())
        except Exception as error:  # a fault must not leave it looking for ever
            _log.exception("Looking for %s failed.", self._name)
            found = self.known().found
            return Looked(False, time.time(), found, f"{type(error).__name__}: {error}")
