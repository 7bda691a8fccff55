"""Whose turn it is to speak: one at a time, in the order in which they came."""

from __future__ import annotations

import threading
from collections import deque

from engines.errors import StudioError


class TooManyError(StudioError):
    """So many wait to speak that another one would wait too long."""


class Turns:
    """A line in front of something that only one can have."""

    def __init__(self, most_waiting: int) -> None:
        self._most = most_waiting + 1
        self._line: deque[object] = deque()
        self._moved = threading.Condition()

    def __len__(self) -> int:
        """How many have their turn or wait for it."""
        return len(self._line)

    def enter(self, who: object) -> None:
        """Stand at the end of the line; raise TooManyError where it is full."""
        with self._moved:
            if len(self._line) >= self._most:
                raise TooManyError(
                    f"{self._most - 1:,} texts wait to be spoken already.",
                    "Try again when some of them are said.",
                )
            self._line.append(who)

    def wait(self, who: object) -> bool:
        """Wait for one's turn; return False for one that has left the line meanwhile."""
        with self._moved:
            self._moved.wait_for(lambda: who not in self._line or self._line[0] is who)
            return who in self._line

    def leave(self, who: object) -> None:
        """Let the next one go on."""
        with self._moved:
            if who in self._line:
                self._line.remove(who)
                self._moved.notify_all()
