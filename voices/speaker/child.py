"""The speaker's process, as its owner sees it: started, told what to say, listened to, ended."""

from __future__ import annotations

import logging
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from engines.errors import EngineError, StudioError
from voices.speaker.messages import Message, TornError, read, write

logger = logging.getLogger(__name__)

COMMAND = (sys.executable, "-m", "voices.speaker.process")
_ROOT = Path(__file__).parents[2]
# What is ahead of its listener: the process waits once so much of a text was not taken.
_AHEAD = 8
_END_S = 2.0
_LAST_WORDS = 2_000


class Hearing:
    """What is heard of one text. Its listener and whoever breaks it off may be two threads."""

    def __init__(self, child: Child, number: int) -> None:
        self._child, self._number = child, number
        self._heard: queue.Queue[Message] = queue.Queue(_AHEAD)
        self._wanted = True

    def next(self) -> Message:
        """The next message; raise EngineError, with the cause, where the process has died."""
        while True:
            with suppress(queue.Empty):
                return self._heard.get(timeout=0.2)
            if self._child.gone and self._heard.empty():
                raise self._child.death()

    def cancel(self) -> None:
        """Want no more of it; whoever waits for its next message waits no longer."""
        self._wanted = False
        with suppress(queue.Empty):
            while True:
                self._heard.get_nowait()
        with suppress(queue.Full):
            self._heard.put_nowait(Message("cancelled"))
        with suppress(StudioError):  # it is gone, and says nothing more
            self._child.send(Message("cancel", {"id": self._number}))

    def keep(self, message: Message) -> None:
        """Keep a message for the listener as soon as there is room, unless nobody wants it."""
        while self._wanted and message.facts.get("id") == self._number:
            with suppress(queue.Full):
                self._heard.put(message, timeout=0.1)
                return


class Child:
    """One process that speaks."""

    def __init__(self, log: Path, device: str, command: Sequence[str] = COMMAND) -> None:
        self.device = device
        self._log = log
        self._process = _started(command, log)
        self._hearing: Hearing | None = None
        self._sending = threading.Lock()
        self._gone = threading.Event()
        self._ending = False
        threading.Thread(target=self._listen, name="speaker", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def lives(self) -> bool:
        return not self.gone and self._process.poll() is None

    @property
    def gone(self) -> bool:
        """Whether all that it said was heard, and nothing more comes."""
        return self._gone.is_set()

    def ask(self, kind: str, number: int, facts: Mapping[str, Any]) -> Hearing:
        """Ask for a text, or to open its voice; what still comes of an earlier one is dropped."""
        hearing = self._hearing = Hearing(self, number)
        self.send(Message(kind, {"id": number, **facts}))
        return hearing

    def send(self, message: Message) -> None:
        try:
            with self._sending:
                write(self._input, message)
        except (OSError, ValueError):  # a broken pipe, or one that was closed
            raise self.death() from None

    def end(self) -> None:
        """End it: it goes by itself once nobody can ask anything, and is not waited for long."""
        self._ending = True
        self._close_input()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    @property
    def _input(self) -> BinaryIO:
        return cast(BinaryIO, self._process.stdin)

    def _listen(self) -> None:
        """Hear what it says for as long as it does."""
        stream = cast(BinaryIO, self._process.stdout)
        try:
            while (message := read(stream)) is not None:
                if (hearing := self._hearing) is not None:
                    hearing.keep(message)
                del message, hearing  # else a sentence stays until the next one comes
        except (TornError, OSError, ValueError) as error:
            if not self._ending:
                logger.warning("The speaker said what is no message: %s", error)
            self._process.kill()
        finally:
            stream.close()
            self._close_input()
            self._gone.set()

    def _close_input(self) -> None:
        with suppress(OSError, ValueError), self._sending:
            self._input.close()

    def death(self) -> StudioError:
        code = self._ended()
        return EngineError(
            f"The process that speaks has ended while it was needed ({_cause(code)}).",
            f"Try again: it is started anew.{self._last_line()}",
        )

    def _ended(self) -> int | None:
        try:
            return self._process.wait(_END_S)
        except subprocess.TimeoutExpired:  # it closed its pipe and stays
            self._process.kill()
            return self._process.wait()

    def _last_line(self) -> str:
        try:
            with self._log.open("rb") as file:
                file.seek(max(0, self._log.stat().st_size - _LAST_WORDS))
                lines = file.read().decode("utf-8", "replace").strip().splitlines()
        except OSError:
            return ""
        return f" Its log, {self._log}, ends with: {lines[-1]}" if lines else ""


def _started(command: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    # Cards in the order in which their driver tells of them, or another one would be taken.
    env = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", **os.environ, "PYTHONPATH": str(_ROOT)}
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as output:
            return subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                env=env,
                cwd=_ROOT,
                start_new_session=True,  # Ctrl-C is for the owner, which then ends it
                creationflags=flags,
            )
    except OSError as error:
        raise EngineError(
            f"The process that speaks could not be started ({error.strerror or error}).",
            "Close other programs, or make room on the disk, and try again.",
        ) from error


def _cause(code: int | None) -> str:
    if code is None or code >= 0:
        return f"exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"{name}, as when memory runs out" if name == "SIGKILL" else name
