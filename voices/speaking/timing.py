"""Speech in the times of subtitles: said quicker where it must be, and told where it does not fit."""

from __future__ import annotations

from dataclasses import dataclass

from voices.speaking.scripts import Part

QUICKEST = 1.35
"""Listeners follow speech a third quicker than usual without effort, and not much more."""
_CLOSE_S = 0.05
"""So little too long, nobody notices."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a part of a script begins, and how it is said."""

    at_s: float
    pace: float
    """1 as it comes; 1.2 a fifth quicker."""
    ends_s: float
    note: str = ""
    """What does not fit; "" when all does."""


def placed(part: Part, natural_s: float, free_from_s: float, quickest: float = QUICKEST) -> Place:
    """
    Place a part that takes so many seconds by itself, after the one before it has ended.

    It begins at its time and ends by its time, so that gaps stay; what is still too long at the
    quickest pace runs on, and the next one waits for it: no word is ever lost.
    """
    start = free_from_s if part.start_s is None else part.start_s
    at = max(start, free_from_s)
    if part.end_s is None:
        return Place(at, 1.0, at + natural_s)
    # One that comes late has its own length still, rather than hardly any.
    room = max(part.end_s - at, (part.end_s - start) / 2)
    pace = min(quickest, natural_s / room) if natural_s > room + _CLOSE_S else 1.0
    ends = at + natural_s / pace
    return Place(at, pace, ends, _note(part, at - start, ends - part.end_s))


def _note(part: Part, late_s: float, over_s: float) -> str:
    said = []
    if late_s > _CLOSE_S:
        said.append(f"begins {late_s:.1f} s late")
    if over_s > _CLOSE_S:
        said.append(f"ends {over_s:.1f} s late though it is said quicker")
    return f"Line {part.line}: it {' and '.join(said)}. Shorten its text." if said else ""
