"""
The speaker's own process: `python -m voices.speaker.process`.

It reads what to say from stdin, answers on what was stdout, and ends when stdin closes: it never
outlives its owner. Whatever else is printed in it goes where stderr goes, which is a file.
"""

from __future__ import annotations

import _thread
import logging
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from engines.errors import StudioError
from voices.speaker.messages import Message, TornError, read, write
from voices.speaker.resident import Resident
from voices.speaking.narrator import Told

logger = logging.getLogger(__name__)

# A sentence that is nearly said may as well end; one that goes on is broken off.
GRACE_S = 0.3


class _Cancelled(BaseException):
    """Nobody listens any more. No engine catches it by mistake."""


class Child:
    """Says one text after the other, as it is asked to."""

    def __init__(self, answers: BinaryIO) -> None:
        self._answers = answers
        self._wanted: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._cancelled: set[int] = set()
        self._resident: Resident | None = None
        self._opened: tuple[Any, ...] = ()
        self._said_one = False
        self._saying: int | None = None

    def listen(self, requests: BinaryIO) -> None:
        """Take in requests until there is nobody who could make any."""
        code = 0
        try:
            while (message := read(requests)) is not None:
                if message.kind == "cancel":
                    self._cancel(int(message.facts["id"]))
                else:
                    self._wanted.put(message)
        except (TornError, OSError, KeyError, ValueError):
            logger.exception("What was asked is no request")
            code = 2
        os._exit(code)  # in the middle of a sentence too

    def speak(self) -> None:
        """Say what is asked, for ever."""
        while True:
            request = self._wanted.get()
            number = int(request.facts["id"])
            try:
                if request.kind == "open":
                    self._open(request.facts)
                else:
                    self._say(number, request.facts)
            except _Cancelled:
                logger.info("Text %d was broken off", number)
            except StudioError as error:
                self._tell_fault(number, error)
            except Exception as error:
                logger.exception("Text %d could not be said", number)
                self._tell_fault(number, _unexpected(error))
                raise  # whatever it left behind, on a GPU say, must not spoil the next text
            finally:
                self._cancelled.discard(number)
            self._tell(Message("done", {"id": number}))

    def _say(self, number: int, facts: Any) -> None:
        if number in self._cancelled:
            return
        resident = self._open(facts)
        resident.begin(facts["seed"], facts["manners"], facts["pace"])
        told = resident.tell(resident.sentences(facts["text"]), lambda: number in self._cancelled)
        for sound in resident.blocks(self._noted(number, told)):
            if number in self._cancelled:
                return
            self._tell(Message("sound", {"id": number}, sound))

    def _noted(self, number: int, told: Iterator[Told]) -> Iterator[Told]:
        """Sentences as they are told, each noted before its sound."""
        while (each := self._next(number, told)) is not None:
            self._tell(Message("sentence", {"id": number, "sentence": each.facts()}))
            yield each
            del each  # else it is still there while the next one is spoken

    def _next(self, number: int, told: Iterator[Told]) -> Told | None:
        """The next sentence: the only place where a text may be broken off."""
        # What is loaded with the first sentence of a voice must be loaded whole.
        self._saying = number if self._said_one else None
        try:
            return next(told, None)
        finally:
            self._saying = None
            self._said_one = True

    def _open(self, facts: Any) -> Resident:
        """The voice that is wanted; another one is let go of first, so that there is room."""
        key = (facts["folder"], facts["language"], facts["device"], facts["voice"])
        if self._resident is None or self._opened != key:
            self._resident, self._said_one = None, False
            self._resident = Resident(
                Path(facts["folder"]),
                facts["voice"],
                language=facts["language"],
                device=there(facts["device"]),
            )
            self._opened = key
        return self._resident

    def _cancel(self, number: int) -> None:
        self._cancelled.add(number)
        threading.Thread(target=self._break_off, args=(number,), daemon=True).start()

    def _break_off(self, number: int) -> None:
        time.sleep(GRACE_S)
        if self._saying == number and number in self._cancelled:
            # To the main thread, whose sentence it is; Python looks at it between two steps.
            _thread.interrupt_main()

    def interrupted(self, *_: object) -> None:
        """Break off the sentence that is being said, if it is one that nobody wants."""
        if self._saying is not None and self._saying in self._cancelled:
            self._saying = None
            raise _Cancelled

    def _tell_fault(self, number: int, error: StudioError) -> None:
        facts = {"id": number, "what": error.what, "fix": error.fix}
        self._tell(Message("fault", {**facts, "error": type(error).__name__}))

    def _tell(self, message: Message) -> None:
        try:
            write(self._answers, message)
        except OSError:  # the owner is gone, and stdin says so too
            os._exit(0)


def there(device: str) -> str:
    """The device, where this torch can use it; else the processor."""
    if device == "cpu":
        return device
    import torch  # noqa: TID251 - this is the speaker's own process

    return device if torch.cuda.is_available() else "cpu"


def _unexpected(error: Exception) -> StudioError:
    return StudioError(
        f"The voice could not speak ({type(error).__name__}: {error}).",
        "Try again; the details are in the speaker's log.",
    )


def _own_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Take stdin and stdout for ourselves: an engine that prints must not end up in a message."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, answers


def main() -> None:
    requests, answers = _own_pipes()
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(message)s")
    child = Child(answers)
    signal.signal(signal.SIGINT, child.interrupted)
    threading.Thread(target=child.listen, args=(requests,), daemon=True).start()
    child.speak()


if __name__ == "__main__":
    main()
