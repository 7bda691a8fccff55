"""Which process is meant."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from finetune.jobs import process

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


@pytest.fixture
def sleeper():
    child = subprocess.Popen(SLEEP)
    yield child
    child.kill()
    child.wait()


def test_a_process_is_known_again(sleeper):
    assert process.lives(process.identity(sleeper.pid))


def test_a_pid_that_was_handed_out_again_is_not_the_same_process(sleeper):
    known = process.identity(sleeper.pid)

    assert not process.lives(replace(known, created=known.created - 1))
    assert not process.lives(replace(known, boot="another"))


def test_an_ended_process_does_not_live_even_before_anybody_waited_for_it():
    child = subprocess.Popen([sys.executable, "-c", ""])
    known = process.identity(child.pid)
    deadline = time.monotonic() + 10
    while process.lives(known) and time.monotonic() < deadline:
        time.sleep(0.01)

    assert child.returncode is None, "nobody waited for it: it is a zombie now"
    assert not process.lives(known)
    child.wait()
    assert not process.lives(known)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system keeps dates, not ticks")
def test_setting_the_clock_does_not_change_who_a_process_is(sleeper, monkeypatch):
    known = process.identity(sleeper.pid)

    monkeypatch.setattr("psutil.boot_time", lambda: 1.0)
    monkeypatch.setattr("psutil._pslinux.boot_time", lambda: 1.0)

    assert process.lives(known)


def test_a_family_is_found_however_far_it_went(tmp_path):
    child = f"import subprocess, time; subprocess.Popen({SLEEP!r}, start_new_session=True); time.sleep(60)"
    mark = f"test-{os.getpid()}"
    known = process.start_detached(
        [sys.executable, "-c", child], tmp_path, {process.MARK: mark}, tmp_path / "log"
    )
    deadline = time.monotonic() + 10
    while len(family := process.family(mark)) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)

    assert known.pid in {member.pid for member in family} and len(family) == 2
    process.kill(family)
    while process.family(mark) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert process.family(mark) == []


def test_descendants_are_found_without_a_mark(tmp_path):
    parent = f"import subprocess, time; subprocess.Popen({SLEEP!r}, env={{}}); time.sleep(60)"
    known = process.start_detached([sys.executable, "-c", parent], tmp_path, {}, tmp_path / "log")
    deadline = time.monotonic() + 10
    while len(found := process.descendants(known)) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)

    assert len(found) == 2
    process.kill(found)
    while process.still_there(found) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert process.still_there(found) == [] and process.descendants(known) == []


def test_a_detached_process_has_a_session_of_its_own_and_nothing_to_read(tmp_path):
    code = "import os, sys; print(os.getsid(0) == os.getpid(), repr(sys.stdin.read()))"
    known = process.start_detached([sys.executable, "-c", code], tmp_path, {}, tmp_path / "log")
    deadline = time.monotonic() + 10
    while process.lives(known) and time.monotonic() < deadline:
        time.sleep(0.02)

    assert Path(tmp_path / "log").read_text().split() == ["True", "''"]


def test_a_mark_is_not_inherited_from_a_job_that_starts_another(tmp_path, monkeypatch):
    monkeypatch.setenv(process.MARK, "mine")
    code = f"import os; print(os.environ.get({process.MARK!r}))"

    process.start_child([sys.executable, "-c", code], tmp_path, {}, tmp_path / "log").wait()

    assert (tmp_path / "log").read_text().strip() == "None"
