"""A project's store for the tests, with recordings that have no sound behind them."""

from __future__ import annotations

from pathlib import Path

from finetune.media.decoded import Decoded
from finetune.media.levels import Levels
from finetune.recordings import Recording, Recordings
from finetune.schema import open_store
from finetune.transcript import Transcript
from voices.database import Database

LEVELS = Levels(-3.0, 0.0, -20.0, -22.0, -60.0, -20.0, 0.2, 0.0, 8000.0)


class OpenTranscript(Transcript):
    """A transcript that closes the store it was opened with."""

    def __init__(self, path: Path) -> None:
        self.store: Database = open_store(path)
        super().__init__(self.store)

    def add_recording(self, recording_id: str, name: str, seconds: float) -> Recording:
        return add_recording(self.store, recording_id, name, seconds)

    def close(self) -> None:
        self.store.close()


def decoded(seconds: float) -> Decoded:
    return Decoded(seconds, 16000, 16000, 1, "wav", "pcm_s16le", LEVELS, 0.0, ())


def add_recording(
    store: Database, recording_id: str, name: str = "One.wav", seconds: float = 60.0
) -> Recording:
    """Register a recording; its id stands for its content."""
    return Recordings(store).add(
        recording_id, name, recording_id, f"{recording_id}.wav", decoded(seconds)
    )
