"""
Whether a training's memory spills over from the GPU into the computer. Decisions only.

Windows lets it, instead of refusing: the training then goes on, ten to forty times as slowly.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

# Taken together: what lasts less, or moves less, may be two readings that were not made at once.
HELD_SECONDS = 3.0
WATCHED_SECONDS = 10.0
AWAY_MIB = 256
LITTLE_FREE = 0.02
SLOWER = 2.0
BUSY_LINK = 0.8
_FIX = "Choose a smaller batch, or close other programs that use the GPU."


@dataclass(frozen=True, slots=True)
class Moment:
    """A training and its GPU at one time. None is "unknown"."""

    at: float
    """In seconds."""
    total_mib: int | None = None
    free_mib: int | None = None
    others_mib: int | None = None
    """What other programs hold."""
    reserved_mib: int | None = None
    """What the training's torch has reserved."""
    away_mib: int | None = None
    """What of the training is in the computer's memory: Windows' "Non Local Usage"."""
    link_mb_s: float | None = None
    """What goes between the GPU and the computer, the busier way."""
    link_limit_mb_s: float | None = None
    clips_per_second: float | None = None
    step_ms: float | None = None


def spilling(moments: Sequence[Moment], measured_step_ms: float | None = None) -> str:
    """
    Say why memory is spilling, or nothing; of the moments up to now, oldest first.

    `measured_step_ms` is what a step took when the settings were measured, without a spill.
    """
    signs = (
        _is_away(moments),
        _more_than_there_is(moments),
        _full_and_slow(moments, measured_step_ms),
        _busy_link(moments),
    )
    why = next(filter(None, signs), "")
    return f"The training spills over into the computer's memory: {why} {_FIX}" if why else ""


def _is_away(moments: Sequence[Moment]) -> str:
    """(a) Windows counts memory of the training outside the GPU, and ever more of it."""
    recent = _last(moments, WATCHED_SECONDS)
    away = [each.away_mib for each in recent if each.away_mib is not None]
    if len(away) > 1 and away[-1] > AWAY_MIB and away[-1] > min(away):
        return f"{away[-1]} MiB of it are there."
    return ""


def _more_than_there_is(moments: Sequence[Moment]) -> str:
    """(b) More is reserved than the GPU has, for longer than two readings can be apart."""
    recent = _last(moments, HELD_SECONDS)
    if not _lasts(recent, HELD_SECONDS):
        return ""
    over = [
        each.reserved_mib + each.others_mib - each.total_mib
        for each in recent
        if None not in (each.reserved_mib, each.others_mib, each.total_mib)
        and each.reserved_mib is not None
        and each.others_mib is not None
        and each.total_mib is not None
    ]
    if len(over) == len(recent) and min(over) > 0:
        return f"{over[-1]} MiB more are in use than the GPU has."
    return ""


def _full_and_slow(moments: Sequence[Moment], measured_step_ms: float | None) -> str:
    """(c) Hardly anything is free, and steps take much longer than they were measured to."""
    recent = _last(moments, WATCHED_SECONDS)
    step_ms = moments[-1].step_ms if moments else None
    if not (_lasts(recent, WATCHED_SECONDS) and measured_step_ms and step_ms):
        return ""
    full = all(
        each.free_mib is not None
        and each.total_mib
        and each.free_mib < LITTLE_FREE * each.total_mib
        for each in recent
    )
    if full and step_ms > SLOWER * measured_step_ms:
        return f"the GPU is full, and a step takes {step_ms / measured_step_ms:.1f} times as long."
    return ""


def _busy_link(moments: Sequence[Moment]) -> str:
    """(d) The connection to the computer is full, and fewer clips are learned than before."""
    recent = _last(moments, WATCHED_SECONDS)
    busy = all(
        each.link_mb_s is not None
        and each.link_limit_mb_s
        and each.link_mb_s > BUSY_LINK * each.link_limit_mb_s
        for each in recent
    )
    before = [each.clips_per_second for each in moments if each.clips_per_second]
    now = recent[-1].clips_per_second if recent else None
    if _lasts(recent, WATCHED_SECONDS) and busy and now and now * SLOWER < max(before):
        share = 100 * now / max(before)
        return f"its connection is full, and it learns at {share:.0f} % of its speed."
    return ""


def _last(moments: Sequence[Moment], seconds: float) -> list[Moment]:
    return [each for each in moments if moments[-1].at - each.at <= seconds]


def _lasts(moments: Sequence[Moment], seconds: float) -> bool:
    """Whether they tell of so long a time, but for a reading that was late."""
    return len(moments) > 1 and moments[-1].at - moments[0].at >= 0.8 * seconds


# ---- In an error's own words ---------------------------------------------------------------------

_UNITS = {"KiB": 2**-10, "MiB": 1.0, "GiB": 2.0**10, "TiB": 2.0**20}
_SIZE = r"(\d+(?:\.\d+)?) (KiB|MiB|GiB|TiB)"
_CAPACITY = re.compile(rf"total capacity of {_SIZE}")
_ALLOCATED = re.compile(rf"{_SIZE} is allocated by PyTorch")
# 2**64 bytes: what the driver of Windows says when it does not tell.
_NO_FIGURE = "17179869184.00 GiB memory in use"


def spilled(error: str) -> str:
    """Say that memory had spilled before this error of torch's, or nothing."""
    capacity, allocated = _mib(_CAPACITY, error), _mib(_ALLOCATED, error)
    if capacity is not None and allocated is not None and allocated > capacity:
        return (
            f"torch held {allocated:.0f} MiB on a GPU of {capacity:.0f} MiB:"
            f" the rest was in the computer's memory. {_FIX}"
        )
    return ""


def no_figure(error: str) -> bool:
    """Whether the driver did not tell how much the process used, and the number means nothing."""
    return _NO_FIGURE in error


def _mib(pattern: re.Pattern[str], error: str) -> float | None:
    found = pattern.search(error)
    return float(found[1]) * _UNITS[found[2]] if found else None
