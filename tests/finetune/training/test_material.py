"""A frozen dataset as clips to learn from: what they are, in which language, and by what key."""

from __future__ import annotations

import numpy as np
import pytest
import soundfile

from engines.errors import DatasetError, NotFoundError
from finetune import projects
from finetune.datasets import Dataset, Example
from finetune.training import material
from tests import learner
from tests.stores import add_recording

RATE = 16000


@pytest.fixture(autouse=True)
def working_copies_are_there(monkeypatch):
    """Recordings here have no original: that one is decoded again is tested with importing."""
    monkeypatch.setattr(material, "make_working_again", lambda *given: None)


def record(project, name, seconds=6.0, language="en", sha256=""):
    add_recording(project.store, sha256 or name, seconds=seconds)
    recording = sha256 or name
    project.recordings.set_language(recording, language)
    ramp = np.linspace(0, 0.9, int(seconds * RATE), dtype=np.float32)
    soundfile.write(project.working_of(recording), ramp, RATE, subtype="PCM_16")
    return recording


def examples(recording, *texts, first=1):
    return tuple(
        Example(number, recording, 0.5 * place, 0.5 * place + 0.4, text)
        for place, (number, text) in enumerate(enumerate(texts, first))
    )


def of(project, train, check=(), version=1):
    project.versions.freeze(Dataset(train, check, 0))
    return material.of_project(project.folder, version, learner.ENGINE, lambda: False)


def test_each_clip_is_its_piece_of_the_recording_at_the_engines_rate(project):
    train = examples(record(project, "r1"), "One.", "Two.")

    found = of(project, train)

    clip = found.clip(train[1])
    assert (clip.text, clip.language, clip.sound.rate) == ("Two.", "en", learner.RATE)
    assert clip.sound.seconds == pytest.approx(0.4, abs=0.001)
    assert float(clip.sound.samples[0]) == pytest.approx(0.9 * 0.5 / 6, abs=0.01)


def test_clips_to_learn_from_and_to_check_with_stay_apart(project):
    recording = record(project, "r1")
    train, check = examples(recording, "One.", "Two."), examples(recording, "Three.", first=3)

    found = of(project, train, check)

    assert (found.train, found.check) == (train, check)


def test_a_clip_is_named_by_its_number_and_how_it_begins(project):
    found = of(project, examples(record(project, "r1"), "Hello there.", first=12))

    [source] = found.sources(found.train)

    assert source.name == "clip 12 “Hello there.”"
    assert source.load().text == "Hello there."


def test_the_key_of_a_clip_is_what_it_is_wherever_it_lies(project, workspace):
    train = examples(record(project, "r1", sha256="a" * 64), "One.")
    here = of(project, train)
    item = projects.create(workspace, "Tom")
    with projects.open_project(projects.folder_of(workspace, item)) as other:
        there = of(other, examples(record(other, "r1", sha256="a" * 64), "One.", first=77))

    assert [each.key for each in here.sources(here.train)] == [
        each.key for each in there.sources(there.train)
    ]


def test_whatever_changes_a_clip_changes_its_key(project):
    one, other = record(project, "r1"), record(project, "r2", language="de")
    base = Example(1, one, 0.0, 0.4, "One.")
    found = of(
        project,
        (
            base,
            Example(2, one, 0.1, 0.4, "One."),
            Example(3, one, 0.0, 0.5, "One."),
            Example(4, one, 0.0, 0.4, "Two."),
            Example(5, other, 0.0, 0.4, "One."),
        ),
    )

    keys = [each.key for each in found.sources(found.train)]

    assert len(set(keys)) == 5


def test_the_language_is_what_is_spoken_in_most_of_it(project):
    little, much = record(project, "r1", language="de"), record(project, "r2", language="fr")
    train = (Example(1, little, 0, 2, "Eins."), Example(2, much, 0, 3, "Un."))

    assert of(project, train).language == "fr"


def test_a_version_without_clips_to_learn_from_is_refused(project):
    check = examples(record(project, "r1"), "One.")

    with pytest.raises(DatasetError, match="version 1 has no clips to learn from"):
        of(project, (), check)


def test_a_version_that_is_not_there_is_named(project):
    with pytest.raises(NotFoundError, match="no version 3"):
        of(project, examples(record(project, "r1"), "One."), version=3)
