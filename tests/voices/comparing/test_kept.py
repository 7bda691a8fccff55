"""Comparisons on disk: closed in the middle, torn, answered twice, and nothing is lost."""

from __future__ import annotations

import shutil
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from engines.errors import ConflictError, NotFoundError
from voices import files
from voices.comparing import blind
from voices.comparing.blind import Pair, Undo
from voices.comparing.kept import Comparisons
from voices.workspace import open_workspace

PAIRS = [Pair("Good morning.", "a/0.flac", "b/0.flac")]


@pytest.fixture
def kept(workspace):
    return Comparisons(workspace)


def begun(kept, answers=0, **other):
    started = kept.start("ab", "step 400", "step 800", PAIRS, 10, **other)
    for number in range(answers):
        kept.answer(started.comparison.id, number, "left")
    return started.comparison.id


def contents(kept, id):
    return {path.name: path.read_bytes() for path in (kept.folder / id).iterdir()}


def test_who_closes_the_page_goes_on_where_they_were(kept, workspace):
    id = begun(kept, answers=3)
    before = kept.find(id)
    workspace.close()

    again = open_workspace(workspace.root)
    session = Comparisons(again).find(id)

    assert session == before and session.trial.number == 3 and len(session.answers) == 3
    assert [each.comparison.id for each in Comparisons(again).all()] == [id]
    again.close()


def test_the_seed_is_drawn_unless_it_is_given(kept):
    drawn = {kept.find(begun(kept)).comparison.seed for _ in range(3)}

    assert len(drawn) == 3 and kept.find(begun(kept, seed=7)).comparison.seed == 7


def test_they_are_listed_with_the_newest_first(kept, monkeypatch):
    monkeypatch.setattr("voices.comparing.kept.now", iter("cab").__next__)
    ids = [begun(kept) for _ in range(3)]

    assert kept.all() == [kept.find(ids[n]) for n in (0, 2, 1)]


def test_where_nothing_was_compared_the_list_is_empty(kept):
    assert kept.all() == []


def test_no_file_is_ever_written_a_second_time(kept):
    id = begun(kept, answers=2)
    before = contents(kept, id)

    kept.undo(id)
    kept.answer(id, 1, "right")

    after = contents(kept, id)
    assert before.items() <= after.items() and len(after) == len(before) + 2
    session = kept.find(id)
    assert [type(event) for event in session.events].count(Undo) == 1
    assert [answer.choice for answer in session.answers] == ["left", "right"]


MAYBE = b'{"kind": "answer", "number": 1, "choice": "maybe", "swapped": true, "at": ""}'


@pytest.mark.parametrize(
    "torn", [b"", b'{"kind": "ans', b"[]", b'{"kind": "answer"}', b"\xff", MAYBE]
)
def test_a_torn_answer_takes_no_other_along(kept, torn):
    id = begun(kept, answers=4)
    (kept.folder / id / "said-0002.json").write_bytes(torn)

    session = kept.find(id)

    assert [answer.number for answer in session.answers] == [0, 2, 3]
    assert session.trial.number == 1
    kept.answer(id, 1, "right")
    assert kept.find(id).trial.number == 4
    assert (kept.folder / id / "said-0002.json").read_bytes() == torn


@pytest.mark.parametrize("torn", [b"", b'{"id": 1}', b'{"v": 1, "pairs": 7}', b"[]"])
def test_a_torn_comparison_hides_no_other(kept, torn):
    good, bad = begun(kept), begun(kept)
    (kept.folder / bad / "comparison.json").write_bytes(torn)

    assert [each.comparison.id for each in kept.all()] == [good]
    with pytest.raises(NotFoundError):
        kept.find(bad)


@pytest.mark.parametrize("id", ["../voices", "", "0" * 12, "/etc"])
def test_an_id_that_is_none_finds_nothing(kept, id):
    shutil.copytree(kept.folder / begun(kept), kept.folder.parent / "voices", dirs_exist_ok=True)

    with pytest.raises(NotFoundError):
        kept.find(id)


def test_of_many_windows_that_answer_at_once_one_is_heard(kept, monkeypatch):
    id = begun(kept)
    slow = blind.answered
    monkeypatch.setattr(blind, "answered", lambda *given: time.sleep(0.01) or slow(*given))

    def answer(_):
        try:
            kept.answer(id, 0, "left")
        except ConflictError:
            return 0
        return 1

    with ThreadPoolExecutor(8) as windows:
        heard = sum(windows.map(answer, range(16)))

    assert heard == 1 and len(kept.find(id).events) == 1


def test_what_cannot_be_written_was_not_answered(kept, monkeypatch):
    id = begun(kept, answers=1)

    def full(path, value):
        raise OSError(28, "no room")

    monkeypatch.setattr(files, "write_json", full)
    with pytest.raises(OSError):
        kept.answer(id, 1, "left")

    assert kept.find(id).trial.number == 1
