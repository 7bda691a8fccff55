"""finetune/importing.py on a disk that fails at each of its operations, and that loses its power."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar
from unittest.mock import patch

import pytest

from finetune import importing
from finetune.importing import Brought, Source, bring_in, clear_up
from finetune.media.decode import Progress, Stop
from finetune.media.decoded import Decoded
from finetune.projects import Project, open_project
from finetune.recordings import Recording, Recordings
from finetune.schema import open_store
from tests.faults import (
    Outcome,
    Scenario,
    acknowledge,
    assert_told,
    enumerate_faults,
    enumerate_power_loss,
    needs_linux,
)
from tests.stores import decoded
from voices import files

pytestmark = needs_linux

TALK = b"what came from the stick " * 50


class BringIn(Scenario):
    """A recording that is listed has both its copies, and one that is not can come in again."""

    def prepare(self, folder: Path) -> None:
        for name in ("recordings", "working"):
            (folder / name).mkdir()
        open_store(folder / "project.db").close()
        (folder / "talk.wav").write_bytes(TALK)

    def act(self, folder: Path) -> None:
        with opened(folder) as project:
            brought = bring(project, folder / "talk.wav")
            assert brought.recording
            acknowledge(brought.recording.id)

    def check(self, folder: Path, outcome: Outcome) -> None:
        assert_told(outcome)
        with opened(folder) as project:
            listed = [each.id for each in project.recordings.all()]
            assert set(outcome.acknowledged) <= {*listed}, "the recording the user saw is gone"
            # What a process had no time to remove is one original, and maybe its working copy.
            orphans = 0 if outcome.done else 1
            assert_whole(project, orphans)
            brought = bring(project, folder / "talk.wav")
            assert brought.known == bool(listed) and brought.recording
            assert project.recordings.all() == [brought.recording]
            assert_whole(project, orphans)


class BringInAndDie(BringIn):
    """What failed is not put in order either: a store may find in its log what it said it lost."""

    held: ClassVar[list[Project]] = []

    def act(self, folder: Path) -> None:
        project = Project(folder, open_store(folder / "project.db"))
        self.held.append(project)  # or it would be closed when it is forgotten
        with patch.object(importing, "decode", stand_in):
            brought = bring(project, folder / "talk.wav")
        assert brought.recording
        acknowledge(brought.recording.id)


class BringInTwiceAtOnce(BringIn):
    """While one import decodes, another one brings the same content in."""

    def act(self, folder: Path) -> None:
        def slowly(*order: object) -> Decoded:
            with patch.object(importing, "decode", stand_in):
                bring(project, folder / "talk.wav")
            return stand_in(*order)  # type: ignore[arg-type]

        with opened(folder) as project, patch.object(importing, "decode", slowly):
            brought = bring(project, folder / "talk.wav")
            assert brought.known and brought.recording
            acknowledge(brought.recording.id)


@contextmanager
def opened(folder: Path) -> Iterator[Project]:
    with open_project(folder) as project, patch.object(importing, "decode", stand_in):
        yield project


def stand_in(source: Path, target: Path, progress: Progress, stop: Stop) -> Decoded:
    """Write a working copy as the decoder does, but in this process, where the disk fails."""
    with files.new_file(target) as file:
        file.write(worked_on(source.read_bytes()))
    return decoded(3.0)


def worked_on(original: bytes) -> bytes:
    return hashlib.sha256(original).digest() * 20


def bring(project: Project, path: Path) -> Brought:
    return bring_in(project, Source(path, path.name), lambda done, total: None, lambda: False)


def assert_whole(project: Project, at_most_orphans: int) -> None:
    """Each recording has both copies; of those nobody knows there are no more than so many."""
    recordings = project.recordings.all()
    for recording in recordings:
        assert_kept(project, recording)
    clear_up(project)
    there = {*project.originals.iterdir(), *project.working.iterdir()}
    known = {project.original_of(each) for each in recordings}
    known |= {project.working_of(each.id) for each in recordings}
    assert known <= there, "a copy that belongs to a recording was removed"
    orphans = there - known
    assert not any(path.name.startswith(".tmp-") for path in orphans)
    assert len({path.stem for path in orphans}) <= at_most_orphans, sorted(orphans)
    lone = [path for path in orphans if path.parent == project.working]
    assert {path.stem for path in lone} <= {path.stem for path in orphans - {*lone}}


def assert_kept(project: Project, recording: Recording) -> None:
    assert project.original_of(recording).read_bytes() == TALK
    assert recording.sha256 == hashlib.sha256(TALK).hexdigest()
    assert project.working_of(recording.id).read_bytes() == worked_on(TALK)


@pytest.mark.parametrize("scenario", [BringIn, BringInAndDie, BringInTwiceAtOnce])
def test_whatever_fails_and_whenever_a_recording_is_in_whole_or_not_at_all(scenario, tmp_path):
    enumerate_faults(scenario, tmp_path)


@pytest.mark.parametrize("scenario", [BringIn, BringInTwiceAtOnce])
def test_whenever_the_power_goes_a_recording_is_in_whole_or_not_at_all(scenario, tmp_path):
    enumerate_power_loss(scenario, tmp_path)


@pytest.fixture
def stick(tmp_path):
    """A project, and a file to bring in."""
    BringIn().prepare(tmp_path)
    return tmp_path


def test_a_failure_after_both_copies_have_their_names_leaves_neither(stick, monkeypatch):
    synced = files.sync_folder

    def breaks(path: Path) -> None:
        synced(path)
        if path.name == "recordings":
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(files, "sync_folder", breaks)
    with opened(stick) as project, pytest.raises(OSError, match="Input"):
        bring(project, stick / "talk.wav")

    assert [*project.originals.iterdir(), *project.working.iterdir()] == []


def test_clearing_up_takes_nothing_from_an_import_that_is_at_work(stick, monkeypatch):
    add = Recordings.add
    with opened(stick) as project:

        def decode(*order: object) -> Decoded:
            found = stand_in(*order)  # type: ignore[arg-type]
            clear_up(project)
            return found

        def added(self: Recordings, *facts: object) -> Recording:
            clear_up(project)
            return add(self, *facts)  # type: ignore[arg-type]

        monkeypatch.setattr(Recordings, "add", added)
        # Not by monkeypatch: it ends after `opened`, and would put the stand-in back for all tests.
        with patch.object(importing, "decode", decode):
            brought = bring(project, stick / "talk.wav")

        assert project.recordings.all() == [brought.recording]
        assert_kept(project, brought.recording)


def test_clearing_up_keeps_an_original_that_no_list_knows_and_all_that_is_not_a_copy(stick):
    with opened(stick) as project:
        brought = bring(project, stick / "talk.wav").recording
        kept = [project.originals / "0123456789ab.wav", project.working / "0123456789ab.flac",
                project.working / "notes.flac", project.working / "fedcba987654.peaks"]  # fmt: skip
        gone = [project.working / "fedcba987654.flac", project.working / ".tmp-999999999-ab"]
        for path in (*kept, *gone):
            path.write_bytes(b"x")
        project.original_of(brought).unlink()  # a person made room

        clear_up(project)

        there = {*project.originals.iterdir(), *project.working.iterdir()}
        assert there == {*kept, project.working_of(brought.id)}
