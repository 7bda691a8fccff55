"""The table of commands, as a person types them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from app.commands import globals_first, timbre_version
from finetune.jobs import queue
from tests.conftest import ROOT
from tests.jobs_at_work import request


def timbre(*arguments, home=None, **environment):
    chosen = ["--home", str(home)] if home else []
    return subprocess.run(
        [sys.executable, "-m", "app", *map(str, arguments), *chosen],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "160", **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        (["doctor", "--home", "x", "--json"], ["--home", "x", "doctor", "--json"]),
        (["doctor", "--home=x"], ["--home=x", "doctor"]),
        (["--no-browser", "--port", "1"], ["--no-browser", "--port", "1"]),
        (["jobs", "--offline", "list"], ["--offline", "jobs", "list"]),
        (["test", "--", "--home", "x"], ["test", "--", "--home", "x"]),
        (["doctor", "--home"], ["--home", "doctor"]),
        ([], []),
    ],
)
def test_options_for_everything_may_stand_anywhere(typed, read):
    assert globals_first(typed) == read


def test_the_version_is_the_one_of_the_project():
    assert timbre("--version").stdout == f"Timbre {timbre_version()}\n"
    assert timbre_version()[0].isdigit()


def test_help_names_every_command_and_nothing_that_does_nothing():
    said = timbre("--help").stdout

    for command in ("doctor", "test", "bench", "jobs"):
        assert f" {command} " in said
    for later in ("transcribe", "train", "speak"):
        assert f" {later} " not in said


@pytest.mark.parametrize("command", ["doctor", "test", "bench", "jobs", "jobs list", "jobs move"])
def test_every_command_explains_itself(command):
    done = timbre(*command.split(), "--help")

    assert done.returncode == 0
    assert "Usage: launch.py" in done.stdout


def test_the_doctor_answers_programs(tmp_path):
    done = timbre("doctor", "--json", home=tmp_path / "ws")

    answer = json.loads(done.stdout)
    assert done.returncode == (0 if answer["usable"] else 1)
    assert {"name", "verdict", "found", "fix"} == set(answer["checks"][0])


def test_the_doctor_answers_people(tmp_path):
    done = timbre("doctor", home=tmp_path / "ws")

    assert "Audio" in done.stdout and "a second of sound written and read back" in done.stdout


def test_jobs_are_listed_shown_followed_and_stopped(workspace):
    job = queue.submit(workspace, request("count", 100_000))

    listed = json.loads(timbre("jobs", "list", "--json", home=workspace.root).stdout)
    assert [each["id"] for each in listed] == [job.id]
    assert job.id in timbre("jobs", "list", home=workspace.root).stdout
    shown = timbre("jobs", "show", job.id[:5], home=workspace.root).stdout
    assert "tests.jobs_at_work count 100000" in shown
    assert "saving and stopping" in timbre("jobs", "stop", job.id, home=workspace.root).stdout
    followed = timbre("jobs", "follow", job.id, home=workspace.root)
    assert "of 100000 steps" in followed.stdout and "Saved at step" in followed.stdout
    assert followed.returncode == 0


def test_a_job_that_failed_is_followed_to_its_end_with_a_code(workspace):
    job = queue.submit(workspace, request("die", "bug"))

    done = timbre("jobs", "follow", job.id, "--json", home=workspace.root)

    assert done.returncode == 1
    assert json.loads(done.stdout.splitlines()[-1])["cause"] == "bug"


def test_waiting_jobs_can_be_moved(workspace):
    first = queue.submit(workspace, request("count", 100_000, needs="cpu"))
    second, third = (queue.submit(workspace, request("count", 1, needs="cpu")) for _ in "ab")

    moved = timbre("jobs", "move", third.id, "first", "--json", home=workspace.root)

    assert [job["id"] for job in json.loads(moved.stdout)] == [first.id, third.id, second.id]
    queue.stop(workspace, first.id)
    for job in (first, second, third):
        list(job.folder.follow(poll_seconds=0.05))


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["jobs", "show", "nothing"], "There is no job whose id begins with 'nothing'."),
        (["jobs", "stop", ""], "There is no job"),
        (["--listen", "0.0.0.0", "--token", "short"], "can be guessed"),
    ],
)
def test_a_problem_is_a_sentence_on_stderr_and_an_exit_code(typed, said, tmp_path):
    done = timbre(*typed, home=tmp_path / "ws")

    assert done.returncode == 1
    assert said in done.stderr and "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_problem_is_an_object_for_programs(tmp_path):
    done = timbre("jobs", "show", "nothing", "--json", home=tmp_path / "ws")

    assert done.returncode == 1
    assert set(json.loads(done.stdout)["error"]) == {"what", "fix"}


def test_an_unknown_command_is_refused_with_a_hint(tmp_path):
    done = timbre("dcotor", home=tmp_path / "ws")

    assert done.returncode == 2
    assert "doctor" in done.stderr


def test_a_newer_workspace_is_refused_politely(workspace):
    with workspace.store.change() as store:
        store.execute("PRAGMA user_version=99")

    done = timbre("jobs", "list", home=workspace.root)

    assert done.returncode == 1
    assert "newer Timbre" in done.stderr and "Update Timbre" in done.stderr


def test_a_fault_of_ours_is_kept_whole_and_said_in_a_sentence(workspace):
    (workspace.jobs / "aaaaaaaaaaaa").mkdir()
    with workspace.store.change() as store:
        values = ("aaaaaaaaaaaa", 1, "", "", "ended", "", "now")
        store.execute("INSERT INTO jobs VALUES (?, ?, ?, ?, ?, ?, ?)", values)

    done = timbre("jobs", "list", home=workspace.root)

    assert done.returncode == 1
    assert "Timbre has a fault here (FileNotFoundError" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Traceback" in (workspace.root / "faults.txt").read_text()


def test_the_home_comes_from_the_environment_when_it_is_not_typed(tmp_path):
    timbre("jobs", "list", TIMBRE_HOME=str(tmp_path / "mine"))

    assert (tmp_path / "mine" / "studio.db").exists()


def test_a_reader_that_leaves_early_is_no_error(workspace):
    command = f"{sys.executable} -m app jobs list --home {workspace.root} | head -c 0"

    done = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, text=True)

    assert done.stderr == ""
