import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from app.setup import installer
from app.setup.environment import read_stamp
from engines.errors import SetupError
from tests import project
from tests.project import Project, posix_only

pytestmark = posix_only

NO_NETWORK = {"FAKE_UV_SAYS": "  cause: dns error", "FAKE_UV_EXIT": "2"}


@pytest.fixture
def timbre(tmp_path: Path) -> Project:
    return project.make(tmp_path)


def until(true, seconds=20.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)


def test_a_first_start_installs_exactly_the_lock_and_opens_the_app(timbre):
    answer = timbre.start("--json")

    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["arguments"] == ["--json"]
    [asked] = timbre.asked
    assert asked[asked.index("pip") :][:3] == ["pip", "install", "--no-progress"]
    assert {"--require-hashes", "--no-deps"} <= set(asked)
    assert asked[asked.index("-r") + 1] == str(timbre.root / "requirements" / "studio.txt")
    assert asked[asked.index("--python") + 1] == str(timbre.root / ".venv" / "bin" / "python")
    assert "--offline" not in asked


def test_a_second_start_installs_nothing_and_says_nothing(timbre):
    timbre.start()

    answer = timbre.start()

    assert answer.stderr == ""
    assert len(timbre.asked) == 1


def test_changed_requirements_are_installed_once(timbre):
    timbre.start()
    timbre.change_requirements()

    timbre.start()
    timbre.start()

    assert len(timbre.asked) == 2


def test_what_torch_says_of_itself_is_kept_even_when_it_cannot_be_imported(timbre):
    timbre.start()

    stamp = read_stamp(timbre.root)
    assert stamp is not None
    assert "No module named 'torch'" in (stamp.torch.problem or "")


def test_without_a_network_an_environment_that_stood_is_used(timbre):
    timbre.start()
    timbre.change_requirements()

    answer = timbre.start("runs", **NO_NETWORK)

    assert answer.returncode == 0
    assert json.loads(answer.stdout)["arguments"] == ["runs"]
    assert "going on with those installed on 20" in answer.stderr


def test_without_a_network_one_that_never_stood_says_what_is_missing(timbre):
    answer = timbre.start(**NO_NETWORK)

    assert answer.returncode == 1
    assert answer.stdout == ""
    last = answer.stderr.splitlines()[-1]
    assert last.startswith(
        "Packages that Timbre needs are not on this computer yet, and there is no"
    )
    assert "Traceback" not in answer.stderr


@pytest.mark.parametrize("how", ["--offline", "TIMBRE_OFFLINE"])
def test_offline_is_passed_on(timbre, how):
    if how == "--offline":
        timbre.start("--offline")
    else:
        timbre.start(TIMBRE_OFFLINE="1")

    assert "--offline" in timbre.asked[0]


def test_a_failed_set_up_goes_on_at_the_next_start(timbre):
    failed = timbre.start(FAKE_UV_SAYS="error: No space left on device", FAKE_UV_EXIT="2")

    answer = timbre.start()

    assert failed.returncode == 1
    assert "The disk is full. Free some gigabytes" in failed.stderr
    assert answer.returncode == 0, answer.stderr


def test_a_half_made_environment_is_made_anew(timbre):
    half = timbre.root / ".venv" / "bin"
    half.mkdir(parents=True)
    (half / "python").symlink_to("/nowhere/python3.11")

    answer = timbre.start()

    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["prefix"] == str(timbre.root / ".venv")


@pytest.mark.parametrize("stop", [os.kill, getattr(os, "killpg", None)])
def test_ctrl_c_is_one_sentence_and_the_installer_ends_too(timbre, stop):
    running = timbre.begin(FAKE_UV_SLEEPS="60")
    until(lambda: timbre.asked)

    stop(running.pid, signal.SIGINT)
    said = running.communicate(timeout=20)[1]

    assert running.returncode == 130
    assert said.endswith("Set-up stopped. The same command goes on where it stopped.\n")
    again = timbre.start()
    assert again.returncode == 0
    assert "Another set-up" not in again.stderr


def test_a_killed_set_up_is_waited_for_and_gone_on_with(timbre):
    killed = timbre.begin(FAKE_UV_SLEEPS="1.5")
    until(lambda: timbre.asked)
    killed.kill()  # and its installer goes on, as an orphan
    killed.communicate(timeout=20)

    answer = timbre.start()

    assert answer.returncode == 0, answer.stderr
    assert "Another set-up is at work" in answer.stderr
    assert len(timbre.asked) == 2


def test_two_set_ups_at_once_install_once(timbre):
    first = timbre.begin(FAKE_UV_SLEEPS="1")
    until(lambda: timbre.asked)

    second = timbre.start()

    first.communicate(timeout=20)
    assert (first.returncode, second.returncode) == (0, 0)
    assert "waiting for it to end" in second.stderr
    assert len(timbre.asked) == 1


def test_an_old_uv_is_not_used(timbre):
    answer = timbre.start(FAKE_UV_VERSION="0.4.30", PIP_NO_INDEX="1", TIMBRE_OFFLINE="1")

    assert answer.returncode == 1
    assert timbre.asked == []
    assert "told to stay offline" in answer.stderr


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_one_sentence(timbre):
    timbre.root.chmod(0o555)
    try:
        answer = timbre.start()
    finally:
        timbre.root.chmod(0o755)

    assert answer.returncode == 1
    assert "cannot be written to. Move the Timbre folder" in answer.stderr


def test_a_file_where_the_environment_belongs_is_one_sentence(timbre):
    (timbre.root / ".venv").write_text("not a folder")

    answer = timbre.start()

    assert answer.returncode == 1
    assert answer.stderr.count("\n") == 1
    assert "The set-up failed" in answer.stderr


def test_too_little_room_names_what_is_needed_and_what_is_free(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=3.21e9))

    with pytest.raises(SetupError, match=r"needs 8 GB .* has 3.2 GB") as caught:
        installer.check_room(tmp_path / "not" / "there", 8_000_000_000)

    assert "move the Timbre folder" in caught.value.fix


def test_the_set_up_needs_nothing_but_the_standard_library():
    code = "import sys; import app.setup.installer, app.setup.start; print(*sys.modules)"

    # -S leaves out what is installed, so an import of it would fail
    loaded = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=project.HERE, capture_output=True, text=True
    )

    assert loaded.returncode == 0, loaded.stderr
    ours = {name for name in loaded.stdout.split() if name.split(".")[0] in ("app", "engines")}
    assert {name for name in ours if not name.startswith("app.setup")} == {
        "app", "engines", "engines.errors",
    }  # fmt: skip
