"""Try it now begins the whole way, and twice is once."""

from __future__ import annotations

from finetune import making, projects, trying
from finetune.jobs import queue
from finetune.wishes import read_wish


def test_all_of_it_is_queued_with_what_ships(workspace, monkeypatch):
    monkeypatch.setattr(queue, "advance", lambda _: None)

    item, job = trying.begin(workspace)

    wish = making.read_make_wish(job.folder.path.parents[1] / job.request.argv[-1])
    built = read_wish(workspace.root / wish.build)
    assert job.request.kind == "make"
    assert wish.plan.engine == "pocket"
    assert built.whisper == ""
    assert built.freeze
    assert built.sources[0].endswith(".opus")
    assert [each.id for each in projects.shelf(workspace).all()] == [item.id]


def test_a_second_try_is_the_same_work(workspace, monkeypatch):
    monkeypatch.setattr(queue, "advance", lambda _: None)

    first, second = trying.begin(workspace), trying.begin(workspace)

    assert first[0].id == second[0].id
    assert first[1].id == second[1].id
