"""A module of ours, run in a process of its own and looked after until it ends."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

_LOOKS_SECONDS = 0.2


def run(
    module: str, given: Sequence[str], meanwhile: Callable[[], None]
) -> subprocess.CompletedProcess[str]:
    """
    Run a module to its end and give what it said.

    `meanwhile` is called several times a second; what it raises ends the process, and all it began.
    """
    argv = [sys.executable, "-X", "utf8", "-m", module, *given]
    with subprocess.Popen(
        argv,
        cwd=Path(__file__).parents[1],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
        creationflags=_no_window(),
    ) as process:
        try:
            while True:
                with suppress(subprocess.TimeoutExpired):
                    said, complained = process.communicate(timeout=_LOOKS_SECONDS)
                    return subprocess.CompletedProcess(argv, process.returncode, said, complained)
                meanwhile()
        except BaseException:
            _end(process.pid)
            raise


def _end(pid: int) -> None:
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        for each in (*process.children(recursive=True), process):
            with suppress(psutil.Error):
                each.kill()


def _no_window() -> int:
    if sys.platform == "win32":
        return subprocess.CREATE_NO_WINDOW
    return 0
