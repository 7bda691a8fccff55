"""What every place works with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.screen import uploads
from app.speech import device
from finetune import gpu
from finetune.monitor.machine import Machine
from finetune.monitor.sampler import Sampler
from voices.speaker.speaker import Speaker
from voices.workspace import Workspace


@dataclass(frozen=True)
class Desk:
    """The studio's own things, open for as long as it runs."""

    workspace: Workspace
    sampler: Sampler
    speaker: Speaker

    @property
    def uploads(self) -> Path:
        """Where what a browser sends is kept until it is used; what stays a day is deleted."""
        return self.workspace.cache / "uploads"


@contextmanager
def desk_for(workspace: Workspace) -> Iterator[Desk]:
    """Open what a studio works with, and close it."""
    sampler = Sampler(gpu.DRIVER, Machine(workspace.root))
    with closing(device.speaker_for(workspace, "speaker.log")) as speaker:
        desk = Desk(workspace, sampler, speaker)
        uploads.sweep(desk.uploads)
        sampler.start()
        try:
            yield desk
        finally:
            sampler.stop()
