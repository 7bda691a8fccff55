"""Where voices speak: on a GPU that nobody else needs, else on the processor."""

from __future__ import annotations

from collections.abc import Iterable

from finetune import gpu
from finetune.gpu import Gpus
from finetune.jobs import queue
from finetune.jobs.queue import Job
from voices.speaker.speaker import Speaker
from voices.workspace import Workspace

NEEDS_MIB = 4096
"""XTTS takes 1.9 GB for its weights, CUDA half of one, and a long sentence the rest."""


def chosen(gpus: Gpus, training: bool, speaker_pid: int | None = None) -> str:
    """
    Choose where to speak; what the speaker has on the card already is no reason to leave it.

    The first card is meant, which is the one that CUDA calls "cuda".
    """
    card = next(iter(gpus.cards), None)
    if training or card is None or card.free_mib is None:
        return "cpu"
    own = (card.held_mib or {}).get(speaker_pid or 0) or 0
    return "cuda" if card.free_mib + own >= NEEDS_MIB else "cpu"


def needs_gpu(jobs: Iterable[Job]) -> bool:
    """Whether one of these runs on a GPU or waits for it."""
    return any(job.state != "ended" and job.request.needs.startswith("gpu") for job in jobs)


def wanted_elsewhere(workspace: Workspace) -> bool:
    return needs_gpu(queue.jobs(workspace, ended=0))


def speaker_for(workspace: Workspace, log: str) -> Speaker:
    """What speaks with the voices of a workspace; it makes room when a training wants the GPU."""
    return Speaker(workspace.cache / log, wanted_elsewhere=lambda: wanted_elsewhere(workspace))


def for_speaking(workspace: Workspace, speaker_pid: int | None) -> str:
    """Where to speak now."""
    gpus = gpu.read()
    return chosen(gpus, bool(gpus.cards) and wanted_elsewhere(workspace), speaker_pid)
