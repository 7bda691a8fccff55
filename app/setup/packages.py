"""Which packages this machine gets, read from the lock files."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Literal

# The first NVIDIA driver that runs CUDA 13, which the default torch wheels for Linux are built for.
OLDEST_CUDA_13_DRIVER = 580

# What only comes along with torch. nvidia-ml-py does not: it asks the driver, whatever torch is.
_TORCH_PARTS = re.compile(r"torch$|torchaudio$|triton|cuda-|nvidia-(?!ml-py)")


def torch_backend(system: str, nvidia_driver: int | None) -> Literal["auto"] | None:
    """Whether uv looks for the torch build that fits; None takes the one in the lock."""
    if system == "Windows":
        return "auto"  # the default wheel has no CUDA there
    if system == "Linux" and nvidia_driver is not None and nvidia_driver < OLDEST_CUDA_13_DRIVER:
        return "auto"
    return None


def nvidia_driver(version_file: str) -> int | None:
    """The driver's major version, from the text of /proc/driver/nvidia/version."""
    found = re.search(r"Kernel Module(?: for \S+)?\s+(\d+)\.", version_file)
    return int(found.group(1)) if found else None


def pins(lock: str, names: Collection[str]) -> list[str]:
    """The lock's "name==version" of each of these packages."""
    return [entry.split()[0] for entry in entries(lock) if _name(entry) in names]


def without_torch(lock: str) -> str:
    """The lock without torch and what comes along with it."""
    return "".join(entry for entry in entries(lock) if not _TORCH_PARTS.match(_name(entry)))


def entries(lock: str) -> Iterator[str]:
    """Each package of a lock with its hashes; they stand indented under its name."""
    for found in re.finditer(r"^[a-z0-9].*\n(?:[ \t].*\n?)*", lock, re.MULTILINE):
        yield found.group()


def gigabytes(system: str) -> int:
    """About how much an installation writes: CUDA is two thirds of it, and macOS has none."""
    return 2 if system == "Darwin" else 7


def _name(entry: str) -> str:
    return entry.partition("==")[0]
