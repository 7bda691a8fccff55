"""Speaks with finished voices from a process of its own, one text at a time; never loads torch here."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engines import errors
from engines.base import Sound
from engines.errors import StudioError
from voices.speaker.child import COMMAND, Child, Hearing
from voices.speaker.messages import Message
from voices.speaker.turns import TooManyError, Turns

__all__ = ["Piece", "Sentence", "Speaker", "Speech", "TooManyError"]

logger = logging.getLogger(__name__)

IDLE_S = 600.0
MOST_WAITING = 32
LOOK_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class Sentence:
    """How a sentence came out."""

    text: str
    spoken: str
    seconds: float
    seed: int
    tries: int
    faults: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """What comes of a text next: a block of its sound, or which sentence follows."""

    sound: Sound | None = None
    sentence: Sentence | None = None


class Speaker:
    """
    Keeps the voice that spoke last open for the next text.

    Its process is started with the first text, ended after idling, and ended before it is in the
    way of somebody else on a GPU, as `wanted_elsewhere` tells; a text that is being said then is
    said to its end.
    """

    def __init__(
        self,
        log: Path,
        *,
        wanted_elsewhere: Callable[[], bool] = lambda: False,
        idle_s: float = IDLE_S,
        most_waiting: int = MOST_WAITING,
        command: Sequence[str] = COMMAND,
    ) -> None:
        self._log, self._command, self._idle_s = log, command, idle_s
        self._wanted_elsewhere = wanted_elsewhere
        self._turns = Turns(most_waiting)
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._last_used = time.monotonic()
        self._closed = False

    def say(
        self,
        voice_folder: Path,
        facts: Mapping[str, Any],
        text: str,
        language: str = "",
        seed: int = 0,
        manners: Mapping[str, float] | None = None,
        device: str = "cpu",
        pace: float = 1.0,
    ) -> Speech:
        """
        Say a text when its turn comes; raise TooManyError where too many wait.

        What comes is taken piece by piece; closing it, from any thread, ends the speaking.
        """
        wish = {
            "folder": str(voice_folder),
            "voice": dict(facts),
            "text": text,
            "language": language,
            "seed": seed,
            "manners": dict(manners or {}),
            "device": device,
            "pace": pace,
        }
        return Speech(self, self._turns, next(self._numbers), "say", wish)

    def prepare(
        self, voice_folder: Path, facts: Mapping[str, Any], language: str = "", device: str = "cpu"
    ) -> None:
        """Open a voice that will be asked for soon, unless a text is being said; wait for nothing."""
        if not self.busy:
            wish = {
                "folder": str(voice_folder),
                "voice": dict(facts),
                "language": language,
                "device": device,
            }
            opening = Speech(self, self._turns, next(self._numbers), "open", wish)
            threading.Thread(target=_let_open, args=(opening,), daemon=True).start()

    @property
    def pid(self) -> int | None:
        """The process that speaks, while there is one."""
        child = self._child
        return child.pid if child is not None and child.lives else None

    @property
    def busy(self) -> int:
        """How many texts are said or wait."""
        return len(self._turns)

    def close(self) -> None:
        """End the process; who still listens to it is told."""
        self._closed = True
        with self._lock:
            self._end_child()

    def child_for(self, device: str) -> Child:
        """The process for the one whose turn it is, started where there is none for its device."""
        with self._lock:
            if self._closed:
                raise StudioError("Nothing is spoken any more.", "Start Timbre again.")
            if self._child is not None and (not self._child.lives or self._child.device != device):
                self._end_child()
            if self._child is None:
                self._child = Child(self._log, device, self._command)
                watch = threading.Thread(target=self._watch, args=(self._child,), daemon=True)
                watch.start()
            return self._child

    def used(self) -> None:
        """Note that it was needed until now."""
        self._last_used = time.monotonic()

    def _watch(self, child: Child) -> None:
        """End an idle process in time."""
        pause = threading.Event()
        while self._child is child and child.lives:
            pause.wait(min(LOOK_EVERY_S, self._idle_s / 4))
            with self._lock:
                if self._child is child and not len(self._turns) and self._is_over(child):
                    logger.info("The speaker is not needed: its process ends")
                    self._end_child()

    def _is_over(self, child: Child) -> bool:
        if time.monotonic() - self._last_used > self._idle_s:
            return True
        return child.device != "cpu" and self._asked_elsewhere()

    def _asked_elsewhere(self) -> bool:
        try:
            return self._wanted_elsewhere()
        except StudioError:  # nobody knows: another look comes soon
            logger.exception("Whether somebody else needs the GPU is not known")
            return False

    def _end_child(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.end()


class Speech(Iterator[Piece]):
    """A text that is being said, or waits to be: its pieces, as they come."""

    def __init__(
        self, speaker: Speaker, turns: Turns, number: int, kind: str, wish: dict[str, Any]
    ) -> None:
        self._over = True  # until it stands in the line
        self._speaker, self._turns, self._number, self._kind = speaker, turns, number, kind
        self._wish: dict[str, Any] = wish
        self._hearing: Hearing | None = None
        self._ending = threading.Lock()
        self._ticket = object()  # the line holds this, so that a forgotten text can leave it
        turns.enter(self._ticket)
        self._over = False

    def __next__(self) -> Piece:
        while not self._over:
            try:
                if self._hearing is None and not self._begin():
                    break
                assert self._hearing is not None  # it has begun
                piece = self._piece(self._hearing.next())
            except BaseException:
                self.close()
                raise
            if piece is not None:
                return piece
        raise StopIteration

    def close(self) -> None:
        """Say no more of it, and let the next text be said."""
        with self._ending:
            if self._over:
                return
            self._over = True
        if self._hearing is not None:
            self._hearing.cancel()
        self._leave()

    def __enter__(self) -> Speech:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()  # forgotten by who asked for it, it must not hold up the others

    def _begin(self) -> bool:
        """Wait for one's turn and ask; False where it was closed meanwhile."""
        if not self._turns.wait(self._ticket):
            return False
        child = self._speaker.child_for(self._wish.pop("device"))
        with self._ending:  # closed from here on, it is asked for before the next one has its turn
            if self._over:
                return False
            facts = {**self._wish, "device": child.device}
            self._hearing = child.ask(self._kind, self._number, facts)
        self._wish = {}  # a long text need not stay
        return True

    def _piece(self, message: Message) -> Piece | None:
        """What a message brings; None where it is not for who listens."""
        if message.kind == "sound":
            return Piece(sound=message.sound)
        if message.kind == "sentence":
            said = dict(message.facts["sentence"])
            return Piece(sentence=Sentence(**{**said, "faults": tuple(said["faults"])}))
        if message.kind == "fault":
            self._finish()
            raise _error(message.facts)
        if message.kind in ("done", "cancelled"):
            self._finish()
        return None

    def _finish(self) -> None:
        """Be over, with nothing left to cancel."""
        with self._ending:
            if self._over:
                return
            self._over = True
        self._leave()

    def _leave(self) -> None:
        self._speaker.used()
        self._turns.leave(self._ticket)


def _let_open(opening: Speech) -> None:
    try:
        for _ in opening:
            pass
    except StudioError:  # who then speaks is told
        logger.exception("A voice could not be opened ahead")


def _error(facts: Mapping[str, Any]) -> StudioError:
    """The error that was met in the other process, as the one it was."""
    kind = getattr(errors, str(facts.get("error")), StudioError)
    with suppress(TypeError):
        if issubclass(kind, StudioError):
            return kind(str(facts.get("what")), str(facts.get("fix")))
    return StudioError(str(facts.get("what")), str(facts.get("fix")))
