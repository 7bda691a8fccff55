"""A frozen dataset never changes."""

from __future__ import annotations

import pytest

from engines.errors import NotFoundError
from finetune.datasets import Dataset, Example

ONE = Example(1, "r", 0.0, 2.5, "Eins | «zwei»\nlinks")
TWO = Example(2, "r", 3.0, 4.5, "two")


def test_each_version_is_read_back_as_it_was_frozen(project):
    first, second = Dataset((ONE,), (TWO,), 7), Dataset((TWO,), (ONE,), 8)
    project.versions.freeze(first, "the beginning")

    project.versions.freeze(second)

    assert project.versions.numbers() == [1, 2]
    assert project.versions.find(1).dataset == first
    assert project.versions.find(1).note == "the beginning"
    assert project.versions.newest().dataset == second


def test_freezing_the_same_again_is_no_new_version(project):
    dataset = Dataset((ONE,), (TWO,), 7)
    project.versions.freeze(dataset)

    assert project.versions.freeze(dataset).number == 1
    assert project.versions.numbers() == [1]


def test_a_version_that_is_not_there_tells_which_are(project):
    with pytest.raises(NotFoundError, match="none yet"):
        project.versions.find(1)
    project.versions.freeze(Dataset((ONE,), (TWO,), 7))

    with pytest.raises(NotFoundError, match="Versions there are: 1"):
        project.versions.find(3)
