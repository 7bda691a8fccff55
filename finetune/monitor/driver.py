"""
The NVIDIA driver, asked again and again: kept open, opened anew after an error.

Each reading is made in a thread, since a driver in a bad way hangs for ever. While one hangs no
other is started: whoever asks meanwhile is told at once.
"""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NoAnswerError
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import psutil

from finetune.monitor import nvml
from finetune.monitor.cards import Card, Gpus
from finetune.monitor.nvml import Asker, CardEndedError, Facts, Surroundings

TIMEOUT_SECONDS = 2.0
# How often the driver is opened anew while a card is lost: it may have come back, or be unplugged.
REOPEN_SECONDS = 10.0
_PROBLEMS = {
    nvml.LIBRARY_NOT_FOUND: "No NVIDIA driver is installed.",
    nvml.NOT_LOADED: "The NVIDIA driver is installed but not running; restart the computer.",
    nvml.MISMATCH: "The NVIDIA driver was updated while in use; restart the computer.",
    nvml.NO_PERMISSION: "This program may not ask the NVIDIA driver.",
    nvml.LOST: "The NVIDIA driver has lost a GPU and tells nothing; restart the computer.",
}
# Others that bring a module named pynvml, or once did.
_CULPRITS = ("nvidia-ml-py3", "pynvml", "py3nvml", "nvidia-ml-py2", "nvidia-ml")
_NEEDED = ("NVMLError", "nvmlInit", "nvmlMemory_v2", "nvmlDeviceGetComputeRunningProcesses_v2")
_SET_UP_AGAIN = "Delete the folder .venv and start Timbre again."


class DriverUnusableError(Exception):
    """The driver cannot be asked; says why."""


@dataclass
class _Open:
    """The driver while it is open, and what does not change meanwhile."""

    ask: Asker
    since: float
    around: Surroundings
    cuda: str | None
    known: dict[int, Facts]


class Driver:
    """Answers with all that is known of the GPUs, never later than asked for."""

    def __init__(self, pid_exists: Callable[[int], bool] = psutil.pid_exists) -> None:
        self.stays_open = False
        """Whether it is kept open after a reading, which a laptop's GPU cannot sleep through."""
        self._pid_exists = pid_exists
        self._starting = threading.Lock()
        self._at_work = threading.Lock()
        self._asked: Future[Gpus] | None = None
        self._asked_at = 0.0
        self._open: _Open | None = None
        self._seen: dict[str, Card] = {}

    def read(self, timeout_seconds: float = TIMEOUT_SECONDS) -> Gpus:
        """Ask for everything; who asks while an answer is under way gets that one."""
        with self._starting:
            if self._asked is None or self._asked.done():
                self._asked, self._asked_at = Future(), time.monotonic()
                work = threading.Thread(
                    target=self._answer, args=(self._asked,), name="gpus", daemon=True
                )
                work.start()
            asked, since = self._asked, self._asked_at
        try:
            return asked.result(max(0.0, since + timeout_seconds - time.monotonic()))
        except NoAnswerError:
            waited = time.monotonic() - since
            said = f"The NVIDIA driver did not answer in {waited:.0f} s."
            return Gpus(problem=f"{said} If this stays so, restart the computer.")

    def close(self) -> None:
        """Let the driver go; one that hangs is left alone."""
        self.stays_open = False
        if self._at_work.acquire(timeout=TIMEOUT_SECONDS):
            try:
                self._shut()
            finally:
                self._at_work.release()

    def _answer(self, asked: Future[Gpus]) -> None:
        with self._at_work:
            try:
                answer = self._read()
            except Exception as error:  # whatever is broken there must not break what asks
                answer = Gpus(problem=self._problem(error))
            if answer.problem or not self.stays_open or self._may_have_changed(answer):
                self._shut()
        asked.set_result(answer)

    def _read(self) -> Gpus:
        opened = self._open = self._open or _opened(self._pid_exists)
        count = opened.ask.pynvml.nvmlDeviceGetCount()
        cards = tuple(self._card(opened, index) for index in range(count))
        listed = {card.uuid for card in cards}
        gone = tuple(card for uuid, card in self._seen.items() if uuid not in listed)
        return Gpus(cards, opened.around.driver, opened.cuda, gone=gone)

    def _card(self, opened: _Open, index: int) -> Card:
        """Read one card; one that is lost is listed with the reason, and hides no other."""
        try:
            if index not in opened.known:
                opened.known[index] = nvml.facts(opened.ask, index)
            card = nvml.card(opened.ask, index, opened.known[index], opened.around)
        except CardEndedError as ended:
            was = (seen for seen in self._seen.values() if seen.index == index)
            return replace(next(was, Card(index)), problem=str(ended))
        if card.uuid:
            problem = "The GPU is gone: the driver does not list it any more."
            self._seen[card.uuid] = Card(index, card.uuid, card.name, problem=problem)
        return card

    def _may_have_changed(self, answer: Gpus) -> bool:
        """Whether to look for cards anew: the driver does so only when it is opened."""
        lacking = answer.gone or any(card.problem for card in answer.cards)
        if not lacking or self._open is None:
            return False
        return time.monotonic() - self._open.since > REOPEN_SECONDS

    def _shut(self) -> None:
        opened, self._open = self._open, None
        if opened:
            with suppress(Exception):  # it is given up either way
                opened.ask.pynvml.nvmlShutdown()

    def _problem(self, error: Exception) -> str:
        if isinstance(error, DriverUnusableError):
            return str(error)
        code = getattr(error, "value", None)
        return _PROBLEMS.get(code or 0, f"The NVIDIA driver cannot be asked ({error}).")


def _opened(pid_exists: Callable[[int], bool]) -> _Open:
    pynvml = _module()
    pynvml.nvmlInit()
    ask = Asker(pynvml)
    around = Surroundings(pid_exists, ask("nvmlSystemGetDriverVersion"))
    version = ask.first(("nvmlSystemGetCudaDriverVersion_v2",), ("nvmlSystemGetCudaDriverVersion",))
    cuda = f"{version // 1000}.{version % 1000 // 10}" if version else None
    return _Open(ask, time.monotonic(), around, cuda, {})


def _module() -> Any:
    """The module that speaks with the driver; raise when it is missing or another's."""
    try:
        pynvml = importlib.import_module("pynvml")
    except ImportError as error:
        said = "The Python package nvidia-ml-py cannot be loaded"
        raise DriverUnusableError(f"{said} ({error}). {_SET_UP_AGAIN}") from None
    if all(hasattr(pynvml, name) for name in _NEEDED):
        return pynvml
    culprit = next(filter(_is_installed, _CULPRITS), getattr(pynvml, "__file__", "another"))
    raise DriverUnusableError(
        f"The Python package {culprit} is in the place of nvidia-ml-py, and asks the driver wrongly."
        f" {_SET_UP_AGAIN}"
    )


def _is_installed(name: str) -> bool:
    from importlib import metadata  # takes half as long to load as all the rest, and seldom needed

    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True
