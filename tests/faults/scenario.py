"""What a test describes: before, the act, and what must hold afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.faults import shim


@dataclass(frozen=True)
class Outcome:
    """How the act ended, as far as anybody can know who only sees the disk and the screen."""

    kind: str
    """"done", "raised", "exited" (the process ended in the middle), or "power lost"."""
    kinds_of_error: tuple[str, ...] = ()
    """The names of the error's class and all its bases, the class first."""
    message: str = ""
    errno: int | None = None
    """Of the error or, where it has none, of the one it was raised from."""
    fault: str = ""
    """The name of what went wrong, as in shim.py; "" on a disk that is well."""
    acknowledged: tuple[str, ...] = ()
    """What the act had called finished, in order, before it ended."""

    @property
    def done(self) -> bool:
        return self.kind == "done"

    def is_a(self, *names: str) -> bool:
        """Whether the error's class or one of its bases has one of these names."""
        return any(name in self.kinds_of_error for name in names)

    @property
    def was_full(self) -> bool:
        return self.fault.startswith("no space")

    def __str__(self) -> str:
        error = f" {self.kinds_of_error[0]}: {self.message}" if self.kinds_of_error else ""
        return f"{self.kind}{error}"


class Scenario:
    """`prepare` and `act` run in processes of their own; what the three share is the folder.

    `act` writes below the folder only: nothing else is watched. All checks run in one process:
    a check closes what it opened.
    """

    def prepare(self, folder: Path) -> None:
        """Make what is there before. The disk is still well."""

    def act(self, folder: Path) -> None:
        """Do the thing, on a disk that fails at one operation."""
        raise NotImplementedError

    def check(self, folder: Path, outcome: Outcome) -> None:
        """Raise when what is left is neither old nor new. The disk is well again."""
        raise NotImplementedError


def acknowledge(what: str) -> None:
    """Say, inside `act`, that the user has been told this is kept: from here on it must be."""
    shim.mark(what)


def assert_told(outcome: Outcome) -> None:
    """An act that failed says so as Timbre does: in words, or as what the system answered."""
    if outcome.kind == "raised":
        assert outcome.is_a("StudioError", "OSError"), f"{outcome} is not for a user"
