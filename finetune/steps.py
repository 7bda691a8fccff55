"""The steps of a build as a person sees them: how far each is, from what its job said."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from finetune.jobs.events import Progress, from_line
from finetune.jobs.queue import Job
from finetune.wishes import Wish

Name = Literal["read", "download", "hear", "cut", "check"]
State = Literal["waiting", "running", "done", "stopped"]

_UNITS: dict[str, Name] = {
    "files read": "read",
    "MB downloaded": "download",
    "s of sound heard": "hear",
    "words cut into clips": "cut",
    "clips checked": "check",
}
_ORDER: tuple[Name, ...] = ("read", "download", "hear", "cut", "check")
_PROGRESS = re.compile(
    rb'^\{[^\n]*"kind": "Progress"[^\n]*"unit": ("(?:[^"\\]|\\.)*")', re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a build."""

    name: Name
    state: State
    done: float = 0.0
    total: float = 0.0
    unit: str = ""
    seconds_left: float | None = None
    per_second: float | None = None
    inside: Progress | None = None
    """Of the one long recording that it is at."""


def steps_of(job: Job, wish: Wish) -> list[Step]:
    """Every step that a build has, those to come too."""
    told = _told(job.folder.events_path)
    begun = [_UNITS[each.unit] for each in told if each.unit in _UNITS]
    finished = job.outcome is not None and job.outcome.cause == "finished"
    wanted = _wanted(wish)
    names = [name for name in _ORDER if name in wanted or name in begun]
    is_at_work = job.state in ("running", "stopping")
    at = max((names.index(name) for name in begun), default=0 if is_at_work else -1)
    if _is_downloading(told):  # once the first recording waits to be heard
        at = names.index("download")
    ended = job.outcome is not None
    return [
        _step(name, _state(index, at, finished, ended), told, is_last=index == at)
        for index, name in enumerate(names)
    ]


def _is_downloading(told: Sequence[Progress]) -> bool:
    """Whether a download is what was told of last, and is not over."""
    if not told:
        return False
    newest = told[-1]
    return _UNITS.get(newest.unit) == "download" and newest.done < newest.total


def _wanted(wish: Wish) -> set[Name]:
    found: set[Name] = {"read"} if wish.sources else set()
    if wish.make_clips:
        found |= {"check"}
        found |= {"hear"} if wish.whisper or wish.text else set()
    return found


def _state(index: int, at: int, finished: bool, ended: bool) -> State:
    if finished or index < at:
        return "done"
    if index > at:
        return "waiting"
    return "stopped" if ended else "running"


def _step(name: Name, state: State, told: Iterable[Progress], is_last: bool) -> Step:
    found = {each.unit: each for each in told}
    of_it = next((each for unit, each in found.items() if _UNITS.get(unit) == name), None)
    if of_it is None:
        return Step(name, state)
    *_, newest = found.values()
    inside = newest if is_last and state == "running" and newest.unit not in _UNITS else None
    return Step(
        *(name, state, of_it.done, of_it.total, of_it.unit),
        *(of_it.seconds_left, of_it.per_second, inside),
    )


def _told(events: Path) -> tuple[Progress, ...]:
    try:
        return _told_until(events, events.stat().st_size)
    except FileNotFoundError:
        return ()


@lru_cache(maxsize=64)  # what has ended says nothing more, and is asked about each second
def _told_until(events: Path, size: int) -> tuple[Progress, ...]:
    return tuple(_newest(events))


def _newest(events: Path) -> Iterator[Progress]:
    """
    The newest progress of each unit, the newest of all last.

    A job of ten hours says 7 MB: only what is needed of it is read as JSON.
    """
    content = events.read_bytes()
    last = {found[1]: found.start() for found in _PROGRESS.finditer(content)}
    for start in sorted(last.values()):
        event = from_line(content[start:].split(b"\n", 1)[0].decode("utf-8", "replace"))
        if isinstance(event, Progress):
            yield event
