"""One studio for a workspace: it can be killed, found, and never doubled."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from urllib.request import urlopen

import psutil
import pytest
from filelock import FileLock

from app import studio
from app.door import rules_for
from engines.errors import StoreDamagedError, StudioRunningError
from finetune import projects
from finetune.jobs import process, queue
from finetune.jobs.process import this
from tests.conftest import ROOT
from tests.jobs_at_work import request
from tests.voices.test_reciting import killed_after
from voices import spoken
from voices.workspace import open_workspace


class Studio:
    """A studio in a process of its own."""

    def __init__(self, home, *arguments):
        self.home = home
        self.process = subprocess.Popen(
            [sys.executable, "-m", "app", "--home", str(home), "--no-browser", *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def wait_until_found(self, seconds=15):
        deadline = time.monotonic() + seconds
        while not (url := studio.running(self.home)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert url, self.end()
        return url

    def kill(self):
        self.process.kill()
        self.process.communicate()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.communicate(timeout=10)[0]


@pytest.fixture
def home(tmp_path):
    return tmp_path / "workspace"


@pytest.fixture
def start(home):
    started = []

    def start(*arguments):
        started.append(Studio(home, *arguments))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.kill()


def health(url):
    with urlopen(f"{url}timbre/health", timeout=5) as answer:
        return json.load(answer)


def test_a_second_start_is_sent_to_the_first(start):
    url = start().wait_until_found()

    second = start()

    assert second.process.communicate(timeout=20)[0] == f"Timbre runs already, at {url}\n"
    assert second.process.returncode == 0


def test_two_starts_at_the_same_moment_give_one_studio(start):
    both = [start(), start()]
    url = both[0].wait_until_found()

    deadline = time.monotonic() + 20
    while all(each.process.poll() is None for each in both) and time.monotonic() < deadline:
        time.sleep(0.05)
    [left] = [each for each in both if each.process.poll() is not None]

    assert left.process.communicate()[0] == f"Timbre runs already, at {url}\n"


def test_after_a_kill_the_next_start_takes_over_at_once(start, home):
    first = start()
    first.wait_until_found()
    first.kill()
    assert studio.running(home) is None

    before = time.monotonic()
    start().wait_until_found()

    assert time.monotonic() - before < 5


def test_a_job_outlives_the_studio_and_is_found_and_stopped_by_the_next(start, home):
    first = start()
    first.wait_until_found()
    workspace = open_workspace(home)
    job = queue.submit(workspace, request("count", 100_000))
    first.kill()

    found = health(start().wait_until_found())

    assert [each["id"] for each in found["jobs"]] == [job.id]
    queue.stop(workspace, job.id)
    list(job.folder.follow(poll_seconds=0.05))
    assert queue.find(workspace, job.id).outcome.what.startswith("Saved at step")
    workspace.close()


def test_the_studio_brings_a_job_home_that_everybody_left(start, home):
    workspace = open_workspace(home)
    job = queue.submit(workspace, request("count", 100_000))
    deadline = time.monotonic() + 10
    while not process.lives(job.folder.worker()) and time.monotonic() < deadline:
        time.sleep(0.02)
    for known in (job.folder.keeper(), job.folder.worker()):
        psutil.Process(known.pid).kill()

    start().wait_until_found()

    list(job.folder.follow(poll_seconds=0.05))
    assert queue.find(workspace, job.id).outcome.cause == "interrupted"
    workspace.close()


def test_ending_the_studio_says_nothing_alarming(start):
    running = start()
    running.wait_until_found()

    said = running.end()

    assert running.process.returncode == 0
    assert said.splitlines()[-1] == "Ctrl-C ends the studio; jobs that run go on."


def test_its_page_is_there_when_it_answers(start):
    url = start().wait_until_found()

    assert health(url)["state"] == "ready"
    with urlopen(url, timeout=5) as page:
        assert b"studio.js" in page.read()


def test_listening_on_a_network_makes_a_token_and_prints_it_once(start, home):
    running = start("--listen", "0.0.0.0")
    url = running.wait_until_found()

    assert "?token=" in url
    assert running.end().count("?token=") == 1


def test_a_studio_that_does_not_answer_is_said_in_a_sentence(home, monkeypatch):
    monkeypatch.setattr(studio, "WAIT_FOR_THE_OTHER_SECONDS", 0.2)

    with pytest.raises(StudioRunningError, match="does not answer"):
        studio.wait_for_the_other(home)


def test_an_address_that_was_left_by_a_killed_studio_is_not_believed(home):
    home.mkdir()
    known = {"pid": this().pid, "created": 1.0, "boot": "another"}
    (home / "studio.json").write_text(json.dumps({"url": "http://127.0.0.1:9/", "process": known}))

    assert studio.running(home) is None


def test_a_workspace_that_is_held_is_refused(home):
    home.mkdir()
    wishes = studio.Wishes(rules_for("127.0.0.1", 0), False, lambda url: pytest.fail("it started"))

    with FileLock(home / "studio.lock"), pytest.raises(StudioRunningError):
        studio.run(home, wishes)


@pytest.mark.parametrize("content", ["", "{}", "nonsense", '{"process": {"pid": 1}}', "[1]"])
def test_a_damaged_note_is_no_studio(home, content):
    home.mkdir()
    (home / "studio.json").write_text(content)

    assert studio.running(home) is None


def test_a_lost_list_of_projects_comes_back_at_the_next_start(start, home):
    workspace = open_workspace(home)
    item = projects.create(workspace, "Anna")
    (workspace.projects / item.id / "recordings" / "one.wav").write_bytes(b"RIFF")
    workspace.close()
    (home / "studio.db").unlink()

    start().wait_until_found()

    workspace = open_workspace(home)
    assert [each.id for each in projects.shelf(workspace).all()] == [item.id]
    workspace.close()


def test_a_copy_of_the_list_is_kept_and_named_when_the_list_is_damaged(start, home):
    workspace = open_workspace(home)
    projects.create(workspace, "Anna")
    workspace.close()
    running = start()
    running.wait_until_found()
    running.end()
    (home / "studio.db").write_bytes(b"nonsense " * 1000)
    for journal in home.glob("studio.db-*"):
        journal.unlink()

    with pytest.raises(StoreDamagedError) as caught:
        open_workspace(home)
    assert "studio.db.kept" in caught.value.fix
    (home / "studio.db.kept").replace(home / "studio.db")

    workspace = open_workspace(home)
    assert [each.name for each in projects.shelf(workspace).all()] == ["Anna"]
    workspace.close()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes")
def test_the_token_is_for_nobody_else_on_this_computer(start, home):
    home.mkdir(mode=0o755)
    start("--listen", "0.0.0.0").wait_until_found()

    assert (home / "studio.json").stat().st_mode & 0o077 == 0


def test_starting_sweeps_what_was_left_and_keeps_everything_else(start, home):
    workspace = open_workspace(home)
    projects.create(workspace, "Anna")
    left = workspace.voices / ".tmp-99999999-aa"
    left.mkdir()
    workspace.close()

    start().wait_until_found()

    assert not left.exists()
    assert len(list((home / "projects").iterdir())) == 1


def test_what_was_being_said_when_it_was_killed_is_kept_by_its_sentences(start, home):
    workspace = open_workspace(home)
    killed_after(workspace, 6)

    start().wait_until_found()

    [kept] = spoken.all_of(workspace)
    workspace.close()
    assert len(kept.lines) >= 2 and not kept.whole
