"""A job's folder as others leave wishes in it and read how far it is."""

from __future__ import annotations

import pytest

from finetune.jobs.events import Progress, Said, to_line
from finetune.jobs.folder import JobFolder
from tests.jobs_at_work import request
from tests.trainee import step_event
from voices import names


@pytest.fixture
def folder(tmp_path):
    made = JobFolder(tmp_path / names.new_id())
    made.write_request(request("count", 1))
    return made


def test_a_wish_is_there_until_it_is_answered_and_can_be_left_again(folder):
    assert not folder.asked("save")

    folder.ask("save")
    folder.ask("save")

    assert folder.asked("save") and not folder.asked("sample") and not folder.stop_asked()
    folder.answered("save")
    folder.answered("save")
    assert not folder.asked("save")
    folder.ask("save")
    assert folder.asked("save")


def test_a_wish_to_stop_is_one_of_the_wishes(folder):
    folder.ask_to_stop()

    assert folder.asked("stop")


def test_how_far_it_is_is_its_newest_progress_or_step(folder):
    said = [Progress(1, 4, "clips prepared"), step_event(3, 9), Said("A word.")]
    folder.events_path.write_text("".join(f"{to_line(each)}\n" for each in said))

    assert folder.progress() == Progress(3, 9, "steps", 9.0)
    with folder.events_path.open("a") as file:
        file.write(f"{to_line(Progress(2, 4, 'clips checked'))}\n")
    assert folder.progress() == Progress(2, 4, "clips checked")


def test_a_part_that_is_done_is_not_how_far_it_is_once_something_else_was_said(folder):
    prepared = Progress(4, 4, "clips prepared")
    said = [prepared, Said("Measuring."), Progress(1, 3, "sentences spoken"), Said("A word.")]

    found = []
    for count in range(1, len(said) + 1):
        folder.events_path.write_text("".join(f"{to_line(each)}\n" for each in said[:count]))
        found.append(folder.progress())

    assert found == [prepared, None, said[2], said[2]]


def test_threads_of_a_job_do_not_spin_unless_a_person_wants_it(tmp_path, monkeypatch):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    folder = JobFolder(tmp_path)

    assert folder.environment()["OMP_WAIT_POLICY"] == "PASSIVE"
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    assert folder.environment()["OMP_WAIT_POLICY"] == "ACTIVE"
