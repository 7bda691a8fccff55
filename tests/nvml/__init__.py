"""An NVIDIA driver that is none: the real pynvml asks it, and a file says what it answers."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pynvml

SOURCE = Path(__file__).with_name("stand_in.c")
NAME = "libnvidia-ml.so.1"
MIB = 2**20

Answers = Mapping[str, object]


class NoCompilerError(Exception):
    """Nothing here makes a library of the stand-in."""


def build(folder: Path) -> Path:
    """Make the library."""
    compiler = shutil.which("cc")
    if compiler is None or os.name != "posix":
        raise NoCompilerError("there is no C compiler (cc) to make the stand-in driver with")
    library = folder / NAME
    flags = ["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([compiler, *flags, "-o", library, SOURCE], check=True)
    return library


def card(index: int, **others: object) -> dict[str, object]:
    """What a healthy GPU of 12 GiB answers: 2 GiB used, 0.5 GiB reserved. None leaves one out."""
    answers = {
        "name": "NVIDIA GeForce RTX 4070",
        "uuid": f"GPU-{index}",
        "capability": "8.9",
        "memory_v2": f"{12288 * MIB} {2048 * MIB} {9728 * MIB} {512 * MIB}",
        "memory": f"{12288 * MIB} {2560 * MIB} {9728 * MIB}",
        "busy": 97,
        "temperature": 61,
        "power": 180_500,
        "power_limit": 200_000,
        "clock": 2475,
        "memory_clock": 10501,
        "pcie_generation": 4,
        "pcie_lanes": 16,
        "sent": 12_000,
        "received": 340_000,
        "mig": "!3",
        "processes": "",
        "drawing": "",
    } | others
    return {f"{index}.{key}": value for key, value in answers.items() if value is not None}


def driver(*cards: Answers, **others: object) -> dict[str, object]:
    """What a healthy driver answers, with what these cards do."""
    said: dict[str, object] = {"driver": "570.124.06", "cuda": 12080, "count": len(cards)}
    return said | {key: value for each in cards for key, value in each.items()} | others


class StandIn:
    """The library, the file that it answers by, and what it does not have."""

    def __init__(self, library: Path, path: Path) -> None:
        self.library = library
        self.path = path
        self.hidden: frozenset[str] = frozenset()
        """Functions that an older driver does not have."""
        self.answer({"init": "!9"})

    def answer(self, answers: Answers) -> None:
        """From now on, answer so."""
        beside = self.path.with_suffix(".new")
        lines = (f"{key} {value}" for key, value in answers.items())
        beside.write_bytes("\n".join([*lines, ""]).encode("utf-8", "surrogateescape"))
        beside.replace(self.path)

    def hide(self, *functions: str) -> None:
        """Be an older driver, that does not have these."""
        self.hidden = frozenset(functions)
        pynvml._nvmlGetFunctionPointer_cache.clear()

    def __getattr__(self, name: str) -> object:
        if name in self.hidden:
            raise AttributeError(name)
        return getattr(ctypes.CDLL(str(self.library)), name)


@contextmanager
def in_place_of_the_driver(library: Path, path: Path) -> Iterator[StandIn]:
    """Let pynvml find the stand-in where it looks for the driver's library."""
    stand_in = StandIn(library, path)
    before = {name: getattr(pynvml, name) for name in ("CDLL", "nvmlLib")}
    os.environ["NVML_STAND_IN"] = str(path)
    pynvml.CDLL, pynvml.nvmlLib = (lambda name: stand_in), None
    pynvml._nvmlGetFunctionPointer_cache.clear()
    try:
        yield stand_in
    finally:
        del os.environ["NVML_STAND_IN"]
        pynvml.CDLL, pynvml.nvmlLib = before["CDLL"], before["nvmlLib"]
        pynvml._nvmlGetFunctionPointer_cache.clear()
