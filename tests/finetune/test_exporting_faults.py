"""finetune/exporting.py on a disk that fails at each of its operations, and that loses its power."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import soundfile

from finetune.datasets import Dataset, Example
from finetune.exporting import ExportSettings, export
from tests.faults import (
    Outcome,
    Scenario,
    acknowledge,
    assert_told,
    enumerate_faults,
    enumerate_power_loss,
    needs_linux,
)
from voices.files import check_folder

pytestmark = needs_linux


class ExportDataset(Scenario):
    """An export that is there is whole; one that is not can be made again."""

    def prepare(self, folder: Path) -> None:
        soundfile.write(folder / "r.flac", np.zeros(16000, np.int16), 16000)

    def act(self, folder: Path) -> None:
        self.export(folder)
        acknowledge("out")

    def export(self, folder: Path) -> None:
        data = Dataset((Example(1, "r", 0, 0.1, "one"),), (Example(2, "r", 0.5, 0.6, "two"),), 1)
        wish = ExportSettings("xtts")
        export(data, lambda name: folder / "r.flac", wish, folder / "out",
               lambda done, total: None, lambda: False)  # fmt: skip

    def check(self, folder: Path, outcome: Outcome) -> None:
        assert_told(outcome)
        if not (folder / "out").exists():
            assert not outcome.acknowledged, "the export the user saw is gone"
            self.export(folder)
        check_folder(folder / "out")
        assert len(list((folder / "out" / "wavs").iterdir())) == 2


def test_whatever_fails_and_whenever_an_export_that_is_there_is_whole(tmp_path):
    enumerate_faults(ExportDataset, tmp_path)


def test_whenever_the_power_goes_an_export_that_is_there_is_whole(tmp_path):
    enumerate_power_loss(ExportDataset, tmp_path)
