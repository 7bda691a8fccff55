"""Real jobs in real processes: started once, followed, stopped, found again, told apart."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import replace

import psutil
import pytest

from engines.errors import DiskFullError, JobError, NotFoundError, WorkspaceError
from finetune.jobs import process, queue
from finetune.jobs.events import Finished, Progress, Stopped, from_line
from finetune.jobs.folder import JobFolder, Request, code_path, read_lines
from finetune.jobs.keeper import Heart, write_when_there_is_room
from finetune.jobs.worker import Job
from tests.jobs_at_work import request
from voices.workspace import open_workspace

PATIENCE_SECONDS = 20
posix_only = pytest.mark.skipif(
    sys.platform == "win32", reason="signals, `env` and `sh` are other things there"
)


def wait_for(what, seconds=PATIENCE_SECONDS):
    """Poll until something is true; its last value when it never was."""
    deadline = time.monotonic() + seconds
    while not (found := what()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return found


def ended(workspace, job):
    assert wait_for(lambda: queue.find(workspace, job.id).outcome), job.folder.log_tail()
    return queue.find(workspace, job.id).outcome


def works(job):
    return wait_for(lambda: job.folder.progress() and process.lives(job.folder.worker()))


def kill(identity):
    psutil.Process(identity.pid).kill()
    assert wait_for(lambda: not process.lives(identity))


@pytest.fixture(autouse=True)
def nothing_is_left_behind(workspace):
    yield
    for job in queue.jobs(workspace):
        for known in (job.folder.keeper(), job.folder.worker()):
            process.kill(process.descendants(known))
        process.kill(process.family(job.id))


def test_a_job_works_and_tells_and_ends(workspace):
    job = queue.submit(workspace, request("count", 5))

    events = list(job.folder.follow(poll_seconds=0.01))

    assert events == [*(Progress(n, 5, "steps") for n in range(1, 6)), Finished("5 steps.")]
    assert ended(workspace, job).cause == "finished"


@pytest.mark.parametrize(
    ("how", "cause"),
    [
        ("memory", "memory"),
        ("disk", "disk-full"),
        ("gpu", "gpu-memory"),
        ("input", "bad-input"),
        ("bug", "bug"),
        ("137", "memory"),
        pytest.param("-9", "memory", marks=posix_only),
        pytest.param("-11", "bug", marks=posix_only),
        ("3", "bug"),
    ],
)
def test_each_bad_end_is_told_apart(workspace, how, cause):
    outcome = ended(workspace, queue.submit(workspace, request("die", how)))

    assert outcome.cause == cause
    if how == "bug":
        assert outcome.first_cause == "ZeroDivisionError: division by zero"
        assert "RuntimeError: a later one" in outcome.log


def test_the_last_word_is_on_the_disk_before_anything_is_taken_down(workspace):
    outcome = ended(workspace, queue.submit(workspace, request("crash_after_the_end")))

    assert (outcome.cause, outcome.what) == ("finished", "All done.")


def test_a_command_that_is_not_there_is_a_failure_in_words(workspace):
    job = queue.submit(workspace, Request("test", "nothing", ("/no/such/program",)))

    assert "could not be started" in ended(workspace, job).what


@posix_only
def test_the_command_is_kept_as_a_person_can_type_it(workspace, tmp_path):
    job = queue.submit(workspace, request("count", 3))
    ended(workspace, job)
    job.folder.events_path.unlink()

    subprocess.run(["sh", str(job.folder.path / "command.txt")], check=True)

    assert job.folder.last_word() == Finished("3 steps.")


def test_stopping_lets_a_job_save(workspace):
    job = queue.submit(workspace, request("count", 10_000))
    works(job)

    assert queue.stop(workspace, job.id).state == "stopping"

    outcome = ended(workspace, job)
    assert outcome.cause == "stopped" and outcome.what.startswith("Saved at step")
    assert isinstance(job.folder.last_word(), Stopped)


def test_a_job_that_does_not_listen_is_ended_with_its_helpers(workspace):
    job = queue.submit(workspace, request("deaf", save_seconds=0.2, end_seconds=0.3))
    works(job)
    helper = process.identity(int(job.folder.progress().done))

    queue.stop(workspace, job.id)

    assert ended(workspace, job).what == "It did not answer the wish to stop and was ended."
    assert process.family(job.id) == []
    assert not process.lives(helper)


def test_what_a_job_leaves_running_goes_when_it_ends(workspace):
    job = queue.submit(workspace, request("leave_a_helper"))

    assert ended(workspace, job).cause == "finished"
    assert process.family(job.id) == []


@posix_only
def test_a_killed_job_leaves_no_helper(workspace):
    job = queue.submit(workspace, request("deaf"))
    works(job)

    kill(job.folder.worker())

    assert ended(workspace, job).cause == "memory"
    assert process.family(job.id) == []


def test_a_job_goes_on_when_its_keeper_is_killed_and_is_adopted(workspace):
    job = queue.submit(workspace, request("count", 10_000))
    works(job)
    worker, keeper = job.folder.worker(), job.folder.keeper()

    kill(keeper)
    queue.advance(workspace)

    assert wait_for(lambda: job.folder.keeper() != keeper)
    assert job.folder.worker() == worker and process.lives(worker)
    queue.stop(workspace, job.id)
    assert ended(workspace, job).what.startswith("Saved at step")


def test_a_job_that_nobody_saw_end_is_settled_by_the_next_look(workspace):
    job = queue.submit(workspace, request("count", 10_000))
    works(job)
    kill(job.folder.keeper())
    kill(job.folder.worker())

    queue.advance(workspace)

    assert ended(workspace, job).cause == "interrupted"


def test_a_worker_that_its_keeper_could_not_write_down_is_found(workspace):
    job = queue.submit(workspace, request("count", 10_000))
    works(job)
    worker, keeper = job.folder.worker(), job.folder.keeper()
    kill(keeper)
    job.folder.write_processes(keeper, None)  # as it is between starting it and noting it

    queue.advance(workspace)

    assert wait_for(lambda: job.folder.worker() == worker)
    assert [event.done for event in events(job)] == list(range(1, len(events(job)) + 1))


def events(job):
    return [from_line(line) for line in read_lines(job.folder.events_path, 0)[0]]


def test_a_second_keeper_leaves_at_once(workspace):
    job = queue.submit(workspace, request("count", 300))
    works(job)
    keeper = job.folder.keeper()

    argv = [sys.executable, "-m", "finetune.jobs.keeper", str(job.folder.path)]
    subprocess.run(argv, env={**os.environ, **code_path()}, check=True, timeout=30)

    assert job.folder.keeper() == keeper
    assert ended(workspace, job).cause == "finished"
    assert len(events(job)) == 301


def test_a_double_click_starts_one_job(workspace):
    wish = request("count", 1000, once="train-evening-voice")
    found = []
    clicks = [
        threading.Thread(target=lambda: found.append(queue.submit(workspace, wish).id))
        for _ in range(8)
    ]
    for click in clicks:
        click.start()
    for click in clicks:
        click.join()

    assert len(set(found)) == 1
    assert len(queue.jobs(workspace)) == 1
    assert len(list(workspace.jobs.iterdir())) == 1


def test_a_job_that_could_not_be_queued_leaves_nothing(workspace, monkeypatch):
    monkeypatch.setattr(queue, "advance", lambda workspace: None)  # it would be refused before
    workspace.store.rows("PRAGMA query_only=1")

    with pytest.raises(WorkspaceError):
        queue.submit(workspace, request("count", 1))

    assert list(workspace.jobs.iterdir()) == []
    workspace.store.rows("PRAGMA query_only=0")


def test_the_same_wish_can_come_again_once_the_first_has_ended(workspace):
    wish = request("count", 1, once="again")
    first = queue.submit(workspace, wish)
    ended(workspace, first)
    wait_for(lambda: queue.advance(workspace) or not rows(workspace, "started"))

    assert queue.submit(workspace, wish).id != first.id


def rows(workspace, state):
    return workspace.store.rows("SELECT id FROM jobs WHERE state = ?", state)


def test_one_job_at_a_time_has_a_gpu_and_the_rest_wait_in_order(workspace):
    first = queue.submit(workspace, request("count", 10_000, needs="gpu-0"))
    second = queue.submit(workspace, request("count", 1, needs="gpu-0"))
    third = queue.submit(workspace, request("count", 1, needs="gpu-0"))
    beside = queue.submit(workspace, request("count", 1, needs="gpu-1"))
    light = queue.submit(workspace, request("count", 1))

    assert ended(workspace, beside).cause == ended(workspace, light).cause == "finished"
    assert [queue.find(workspace, job.id).state for job in (first, second, third)] == [
        "running",
        "waiting",
        "waiting",
    ]
    assert not second.folder.was_begun()


def test_the_queue_goes_on_by_itself_in_the_order_a_person_chose(workspace):
    first = queue.submit(workspace, request("count", 10_000, needs="cpu"))
    others = [queue.submit(workspace, request("count", 1, needs="cpu")) for _ in range(4)]
    a, b, c, d = (job.id for job in others)

    queue.move(workspace, d, "first")
    queue.move(workspace, a, "last")
    queue.move(workspace, c, "up")
    waiting = [job.id for job in queue.jobs(workspace) if job.state == "waiting"]
    assert waiting == [d, c, b, a]
    queue.stop(workspace, b)
    queue.stop(workspace, first.id)

    for job in others:
        ended(workspace, job)
    begun = {
        job.id: (job.folder.path / "process.json").stat().st_mtime_ns
        for job in others
        if job.id != b
    }
    assert sorted(begun, key=begun.get) == [d, c, a]
    assert queue.find(workspace, b).outcome.what == "Taken out of the queue."
    assert not queue.find(workspace, b).folder.was_begun()


def test_a_queue_survives_a_restart(workspace):
    first = queue.submit(workspace, request("count", 10_000, needs="cpu"))
    second = queue.submit(workspace, request("count", 1, needs="cpu"))
    works(first)
    kill(first.folder.keeper())
    kill(first.folder.worker())

    again = open_workspace(workspace.root)
    queue.advance(again)

    assert ended(again, first).cause == "interrupted"
    assert ended(again, second).cause == "finished"
    again.close()


def test_a_start_that_was_cut_off_before_it_was_noted_is_not_done_twice(workspace):
    job = queue.submit(workspace, request("count", 300))
    works(job)
    with workspace.store.change() as store:
        store.execute("UPDATE jobs SET state = 'waiting', keeper = ''")

    queue.advance(workspace)

    assert queue.find(workspace, job.id).state == "running"
    assert ended(workspace, job).cause == "finished"
    assert len(events(job)) == 301


def test_what_cannot_be_done_is_said_in_a_sentence(workspace):
    job = queue.submit(workspace, request("count", 1))
    ended(workspace, job)

    with pytest.raises(JobError, match="has ended already"):
        queue.stop(workspace, job.id)
    with pytest.raises(JobError, match="is not waiting"):
        queue.move(workspace, job.id, "up")
    for unknown in ("nothing", "", "../../x", "%"):
        with pytest.raises(NotFoundError):
            queue.find(workspace, unknown)


@posix_only
def test_a_worker_without_the_mark_is_stopped_too(workspace):
    wish = request("deaf", save_seconds=0.2, end_seconds=0.3)
    clean = ("env", "-i", f"PYTHONPATH={code_path()['PYTHONPATH']}", *wish.argv)
    job = queue.submit(workspace, replace(wish, argv=clean))
    works(job)
    worker = job.folder.worker()

    queue.stop(workspace, job.id)

    assert "was ended" in ended(workspace, job).what
    assert not process.lives(worker)


def test_a_job_whose_folder_is_gone_does_not_hold_up_the_queue(workspace):
    gone = queue.submit(workspace, request("count", 10_000, needs="cpu"))
    waiting = queue.submit(workspace, request("count", 1, needs="cpu"))
    works(gone)
    for known in (gone.folder.keeper(), gone.folder.worker()):
        kill(known)
    shutil.rmtree(gone.folder.path)

    queue.advance(workspace)

    assert ended(workspace, waiting).cause == "finished"
    assert queue.find(workspace, gone.id).outcome.what == "Its folder was deleted or damaged."


@pytest.mark.parametrize("damage", ["job.json", "outcome.json"])
@pytest.mark.parametrize("content", ["", "nonsense", "[]"])
def test_a_damaged_file_of_one_job_spoils_only_that_one(workspace, damage, content):
    job, other = (queue.submit(workspace, request("count", 1)) for _ in "ab")
    ended(workspace, job), ended(workspace, other)
    (job.folder.path / damage).write_text(content)

    found = {each.id: each for each in queue.jobs(workspace)}

    assert found[job.id].outcome.cause == "interrupted"
    assert found[other.id].outcome.cause == "finished"


def test_a_running_job_whose_start_was_not_noted_is_stopped_and_not_forgotten(workspace):
    job = queue.submit(workspace, request("count", 10_000))
    works(job)
    with workspace.store.change() as store:
        store.execute("UPDATE jobs SET state = 'waiting', keeper = ''")

    queue.stop(workspace, job.id)

    assert ended(workspace, job).what.startswith("Saved at step")


def test_a_job_can_be_asked_for_again_the_moment_it_has_ended(workspace):
    wish = request("count", 1, once="again")
    first = queue.submit(workspace, wish)
    ended(workspace, first)

    assert queue.submit(workspace, wish).id != first.id


def test_what_a_person_chose_for_a_job_holds_whoever_starts_it(workspace, monkeypatch):
    first = queue.submit(workspace, request("count", 10_000, needs="cpu"))
    monkeypatch.setenv("TIMBRE_OFFLINE", "1")
    code = (
        "import os, pathlib; pathlib.Path('seen').write_text(str(os.environ.get('TIMBRE_OFFLINE')))"
    )
    wish = Request("test", "look", (sys.executable, "-c", code), needs="cpu")
    offline = queue.submit(workspace, wish)
    monkeypatch.delenv("TIMBRE_OFFLINE")
    online = queue.submit(workspace, wish)
    monkeypatch.setenv("TIMBRE_OFFLINE", "1")

    queue.stop(workspace, first.id)
    for job in (offline, online):
        ended(workspace, job)

    assert (offline.folder.path / "seen").read_text() == "1"
    assert (online.folder.path / "seen").read_text() == "None"


def test_a_stopped_job_can_be_run_again_by_its_command(workspace):
    job = queue.submit(workspace, request("count", 300))
    works(job)
    queue.stop(workspace, job.id)
    ended(workspace, job)

    assert wait_for(lambda: not job.folder.stop_asked())


def test_following_notices_an_end_that_nobody_saw(workspace, monkeypatch):
    monkeypatch.setattr("finetune.jobs.folder.MEANWHILE_SECONDS", 0.1)
    job = queue.submit(workspace, request("count", 10_000))
    works(job)
    for known in (job.folder.keeper(), job.folder.worker()):
        kill(known)

    list(job.folder.follow(poll_seconds=0.05, meanwhile=lambda: queue.advance(workspace)))

    assert queue.find(workspace, job.id).outcome.cause == "interrupted"


def test_a_torn_line_costs_no_other_one(workspace, tmp_path, monkeypatch):
    folder = JobFolder(tmp_path)
    job = Job(folder)
    write = os.write
    monkeypatch.setattr("os.write", lambda file, line: write(file, line[:20]))
    job.say(Progress(1, 2, "steps"))
    monkeypatch.undo()

    job.say(Finished("Done."))

    assert folder.last_word() == Finished("Done.")


def test_a_silent_job_is_noticed_and_heard_again(workspace, monkeypatch):
    monkeypatch.setattr("finetune.jobs.keeper.SILENT_SECONDS", 0.1)
    job = queue.submit(workspace, request("count", 1))
    ended(workspace, job)
    heart = Heart(job.folder)
    heart.listen()
    time.sleep(0.15)
    heart.listen()
    assert queue.find(workspace, job.id).silent

    job.folder.heartbeat_path.write_text("another beat")
    heart.listen()

    assert not queue.find(workspace, job.id).silent


def test_how_it_ended_is_written_when_the_full_disk_has_room_again(workspace, monkeypatch):
    job = queue.submit(workspace, request("count", 1))
    outcome = ended(workspace, job)
    (job.folder.path / "outcome.json").unlink()
    refusals = iter([True, True, False])
    write = JobFolder.write_outcome

    def on_a_full_disk(folder, outcome):
        if next(refusals):
            raise DiskFullError("The disk is full.", "Free some space.")
        write(folder, outcome)

    monkeypatch.setattr(JobFolder, "write_outcome", on_a_full_disk)
    monkeypatch.setattr("finetune.jobs.keeper.ROOM_SECONDS", 0.01)
    write_when_there_is_room(job.folder, outcome)

    assert job.folder.outcome() == outcome


def test_the_heart_of_a_job_beats(workspace):
    job = queue.submit(workspace, request("count", 1000))
    wait_for(job.folder.heartbeat_path.exists)
    first = job.folder.heartbeat_path.read_text()

    assert wait_for(lambda: job.folder.heartbeat_path.read_text() not in ("", first), 6)


def test_reading_lines_waits_for_their_end(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"one\nhal")

    lines, position = read_lines(path, 0)
    with path.open("ab") as file:
        file.write(b"f\n")

    assert lines == ["one"]
    assert read_lines(path, position) == (["half"], 9)
    assert read_lines(tmp_path / "nothing", 0) == ([], 0)


def test_the_request_of_an_older_or_newer_timbre_can_be_read(workspace):
    job = queue.submit(workspace, request("count", 1))
    ended(workspace, job)
    path = job.folder.path / "job.json"
    content = json.loads(path.read_text())

    del content["variables"]
    path.write_text(json.dumps({**content, "v": 9, "mood": "good"}))

    assert queue.find(workspace, job.id).request.title == "count"


def test_a_request_comes_back_as_it_was_written(workspace):
    wish = request("count", 3, needs="gpu-0", once="x", save_seconds=90.0)
    job = queue.submit(workspace, wish)

    assert job.folder.request() == wish
    assert json.loads((job.folder.path / "job.json").read_text())["v"] == 1
