"""The table of recordings gives back what was put in."""

from __future__ import annotations

import sqlite3

import pytest

from engines.errors import NotFoundError
from tests.stores import add_recording, decoded


def test_a_recording_is_read_back_as_it_was_added(project):
    add_recording(project.store, "b", "zweite.wav", 60.0)
    added = add_recording(project.store, "a", "day 1/erste.mp3", 12.5)

    assert [each.id for each in project.recordings.all()] == ["b", "a"]
    assert project.recordings.find("a") == added
    assert added.decoded == decoded(12.5) and added.seconds == 12.5


def test_one_content_is_one_recording(project):
    added = add_recording(project.store, "a")

    with pytest.raises(sqlite3.IntegrityError):
        project.recordings.add("b", "copy.wav", added.sha256, "b.wav", added.decoded)

    assert project.recordings.with_content(added.sha256) == added
    assert project.recordings.with_content("other") is None


def test_a_language_is_kept(project):
    add_recording(project.store, "a")

    project.recordings.set_language("a", "de")

    assert project.recordings.find("a").language == "de"


def test_a_recording_that_is_not_there_is_a_sentence(project):
    with pytest.raises(NotFoundError, match="no recording nothing"):
        project.recordings.find("nothing")


def test_what_is_in_the_trash_is_not_listed_and_comes_back(project):
    for each in ("a", "b"):
        add_recording(project.store, each)

    project.recordings.trash("a")
    project.recordings.trash("a")

    assert [each.id for each in project.recordings.all()] == ["b"]
    assert [(each.id, each.trashed) for each in project.recordings.ever()] == [
        ("a", True),
        ("b", False),
    ]
    assert project.recordings.find("a").trashed
    project.recordings.trash("a", False)
    assert [each.id for each in project.recordings.all()] == ["a", "b"]
