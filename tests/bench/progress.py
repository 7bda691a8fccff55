"""How far a measurement is: rounds done, the rate and the time left, on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import TextIO, TypeVar

Item = TypeVar("Item")
# A log gets a line now and then, a terminal one line that changes.
_LOG_SECONDS = 10.0
_TERMINAL_SECONDS = 0.2


class Progress:
    """Tells how one loop after another goes."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stderr
        self._terminal = self._out.isatty()

    def through(self, items: Sequence[Item], unit: str) -> Iterator[Item]:
        """Yield each item, telling how many are done."""
        began = told = time.monotonic()
        for done, item in enumerate(items):
            pause = _TERMINAL_SECONDS if self._terminal else _LOG_SECONDS
            if time.monotonic() - told > pause:
                told = time.monotonic()
                self._tell(in_words(done, len(items), unit, told - began))
            yield item
        self._tell(in_words(len(items), len(items), unit, time.monotonic() - began), last=True)

    def _tell(self, words: str, *, last: bool = False) -> None:
        end = "\n" if last or not self._terminal else "\r"
        self._out.write(f"{words:<70}{end}" if self._terminal else f"{words}{end}")
        self._out.flush()


def in_words(done: int, total: int, unit: str, seconds: float) -> str:
    """How far it is, in a line."""
    if done == total or not done:
        return f"{done} of {total} {unit} in {seconds:.0f} s"
    left = seconds / done * (total - done)
    return f"{done} of {total} {unit}, {done / seconds:.2g}/s, {left:.0f} s left"
