"""
Comparisons on disk, a folder each: what is compared, and a file for each thing that was said.

An answer is there before the next trial is asked, and no file is ever written a second time: who
closes the page in the middle goes on where they were, and a file that is torn takes no other along.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar, get_args

from engines.errors import NotFoundError, StudioError
from voices import files, names
from voices.comparing import blind
from voices.comparing.blind import Answer, Choice, Comparison, Event, Kind, Pair, Undo
from voices.workspace import Workspace, now

FOLDER = "comparisons"
_WHAT, _SAID = "comparison.json", "said-[0-9][0-9][0-9][0-9].json"

Read = TypeVar("Read")

_log = logging.getLogger(__name__)
# Two windows of one studio may answer at once: the second is to see what the first said.
_writing = Lock()


@dataclass(frozen=True, slots=True)
class Session:
    """A comparison and all that was said in it."""

    comparison: Comparison
    events: tuple[Event, ...] = ()

    @property
    def answers(self) -> list[Answer]:
        return blind.standing(self.events)

    @property
    def trial(self) -> blind.Trial | None:
        return blind.next_trial(self.comparison, self.events)

    @property
    def result(self) -> blind.Result:
        return blind.result(self.comparison, self.events)


class Comparisons:
    """Those of a workspace. Nothing is ever taken out; an answer taken back stays written down."""

    def __init__(self, workspace: Workspace) -> None:
        self.folder = workspace.root / FOLDER

    def start(
        self,
        kind: Kind,
        one: str,
        other: str,
        pairs: Sequence[Pair],
        trials: int,
        seed: int | None = None,
    ) -> Session:
        """Begin one; the seed is drawn unless given."""
        drawn = secrets.randbits(32) if seed is None else seed
        comparison = Comparison(
            names.new_id(), kind, one, other, tuple(pairs), trials, drawn, made=now()
        )
        if not self.folder.exists():
            files.make_folder(self.folder)
        with files.new_folder(self.folder / comparison.id) as new:
            files.write_json(new / _WHAT, {"v": 1, **asdict(comparison)})
        return Session(comparison)

    def all(self) -> list[Session]:
        """All that can be read, the newest first."""
        ids = [path.name for path in self.folder.glob("*") if names.is_id(path.name)]
        found = [session for each in ids if (session := self._read(each)) is not None]
        return sorted(found, key=lambda each: (each.comparison.made, each.comparison.id))[::-1]

    def find(self, id: str) -> Session:
        session = self._read(id) if names.is_id(id) else None
        if session is None:
            raise NotFoundError(
                "There is no such comparison, or it cannot be read.", "Begin a new one."
            )
        return session

    def answer(self, id: str, number: int, choice: Choice) -> Session:
        """Answer the trial that was shown, and have it on disk when this returns."""
        with _writing:
            session = self.find(id)
            said = blind.answered(session.comparison, session.events, number, choice, now())
            return self._write(session, said)

    def undo(self, id: str) -> Session:
        """Take the last answer back: its trial comes again, drawn anew."""
        with _writing:
            session = self.find(id)
            return self._write(session, blind.undone(session.events, now()))

    def _write(self, session: Session, event: Event) -> Session:
        folder = self.folder / session.comparison.id
        last = max((int(path.stem[-4:]) for path in folder.glob(_SAID)), default=0)
        kind = "answer" if isinstance(event, Answer) else "undo"
        files.write_json(folder / f"said-{last + 1:04}.json", {"kind": kind, **asdict(event)})
        return Session(session.comparison, (*session.events, event))

    def _read(self, id: str) -> Session | None:
        folder = self.folder / id
        comparison = _unless_torn(folder / _WHAT, _comparison)
        if comparison is None:
            return None
        said = (_unless_torn(path, _event) for path in sorted(folder.glob(_SAID)))
        return Session(comparison, tuple(each for each in said if each is not None))


def _unless_torn(path: Path, understood: Callable[[dict[str, Any]], Read]) -> Read | None:
    """A file as it is on disk; None, and the log says why, for what nobody can read."""
    try:
        return understood(json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError, KeyError, StudioError) as error:
        _log.warning("%s cannot be read: %s", path, error)
        return None


def _comparison(row: dict[str, Any]) -> Comparison:
    known = {each.name: row[each.name] for each in fields(Comparison)}
    return Comparison(**{**known, "pairs": tuple(Pair(**each) for each in row["pairs"])})


def _event(row: dict[str, Any]) -> Event:
    if row["kind"] == "undo":
        return Undo(str(row["at"]))
    if row["choice"] not in get_args(Choice):
        raise ValueError(f"{row['choice']!r} is no answer")
    return Answer(int(row["number"]), row["choice"], bool(row["swapped"]), str(row["at"]))
