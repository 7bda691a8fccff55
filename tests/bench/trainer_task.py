"""What one process of the trainer benchmark is to do, and what it answers."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Task:
    """What one process is to learn, and how."""

    clips: str
    """The folder with the clips and their list."""
    base: str
    """XTTS as its owners have it; ours takes it converted."""
    work: str
    """An empty folder of its own."""
    batch: int
    warm_steps: int
    """Not measured, before the others."""
    epochs: int
    """Measured: as many steps as it takes to go over all clips so often."""
    threads: int
    device: str
    """cpu or cuda."""
    rate: float = 1e-5
    workers: int = 0
    """Processes that load clips for Coqui's trainer."""
    mixed: bool = False
    """Coqui's own switch for mixed precision."""
    recompute: bool = False
    lora_rank: int = 0

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)))

    @staticmethod
    def read(path: Path) -> Task:
        return Task(**json.loads(path.read_text()))


@dataclass(frozen=True, slots=True)
class Found:
    """What was measured in one process."""

    clips_per_s: float
    clips_per_cpu_s: float
    """For each second of a processor, loaders included: what else runs here does not count."""
    padding: float
    """Share of the positions the network computed that no clip needs."""
    host_peak_mb: float
    gpu_peak_mb: float = 0.0
    gpu_reserved_mb: float = 0.0
    feature_s: float = 0.0
    missing: int = 0
    """Clips that an epoch left out, over all epochs."""
    twice: int = 0
    """Clips that came more than once in an epoch."""
    said: str = ""
    """What a reader should know beside the numbers."""

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)))

    @staticmethod
    def read(path: Path) -> Found:
        return Found(**json.loads(path.read_text()))
