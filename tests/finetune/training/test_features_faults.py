"""finetune/training/features.py on a disk that fails at each of its operations, or loses power."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from engines.base import Clip, Features, Sound
from finetune.jobs.worker import StopWork
from finetune.training import features
from finetune.training.features import Source, Store, gather
from tests.faults import (
    Outcome,
    Scenario,
    acknowledge,
    assert_told,
    enumerate_faults,
    enumerate_power_loss,
    needs_linux,
)

pytestmark = needs_linux

CLIPS = 3 * features.BATCH
# Of each kind one that lasts or one that passes: processes with torch in them are slow to fork.
FAULTS = (
    "no space from here on",
    "an I/O error, once",
    "the process ends",
    "the process ends in the middle",
    "half a write, and no error",
)


class Counting:
    """An engine whose features are the number of a clip, told in several ways."""

    features_version = "1"
    made = 0

    def problem(self, clip: Clip) -> str:
        return ""

    def features(self, clips: Sequence[Clip]) -> list[Features]:
        self.made += len(clips)
        return [numbers(int(clip.text)) for clip in clips]

    def length(self, clip: Features) -> int:
        return len(clip["many"])


def numbers(number: int) -> Features:
    return {"many": np.full(number, number, np.int32), "one": np.array(number, np.int16)}


class GatherFeatures(Scenario):
    """Whatever happens, gathering again gives the features of every clip, from one file."""

    def prepare(self, folder: Path) -> None:
        """Some clips are known from another dataset, some from a try that was stopped."""
        stops = iter([False, True])
        gathered(folder, range(5))
        with pytest.raises(StopWork):
            gathered(folder, range(20), lambda: next(stops))

    def act(self, folder: Path) -> None:
        features.PIECE_SECONDS = 0  # in this process only: every batch is a piece
        gathered(folder, range(CLIPS))
        acknowledge("gathered")

    def check(self, folder: Path, outcome: Outcome) -> None:
        assert_told(outcome)
        if outcome.kind == "raised" and outcome.was_full:
            assert outcome.is_a("DiskFullError"), f"{outcome} does not say that the disk is full"
        engine = Counting()
        store = gathered(folder, range(CLIPS), engine=engine)
        assert [told(store, number) for number in range(CLIPS)] == list(range(CLIPS))
        assert store.lengths == tuple(range(CLIPS))
        if outcome.acknowledged:
            assert engine.made == 0, "what was kept is gone"
        assert engine.made <= CLIPS - 5, "what another dataset has is gone"
        left = [path.name for path in (folder / "cache").rglob("*") if path.is_file()]
        assert [name for name in left if name.startswith("part-")] == []
        assert len(left) == 2 or not engine.made, left


def gathered(folder: Path, wanted, stop=lambda: False, engine=None) -> Store:
    clips = [Source(f"key {number}", f"clip {number}", loader(number)) for number in wanted]
    place = folder / "cache" / "features"
    return gather(engine or Counting(), clips, place, lambda event: None, stop)


def loader(number: int):
    return lambda: Clip(Sound(np.zeros(number, np.float32), 16000), str(number), "en")


def told(store: Store, index: int) -> int:
    clip = store[index]
    assert (clip["many"].numpy() == numbers(index)["many"]).all()
    return int(clip["one"])


def test_whatever_fails_and_whenever_gathering_again_gives_the_same_features(tmp_path):
    tried = enumerate_faults(GatherFeatures, tmp_path, FAULTS)

    assert tried.endings.keys() >= {"done", "exited", "DiskFullError", "OSError"}


def test_whenever_the_power_goes_gathering_again_gives_the_same_features(tmp_path):
    enumerate_power_loss(GatherFeatures, tmp_path)
