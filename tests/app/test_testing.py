import os
import platform
import sys
from pathlib import Path

import pytest

from app import testing
from engines.errors import SetupError
from tests.project import posix_only


def program(folder: Path, name: str, says: str = "1.0", code: int = 0) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{says}'\nexit {code}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """A machine with nothing on its PATH, where nothing can be installed."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("TIMBRE_TEST_BROWSER", raising=False)
    monkeypatch.setattr(testing, "usual_places", lambda system: [])
    monkeypatch.setattr(testing, "_playwright_install", lambda: None)
    return tmp_path


@pytest.fixture
def checked(monkeypatch):
    """What `run` starts, with everything it needs already there; each answers with its code."""
    started: dict[str, dict[str, str]] = {}
    codes: dict[str, int] = {}

    def module(root, command, variables):
        started[" ".join(command)] = variables
        return codes.get(command[0], 0)

    monkeypatch.setattr(testing.installer, "add", lambda environment, name, offline: None)
    monkeypatch.setattr(testing, "browser", lambda: "/usr/bin/a-browser")
    monkeypatch.setattr(testing, "compiler", lambda: "/usr/bin/cc")
    monkeypatch.setattr(testing, "voices", lambda: None)
    monkeypatch.setattr(testing, "_module", module)
    return started, codes


def test_all_checks_run_in_order_and_pytest_comes_last(checked, tmp_path):
    started, _ = checked

    code = testing.run(tmp_path, ["-x"])

    assert code == 0
    assert list(started) == [
        "ruff format --check .",
        "ruff check .",
        "mypy",
        "pytest -m not gpu -x",
    ]
    assert started["mypy"]["OMP_WAIT_POLICY"] == "PASSIVE"
    assert started["mypy"]["TIMBRE_TEST_BROWSER"] == "/usr/bin/a-browser"


def test_a_failed_check_is_named_before_pytest_and_fails_the_whole(checked, tmp_path, capsys):
    started, codes = checked
    codes["mypy"] = 1

    code = testing.run(tmp_path, [])

    assert code == 1
    assert "Failed: mypy; see above." in capsys.readouterr().err
    assert len(started) == 4


def test_pytests_own_code_is_passed_on(checked, tmp_path):
    checked[1]["pytest"] = 5

    assert testing.run(tmp_path, []) == 5


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ([], ["-m", "not gpu"]),
        (["--maxfail=1"], ["-m", "not gpu", "--maxfail=1"]),
        (["-m", "gpu"], ["-m", "gpu"]),
        (["-mgpu", "-x"], ["-mgpu", "-x"]),
    ],
)
def test_tests_for_a_gpu_are_left_out_unless_asked_for(asked, given):
    assert testing.with_default_marks(asked) == given


@pytest.mark.parametrize(
    ("asked", "processors", "given"),
    [
        ([], 2, ["-n", "2", "--dist", "loadfile"]),
        ([], 64, ["-n", "4", "--dist", "loadfile"]),
        ([], 1, []),
        (["tests/test_layers.py"], 8, []),
        (["-x"], 8, []),
    ],
)
def test_the_whole_suite_is_run_by_several_processes_and_a_part_by_one(asked, processors, given):
    assert testing.beside_each_other(asked, processors) == given


@posix_only
def test_a_browser_that_is_only_a_stub_is_passed_over(bare):
    program(bare, "chromium", says="install the snap", code=1)
    real = program(bare, "google-chrome")

    assert testing.browser() == str(real)


@posix_only
def test_playwrights_browser_is_tried_when_there_is_none(bare, monkeypatch):
    monkeypatch.setattr(testing, "_playwright_install", lambda: program(bare, "chrome"))

    assert testing.browser() == str(bare / "chrome")


@posix_only
def test_no_browser_is_a_failure_that_says_what_to_do(bare):
    with pytest.raises(SetupError, match="need Chromium, Chrome or Edge") as caught:
        testing.browser()

    assert "TIMBRE_TEST_BROWSER" in caught.value.fix


@posix_only
def test_no_compiler_is_a_failure_that_says_what_to_do(bare):
    with pytest.raises(SetupError, match="C compiler") as caught:
        testing.compiler()

    assert "apt install gcc" in caught.value.fix


@pytest.mark.skipif(platform.system() != "Linux", reason="apt is Debian's")
@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root installs with apt")
def test_debian_gets_its_compiler_with_apt(bare):
    apt = bare / "apt-get"
    apt.write_text(
        f'#!/bin/sh\necho "$@" >> {bare}/asked\n'
        f"if [ $1 = install ]; then printf '#!/bin/sh\\necho 12\\n' > {bare}/gcc; /bin/chmod +x {bare}/gcc; fi\n"
    )
    apt.chmod(0o755)

    assert testing.compiler() == str(bare / "gcc")

    assert (bare / "asked").read_text().splitlines() == [
        "update",
        "install -y --no-install-recommends gcc libc6-dev",
    ]


def test_usual_places_are_asked_of_each_system(monkeypatch):
    monkeypatch.setattr(testing, "_quietly", lambda command, limit_s: "/playwright/chrome")
    monkeypatch.setenv("PROGRAMFILES", "C:/Program Files")

    assert "Google Chrome.app" in str(testing.usual_places("Darwin"))
    assert "msedge.exe" in str(testing.usual_places("Windows"))
    assert testing.usual_places("Linux") == [Path("/playwright/chrome")]


def test_a_command_that_hangs_or_is_missing_says_nothing():
    assert testing._quietly([sys.executable, "-c", "import time; time.sleep(60)"], 0.3) == ""
    assert testing._quietly(["/no/such/program"], 1) == ""


def test_voices_are_brought_or_said_to_be_left_out(bare, monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(testing, "_apt", lambda *packages: asked.append(packages))

    testing.voices()
    program(bare, "flite")
    program(bare, "espeak-ng")
    testing.voices()

    assert asked == [("flite", "espeak-ng")]
    assert "the tests that speak are left out" in capsys.readouterr().err
