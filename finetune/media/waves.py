"""Outlines of recordings for drawing: made in the background, once, and kept in the cache."""

from __future__ import annotations

import logging
import queue
import threading
from functools import cache
from pathlib import Path

from engines.errors import StudioError
from voices import files

logger = logging.getLogger(__name__)

POINTS = 240


class Waves:
    """Outlines in a folder, and one thread that makes those that are missing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._wanted: queue.SimpleQueue[tuple[str, Path]] = queue.SimpleQueue()
        self._asked: set[str] = set()
        self._lock = threading.Lock()
        self._works = False

    def path(self, recording_id: str) -> Path:
        return self._folder / f"{recording_id}-{POINTS}"

    def is_there(self, recording_id: str, working: Path) -> bool:
        """Whether an outline can be drawn; if not it is made, and there soon."""
        if self.path(recording_id).exists():
            return True
        with self._lock:
            if recording_id not in self._asked and working.exists():
                self._asked.add(recording_id)
                self._wanted.put((recording_id, working))
                self._begin()
        return False

    def _begin(self) -> None:
        if not self._works:
            self._works = True
            threading.Thread(target=self._work, name="waves", daemon=True).start()

    def _work(self) -> None:
        while True:
            try:
                recording_id, working = self._wanted.get(timeout=1)
            except queue.Empty:
                with self._lock:
                    if self._wanted.empty():
                        self._works = False
                        return
                continue
            try:
                self._make(recording_id, working)
            except (StudioError, OSError):  # it has no picture, and says why when it is played
                logger.warning("The outline of %s could not be made.", recording_id, exc_info=True)

    def _make(self, recording_id: str, working: Path) -> None:
        import numpy as np

        from voices.comparing.peaks import outline

        found = outline(working, POINTS)
        scaled = np.clip(np.rint(found * 127), -127, 127).astype(np.int8)
        self._folder.mkdir(parents=True, exist_ok=True)  # the cache can be deleted at any time
        files.write_bytes(self.path(recording_id), scaled.tobytes())
        with self._lock:  # one that cannot be drawn stays asked for: once is enough
            self._asked.discard(recording_id)


@cache
def of(folder: Path) -> Waves:
    """The outlines that are kept in a folder."""
    return Waves(folder)
