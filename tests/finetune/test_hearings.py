"""What was heard is kept stretch by stretch, and gone on with."""

from __future__ import annotations

import numpy as np
import pytest

from finetune.words import Word
from tests.stores import add_recording

FIRST = (Word(" One", 0.5, 0.9, 0.7), Word(" zwölf,", 1.0, 1.4))
SECOND = (Word(" drei.", 31.0, 31.5),)


@pytest.fixture
def hearings(project):
    add_recording(project.store, "r1")
    add_recording(project.store, "r2")
    return project.hearings


def add_first(hearings, hearing):
    levels = np.linspace(-100, 0, 3000, dtype=np.float32)
    return hearings.add(hearing, 30.0, [(0.4, 1.5)], FIRST, levels)


def add_second(hearings, hearing):
    return hearings.add(hearing, 60.0, [(30.8, 31.6)], SECOND, np.zeros(3000, np.float32))


def test_a_hearing_that_was_cut_off_goes_on_behind_its_last_stretch(hearings):
    add_first(hearings, hearings.begin("r1", "whisper", "Whisper tiny", "de"))

    found = hearings.begin("r1", "whisper", "Whisper tiny", "de")
    hearings.finish(add_second(hearings, found))

    assert found.reached == 30.0
    assert len(hearings.of("r1")) == 1
    heard = hearings.heard(found)
    assert heard.words == FIRST + SECOND
    assert heard.spans == ((0.4, 1.5), (30.8, 31.6))
    assert len(heard.levels) == 6000
    assert np.abs(heard.levels[:3000] - np.linspace(-100, 0, 3000)).max() < 0.04


def test_another_source_is_another_hearing_and_loses_nothing(hearings):
    tiny = add_first(hearings, hearings.begin("r1", "whisper", "Whisper tiny", "de"))

    base = hearings.begin("r1", "whisper", "Whisper base", "de")
    other = hearings.begin("r2", "whisper", "Whisper tiny", "de")

    assert base.reached == other.reached == 0.0
    assert hearings.heard(tiny).words == FIRST
    assert [each.source for each in hearings.of("r1")] == ["Whisper tiny", "Whisper base"]


def test_what_came_to_its_end_is_heard_again_only_when_asked(hearings):
    done = add_first(hearings, hearings.begin("r1", "whisper", "Whisper tiny", "de"))
    hearings.finish(done)

    same = hearings.begin("r1", "whisper", "Whisper tiny", "de")
    again = hearings.begin("r1", "whisper", "Whisper tiny", "de", times=2)
    going_on = hearings.begin("r1", "whisper", "Whisper tiny", "de", times=2)

    assert same.id == done.id and same.finished
    assert again.id != done.id and going_on.id == again.id


def test_the_newest_hearing_is_one_that_came_to_its_end(hearings):
    assert hearings.newest("r1") is None
    done = add_first(hearings, hearings.begin("r1", "whisper", "Whisper tiny", "de"))
    hearings.finish(done)
    hearings.begin("r1", "whisper", "Whisper base", "de")

    assert hearings.newest("r1").id == done.id
    assert hearings.newest("r1", "whisper").id == done.id
    assert hearings.newest("r1", "text", "speech") is None
