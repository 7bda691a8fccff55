"""How far the download of a Whisper is, told from its first moment."""

from __future__ import annotations

import pytest

from finetune.hearing import listening, models
from finetune.jobs.events import Progress
from finetune.jobs.worker import StopWork
from finetune.settings import HearSettings


def test_a_download_is_told_before_the_first_byte_has_come_and_then_by_its_bytes(
    tmp_path, monkeypatch
):
    said, known = [], []

    def fetch(name, folder, progress, stop):
        known.extend(said)
        progress(30_000_000, 75_000_000)
        progress(75_000_000, 75_000_000)
        raise StopWork("Stopped.")

    monkeypatch.setattr(models, "fetch", fetch)

    with pytest.raises(StopWork):
        listening.load("small", tmp_path, HearSettings(), True, said.append, lambda: False)

    [begun] = [each for each in known if isinstance(each, Progress)]
    size = models.model_of("small").size_mb
    assert (begun.done, begun.total, begun.unit) == (0, size, "MB downloaded")
    last = said[-1]
    assert (last.done, last.total, last.unit) == (75, 75, "MB downloaded")
