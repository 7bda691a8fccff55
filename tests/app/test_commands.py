"""The table of commands, as a person types them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from app.commands import app
from app.terminal import globals_first
from app.version import timbre_version
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

    for command in ("doctor", "test", "bench", "jobs", "import", "transcribe", "dataset", "clips"):
        assert f" {command} " in said
    for command in ("plan", "train", "make", "runs", "models", "voices", "speak", "monitor"):
        assert f" {command} " in said
    assert " serve " not in said


def commands(table, *before):
    """Every command of the table, as it is typed."""
    for name, command in table.commands.items():
        yield (*before, name)
        yield from commands(command, *before, name) if hasattr(command, "commands") else ()


@pytest.mark.parametrize("command", [*commands(typer.main.get_command(app))], ids=" ".join)
def test_every_command_explains_itself(command):
    done = CliRunner().invoke(app, [*command, "--help"], prog_name="launch.py")

    assert done.exit_code == 0
    assert "Usage: launch.py" in done.stdout


@pytest.mark.parametrize(
    "command",
    ["import", "transcribe", "dataset build", "clips split", "train", "make", "runs resume"],
)
def test_help_shows_how_a_command_is_typed_and_that_programs_may_ask(command):
    said = timbre(*command.split(), "--help").stdout

    assert f"launch.py {command} " in said and "--json" in said


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
    assert "of 100,000 steps" in followed.stdout and "Saved at step" in followed.stdout
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
    job = queue.submit(workspace, request("count", 1))
    list(job.folder.follow(poll_seconds=0.05))
    (job.folder.path / "outcome.json").write_text('{"v": 1, "unheard": true}')

    done = timbre("jobs", "list", f"--home={workspace.root}")

    assert done.returncode == 1
    assert "Timbre has a fault here (" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Traceback" in (workspace.root / "faults.txt").read_text()


def test_the_home_comes_from_the_environment_when_it_is_not_typed(tmp_path):
    timbre("jobs", "list", TIMBRE_HOME=str(tmp_path / "mine"))

    assert (tmp_path / "mine" / "studio.db").exists()


def test_a_reader_that_leaves_early_is_no_error(workspace):
    command = f"{sys.executable} -m app jobs list --home {workspace.root} | head -c 0"

    done = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, text=True)

    assert done.stderr == ""


@pytest.mark.parametrize("typed", ["", "="])
def test_an_empty_home_is_no_home(typed, tmp_path):
    option = ["--home", ""] if not typed else ["--home="]

    timbre("jobs", "list", *option, TIMBRE_HOME=str(tmp_path / "mine"))

    assert (tmp_path / "mine" / "studio.db").exists()
    assert not (ROOT / "studio.db").exists()


def test_a_home_that_cannot_be_is_said_in_words():
    done = timbre("doctor", home="~nobody-of-this-name/x")

    assert done.returncode == 1
    assert "is not a folder" in done.stderr and "Traceback" not in done.stderr


def test_a_terminal_without_our_signs_gets_what_it_can_show(tmp_path):
    done = timbre("doctor", home=tmp_path, PYTHONIOENCODING="ascii")

    assert "Audio" in done.stdout and "fault" not in done.stderr


def test_misuse_is_an_object_for_programs_too(tmp_path):
    done = timbre("doctor", "--json", "--prot", home=tmp_path)

    assert done.returncode == 2
    assert "--prot" in json.loads(done.stdout)["error"]["what"]


def test_a_damaged_environment_is_said_in_a_sentence(tmp_path):
    code = """if True:
        import runpy, sys
        sys.modules["filelock"] = None
        sys.argv = ["launch.py", "doctor"]
        runpy.run_module("app", run_name="__main__")"""

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)

    assert done.returncode == 1
    assert "Delete the folder .venv" in done.stderr and "Traceback" not in done.stderr


def test_a_job_whose_folder_was_deleted_spoils_nothing(workspace):
    gone = queue.submit(workspace, request("count", 1))
    list(gone.folder.follow(poll_seconds=0.05))
    shutil.rmtree(gone.folder.path)
    there = queue.submit(workspace, request("count", 1))
    list(there.folder.follow(poll_seconds=0.05))

    listed = json.loads(timbre("jobs", "list", "--json", home=workspace.root).stdout)

    assert [job["id"] for job in listed] == [there.id, gone.id]
    assert "deleted or damaged" in timbre("jobs", "show", gone.id, home=workspace.root).stdout
