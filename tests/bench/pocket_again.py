"""The base made again, very small: twice whole, and once killed on its way and started again."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from engines.pocket.facts import WEIGHTS
from engines.pocket.pretrain.teachers import PACKAGES
from tests.bench.record import CannotMeasure

SENTENCES, STEPS, SAVE_EVERY = 60, 12, 4
_ROOT = Path(__file__).parents[2]
_PATIENCE_S = 900.0
_LOOK_S = 0.02
_TOLD_OF_FAILURE = 1500


@dataclass(frozen=True, slots=True)
class Killed:
    """A making that was killed and went on."""

    sha256: str
    kills: int
    """Those that came where they were meant to."""


def whole(folder: Path) -> str:
    """Make a base in one go: the SHA-256 of its weights."""
    log = folder.with_suffix(".log")
    process = _begin(folder, log)
    try:
        code = process.wait(_PATIENCE_S)
    finally:
        _kill(process)
    if code:
        said = log.read_text(errors="replace")[-_TOLD_OF_FAILURE:]
        raise CannotMeasure(
            f"the base could not be made. It needs, on Debian, {PACKAGES}. It said:\n{said}"
        )
    return hashlib.sha256((folder / "base" / WEIGHTS).read_bytes()).hexdigest()


def killed(folder: Path) -> Killed:
    """Kill everything that makes a base, at each of the moments, and start it again."""
    kills = sum(_killed_when(moment, folder) for moment in MOMENTS)
    return Killed(whole(folder), kills)


def _killed_when(moment: Callable[[Path], bool], folder: Path) -> bool:
    process = _begin(folder, folder.with_suffix(".log"))
    deadline = time.monotonic() + _PATIENCE_S
    while process.poll() is None and time.monotonic() < deadline and not moment(folder):
        time.sleep(_LOOK_S)
    _kill(process)
    return moment(folder)


# ---- When it is killed ----


def _in_the_middle(folder: Path) -> bool:
    """The acoustic network was saved on its way and is not done."""
    return 0 < _saved_steps(folder, "acoustic") < STEPS


def _between_two(folder: Path) -> bool:
    """The vocoder has done its first course and has saved nothing of its second."""
    first, second = (_saved_steps(folder, f"vocoder-{name}") for name in ("close", "keen"))
    return first == STEPS and second == 0


MOMENTS = (_in_the_middle, _between_two)


def _saved_steps(folder: Path, course: str) -> int:
    import torch

    path = folder / f"{course}.learning"
    return int(torch.load(path, weights_only=True)["done"]) if path.exists() else 0


# ---- Processes ----


def _begin(folder: Path, log: Path) -> subprocess.Popen[bytes]:
    if os.name != "posix":
        raise CannotMeasure("a base is made on Linux, where the synthesisers that teach it are.")
    steps = [f"--{name}-steps={STEPS}" for name in ("aligner", "acoustic", "close", "keen")]
    with log.open("ab") as out:
        return subprocess.Popen(
            [
                *(sys.executable, "-m", "engines.pocket.pretrain", str(folder)),
                *(f"--sentences={SENTENCES}", f"--save-every={SAVE_EVERY}", *steps),
            ],
            cwd=_ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True,
        )  # fmt: skip


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End all that it started: they are of its group, which is its own."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
