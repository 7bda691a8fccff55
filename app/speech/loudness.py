"""How loud a voice usually is, so that what it says can be sent before all of it is said."""

from __future__ import annotations

import logging
from functools import lru_cache
from pathlib import Path

from voices.library import REFERENCE, SAMPLE
from voices.speaking.loudness import QUIETEST_LUFS, LoudnessMeter

logger = logging.getLogger(__name__)

TARGET_LUFS = -16.0
_KEPT = 256


def gain_of(folder: Path) -> float:
    """What makes a voice as loud as podcasts are; 1 where nobody knows how loud it is."""
    for path in (folder / SAMPLE, folder / REFERENCE):
        if path.is_file():
            lufs = _measured(path, path.stat().st_mtime_ns)
            return 1.0 if lufs <= QUIETEST_LUFS else float(10 ** ((TARGET_LUFS - lufs) / 20))
    return 1.0


@lru_cache(_KEPT)
def _measured(path: Path, changed: int) -> float:
    import soundfile

    try:
        samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
    except (OSError, soundfile.LibsndfileError) as problem:
        logger.warning("How loud %s is cannot be measured: %s", path, problem)
        return QUIETEST_LUFS
    meter = LoudnessMeter(rate)
    meter.feed(samples[:, 0])
    return meter.lufs()
