"""What a figure was measured on: the parts that matter for speed, nothing about whose it is."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import psutil

from finetune import gpu


@dataclass(frozen=True, slots=True)
class Machine:
    cpu: str
    cores: int
    """Those this process may use."""
    ram_gb: float
    os: str
    python: str
    gpus: tuple[str, ...] = ()

    def in_words(self) -> str:
        """One line for a table."""
        cards = [", ".join(self.gpus)] if self.gpus else []
        parts = [self.cpu, f"{self.cores} cores", f"{self.ram_gb:.0f} GB RAM", *cards]
        return ", ".join([*parts, self.os, f"Python {self.python}"])


def this() -> Machine:
    """Describe the machine this runs on."""
    return Machine(
        cpu=_cpu(),
        cores=_cores(),
        ram_gb=round(psutil.virtual_memory().total / 1e9, 1),
        os=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        gpus=tuple(card.name or "unknown GPU" for card in gpu.read().cards),
    )


def _cores() -> int:
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cpu() -> str:
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    if sys.platform == "darwin":
        asked = ["sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    return platform.processor() or platform.machine()
