"""voices/speaking/formats.py on a disk that fails at each of its operations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from engines.base import Sound
from tests.faults import (
    Outcome,
    Scenario,
    acknowledge,
    assert_told,
    enumerate_faults,
    needs_linux,
)
from voices import files
from voices.speaking.formats import write

pytestmark = needs_linux
COUNT = 4000


class WriteSpeech(Scenario):
    """A file that is there is whole; while it could not be written, the old one stays."""

    name = "speech.flac"

    def prepare(self, folder: Path) -> None:
        (folder / self.name).write_bytes(b"old")

    def act(self, folder: Path) -> None:
        samples = np.sin(np.arange(COUNT) / 5).astype(np.float32) * 0.3
        write(folder / self.name, [Sound(samples, 16000)])
        acknowledge("written")

    def check(self, folder: Path, outcome: Outcome) -> None:
        assert_told(outcome)
        if outcome.kind == "raised" and outcome.was_full:
            assert outcome.is_a("DiskFullError"), f"{outcome} does not say that the disk is full"
        files.sweep(folder)
        assert [path.name for path in folder.iterdir()] == [self.name]
        if (folder / self.name).read_bytes() == b"old":
            assert not outcome.acknowledged, "the file the user saw is gone"
        else:
            assert soundfile.info(folder / self.name).frames == COUNT


class WriteMp3(WriteSpeech):
    name = "speech.mp3"


@pytest.mark.parametrize("scenario", [WriteSpeech, WriteMp3])
def test_whatever_fails_and_whenever_a_file_of_speech_is_whole_or_as_it_was(scenario, tmp_path):
    enumerate_faults(scenario, tmp_path)
