"""What a run tells: to its job, and to its own history, which outlives its jobs."""

from __future__ import annotations

import errno
import os
from collections import deque
from collections.abc import Callable
from pathlib import Path

from finetune.jobs.events import Event, OfLearning, Said, Saved, to_line
from voices import files

_ON_A_FULL_DISK = (errno.ENOSPC, errno.EDQUOT)
# Hours of steps.
_HELD_BACK = 100_000


class Told:
    """
    Tells every event to the job, and appends what it said and those about learning to the history.

    On a full disk they are held back until there is room: telling never ends a run.
    """

    def __init__(self, say: Callable[[Event], None], history: Path) -> None:
        self._say = say
        self._history = os.open(history, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        files.sync_folder(history.parent)  # or a power cut could leave no file to what was synced
        self._torn = _is_torn(self._history)
        self._waiting: deque[Event] = deque(maxlen=_HELD_BACK)

    def __call__(self, event: Event) -> None:
        self._waiting.append(event)
        try:
            while self._waiting:
                self._tell(self._waiting[0])
                self._waiting.popleft()
        except OSError as error:
            if error.errno not in _ON_A_FULL_DISK:
                raise

    def _tell(self, event: Event) -> None:
        if isinstance(event, OfLearning | Said):
            line = b"\n" * self._torn + to_line(event).encode() + b"\n"
            self._torn = True
            if os.write(self._history, line) < len(line):  # the last bytes there were
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self._torn = False
        if isinstance(event, Saved):
            os.fsync(self._history)
        self._say(event)


def _is_torn(history: int) -> bool:
    """Whether the last line was cut off when its writer was."""
    size = os.fstat(history).st_size
    if not size:
        return False
    os.lseek(history, size - 1, os.SEEK_SET)
    return os.read(history, 1) != b"\n"
