"""One set-up at a time: a second one waits for its turn."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def _taken(file: int) -> bool:
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return True
        return False

else:
    import fcntl

    def _taken(file: int) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


@contextmanager
def turn(path: Path, waiting: Callable[[], None], poll_s: float = 0.2) -> Iterator[int]:
    """Hold the lock file at `path`; the system lets go of it when its holders end, however.

    Gives the open file, so that an installer we start can hold it too.
    """
    with path.open("ab") as file:
        if _taken(file.fileno()):
            waiting()
            while _taken(file.fileno()):
                time.sleep(poll_s)
        yield file.fileno()
