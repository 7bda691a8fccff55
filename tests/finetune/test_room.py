"""What takes the room is told by whose it is; what is freed is only what nobody needs."""

from __future__ import annotations

import os
import shutil

import pytest

from engines.errors import JobError, NotFoundError
from finetune import projects, room, runs, tending
from finetune.jobs import queue
from finetune.runs import Plan
from tests.jobs_at_work import request
from voices import files, library


def fill(path, size, content=b"x"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content * size)
    return path


def voice(workspace, folder, name="Ada"):
    with files.new_folder(folder) as new:
        fill(new / "model.safetensors", 7000)
        files.write_json(new / "voice.json", {"v": 1, "name": name, "engine": "pocket"})
    return library.keep(workspace, folder, name)


def finished_run(workspace, name="Ada"):
    """A run with two checkpoints of 5,000 bytes, of which the newer is the best, and a voice."""
    folder = runs.create(workspace, Plan(name, "p", 1, "pocket", "base"))
    for step in (1, 2):
        with files.new_folder(folder.checkpoints / f"step-{step:06}") as new:
            fill(new / "weights.safetensors", 2000)
            fill(new / "optimizer.safetensors", 3000)
    with files.new_folder(folder.best / "best-000002") as new:
        os.link(
            folder.checkpoints / "step-000002" / "weights.safetensors", new / "weights.safetensors"
        )
        files.write_json(new / "best.json", {"v": 1, "step": 2, "reason": "It is."})
    with files.new_folder(folder.voice) as new:
        fill(new / "model.safetensors", 100)
    return folder


def named(found, kind):
    return {each.name: each for each in found if each.kind == kind}


def test_all_that_is_there_is_counted_once_by_whose_it_is(workspace, tmp_path):
    item = projects.create(workspace, "Anna")
    fill(projects.folder_of(workspace, item) / "recordings" / "one.wav", 50_000)
    fill(workspace.cache / "features" / "one", 900)
    kept = voice(workspace, tmp_path / "voice")
    other = workspace.runs / "0123456789ab" / "voice" / "model.safetensors"
    other.parent.mkdir(parents=True)
    os.link(kept.folder / "model.safetensors", other)

    found = room.measure(workspace)

    assert found.bytes == sum(
        {
            path.stat().st_ino: path.stat().st_size
            for path in workspace.root.rglob("*")
            if path.is_file()
        }.values()
    )
    assert found.taken[0].name == "Anna" and found.taken[0].bytes > 50_000
    assert named(found.taken, "voice")["Ada"].bytes > 7000
    assert found.kinds["run"] == 0 and found.kinds["cache"] == 900


def test_what_a_finished_run_would_go_on_from_can_be_freed_and_its_best_stays(workspace):
    folder = finished_run(workspace)
    [offered] = [each for each in room.measure(workspace).freeable if each.kind == "checkpoints"]
    before = room.size(workspace.root)

    room.delete(room.set_aside(workspace, "checkpoints", folder.id))

    assert list(folder.checkpoints.iterdir()) == []
    assert runs.newest_best(folder) and runs.find(workspace, folder.id).state == "finished"
    assert before - room.size(workspace.root) == offered.bytes > 8000


@pytest.mark.parametrize("lacks", ["voice", "best"])
def test_checkpoints_stay_while_a_run_may_still_need_them(workspace, lacks):
    folder = finished_run(workspace)
    shutil.rmtree(getattr(folder, lacks))

    with pytest.raises(NotFoundError):
        room.set_aside(workspace, "checkpoints", folder.id)

    assert named(room.measure(workspace).freeable, "checkpoints") == {}
    assert len(list(folder.checkpoints.iterdir())) == 2


def test_the_cache_goes_but_for_what_a_browser_has_just_sent(workspace):
    fill(workspace.cache / "features" / "one", 900)
    sent = fill(workspace.cache / "uploads" / "0123456789ab" / "one.wav", 50)

    room.delete(room.set_aside(workspace, "cache", ""))

    assert [path.name for path in workspace.cache.iterdir()] == ["uploads"]
    assert sent.exists()


def test_what_is_in_the_trash_goes_with_its_row_and_nothing_else(workspace, tmp_path):
    item, other = projects.create(workspace, "Anna"), projects.create(workspace, "Ben")
    projects.shelf(workspace).trash(item.id)
    made = voice(workspace, tmp_path / "voice")
    library.shelf(workspace).trash(made.id)

    for kind, thing in (("project", item.id), ("voice", made.id)):
        room.delete(room.set_aside(workspace, kind, thing))

    assert (
        projects.shelf(workspace).all(trashed=True) == library.listed(workspace, trashed=True) == []
    )
    assert [path.name for path in workspace.projects.iterdir()] == [other.id]
    assert list(workspace.voices.iterdir()) == [] and projects.list_again(workspace) == []


def test_a_run_goes_only_from_the_trash_and_the_voice_it_gave_stays(workspace):
    folder = finished_run(workspace)
    kept = library.keep(workspace, folder.voice, "Ada")
    with pytest.raises(NotFoundError, match="not in the trash"):
        room.set_aside(workspace, "run", folder.id)
    tending.trash(workspace, folder.id)
    assert [each.kind for each in room.measure(workspace).freeable if each.id] == ["run"]

    room.delete(room.set_aside(workspace, "run", folder.id))

    assert runs.all(workspace) == [] and not folder.path.exists()
    assert files.exists(kept.folder)


def test_what_is_not_in_the_trash_is_not_deleted(workspace):
    item = projects.create(workspace, "Anna")

    with pytest.raises(NotFoundError, match="not in the trash"):
        room.set_aside(workspace, "project", item.id)

    assert projects.folder_of(workspace, item).exists()


def test_a_folder_that_cannot_be_moved_keeps_its_row(workspace, monkeypatch):
    item = projects.create(workspace, "Anna")
    projects.shelf(workspace).trash(item.id)
    monkeypatch.setattr(room, "_aside", lambda path: (_ for _ in ()).throw(PermissionError("held")))

    with pytest.raises(PermissionError):
        room.set_aside(workspace, "project", item.id)

    assert [each.id for each in projects.shelf(workspace).all(trashed=True)] == [item.id]


@pytest.mark.parametrize(
    "name", ["..", ".", "", "../voices", "/etc", "x/../../voices", "\0", "nothing"]
)
@pytest.mark.parametrize("kind", ["model", "project", "voice", "run", "checkpoints"])
def test_only_what_is_listed_can_be_named(workspace, kind, name):
    fill(workspace.root / "models" / "whisper-tiny" / "model.bin", 10)
    before = sorted(workspace.root.rglob("*"))

    with pytest.raises(NotFoundError):
        room.set_aside(workspace, kind, name)

    assert sorted(workspace.root.rglob("*")) == before


def test_a_model_is_deleted_by_the_name_of_its_folder(workspace):
    fill(workspace.root / "models" / "whisper-tiny" / "model.bin", 10)

    room.delete(room.set_aside(workspace, "model", "whisper-tiny"))

    assert list((workspace.root / "models").iterdir()) == []


def test_nothing_that_a_job_may_read_is_deleted_meanwhile(workspace):
    fill(workspace.cache / "features" / "one", 900)
    job = queue.submit(workspace, request("count", 100_000))
    try:
        for kind in ("cache", "model"):
            with pytest.raises(JobError, match="may need it"):
                room.set_aside(workspace, kind, "whisper-tiny")
    finally:
        queue.stop(workspace, job.id)

    assert (workspace.cache / "features" / "one").exists()


@pytest.mark.parametrize(("kind", "packed"), [("voice", "voices"), ("project", "exports")])
def test_what_was_packed_of_a_thing_goes_with_it_and_of_no_other(workspace, tmp_path, kind, packed):
    things = {
        "voice": (voice(workspace, tmp_path / "v").item, library.shelf(workspace)),
        "project": (projects.create(workspace, "Anna"), projects.shelf(workspace)),
    }
    item, shelf = things[kind]
    shelf.trash(item.id)
    gone = fill(workspace.cache / packed / item.id / "1" / "voice.zip", 900)
    stays = fill(workspace.cache / packed / "0123456789ab" / "1" / "voice.zip", 900)

    room.delete(room.set_aside(workspace, kind, item.id))

    assert stays.exists() and not gone.parent.parent.exists()


def test_a_project_that_a_job_works_with_is_not_deleted(workspace):
    item = projects.create(workspace, "Anna")
    projects.shelf(workspace).trash(item.id)
    job = queue.submit(workspace, request("count", 100_000, needs=f"project-{item.id}"))
    try:
        with pytest.raises(JobError, match="works with it"):
            room.set_aside(workspace, "project", item.id)
    finally:
        queue.stop(workspace, job.id)


def test_what_a_cut_left_is_swept_at_the_next_start(workspace, monkeypatch):
    fill(workspace.cache / "features" / "one", 900)
    monkeypatch.setattr(room.os, "getpid", lambda: 99_999_999)

    room.set_aside(workspace, "cache", "")

    assert [path for folder in workspace.written_in() for path in files.sweep(folder)]
    assert list(workspace.cache.iterdir()) == []


def test_links_that_lead_elsewhere_are_not_followed(workspace, tmp_path):
    outside = fill(tmp_path / "outside" / "big", 1_000_000)
    (workspace.cache / "way").symlink_to(outside.parent)

    assert room.measure(workspace).bytes < 1_000_000
    room.delete(room.set_aside(workspace, "cache", ""))

    assert outside.exists()
