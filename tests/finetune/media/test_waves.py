"""Outlines of recordings: made in the background, kept, and never waited for."""

from __future__ import annotations

import shutil
import threading
import time

import numpy as np
import pytest
import soundfile

from finetune.media.waves import POINTS, Waves
from voices.comparing import peaks
from voices.comparing.peaks import outline


@pytest.fixture
def waves(tmp_path):
    return Waves(tmp_path / "cache" / "waves")


@pytest.fixture
def working(tmp_path):
    path = tmp_path / "a.flac"
    ramp = np.linspace(0, 0.9, 48_000, dtype=np.float32)
    soundfile.write(path, ramp * np.sin(np.arange(48_000) / 5), 16_000)
    return path


def made(waves, recording_id, working, seconds=10):
    deadline = time.monotonic() + seconds
    while not waves.is_there(recording_id, working):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return np.frombuffer(waves.path(recording_id).read_bytes(), np.int8).reshape(-1, 2)


def test_an_outline_has_the_lowest_and_highest_of_each_stretch(waves, working):
    found = made(waves, "x", working)

    assert found.shape == (POINTS, 2)
    assert (found[:, 0] <= found[:, 1]).all()
    assert found[-1, 1] == pytest.approx(0.9 * 127, abs=2) and abs(found[0]).max() <= 2


def test_nothing_is_waited_for(waves, working, monkeypatch):
    go_on = threading.Event()

    def drawn(*asked):
        assert go_on.wait(20)
        return outline(*asked)

    monkeypatch.setattr(peaks, "outline", drawn)

    assert not waves.is_there("x", working) and not waves.is_there("x", working)
    go_on.set()
    made(waves, "x", working)


def test_a_broken_copy_has_no_outline_and_the_next_one_has(waves, working, tmp_path):
    broken = tmp_path / "broken.flac"
    broken.write_bytes(b"nothing")

    assert not waves.is_there("broken", broken)
    made(waves, "whole", working)

    assert not waves.is_there("broken", broken)


def test_an_outline_that_was_deleted_with_the_cache_is_made_again(waves, working):
    before = made(waves, "x", working)
    shutil.rmtree(waves.path("x").parent)

    assert (made(waves, "x", working) == before).all()


def test_the_thread_ends_when_there_is_nothing_to_draw(waves, working):
    made(waves, "x", working)

    deadline = time.monotonic() + 5
    while any(each.name == "waves" for each in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    made(waves, "y", working)
