import ast
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import project
from tests.project import HERE, Project, posix_only

SOURCE = (HERE / "launch.py").read_text(encoding="utf-8")


@pytest.fixture
def timbre(tmp_path: Path) -> Project:
    return project.make(tmp_path)


def wrong_pythons() -> list[str]:
    """Pythons on this machine that Timbre does not run on."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = sorted(versions.glob("*/bin/python"))
    return [str(path) for path in found if path.parts[-3][:4] not in ("3.10", "3.11", "3.12")]


def test_launch_has_nothing_in_it_that_an_old_python_cannot_read():
    nodes = list(ast.walk(ast.parse(SOURCE)))

    assert SOURCE.isascii()
    assert not [n for n in nodes if isinstance(n, ast.JoinedStr | ast.AnnAssign | ast.NamedExpr)]
    functions = [n for n in nodes if isinstance(n, ast.FunctionDef)]
    assert not [f.name for f in functions if f.returns or any(a.annotation for a in f.args.args)]
    # Python 2 takes a star only as an argument of a call.
    lists = [n for n in nodes if isinstance(n, ast.List | ast.Tuple)]
    assert not [n.lineno for n in lists if any(isinstance(e, ast.Starred) for e in n.elts)]


def test_importing_launch_does_nothing_and_needs_only_the_standard_library():
    imported = {
        name.name
        for node in ast.parse(SOURCE).body
        if isinstance(node, ast.Import)
        for name in node.names
    }

    assert imported <= set(sys.stdlib_module_names)


@pytest.mark.skipif(not wrong_pythons(), reason="no Python outside 3.10-3.12 on this machine")
def test_a_python_of_the_wrong_version_answers_with_one_sentence(timbre):
    for python in wrong_pythons():
        answer = timbre.start(python=python, PATH="/nowhere")

        assert answer.returncode == 1, python
        assert answer.stdout == ""
        assert answer.stderr.startswith(
            "Timbre needs Python 3.10, 3.11 or 3.12, and this is Python"
        )
        assert answer.stderr.count("\n") == 1
        assert "Install Python 3.12" in answer.stderr


@posix_only
@pytest.mark.skipif(not wrong_pythons(), reason="no Python outside 3.10-3.12 on this machine")
def test_a_python_of_the_wrong_version_goes_on_with_a_right_one_past_stubs(timbre):
    stub = timbre.fakes / "python3.12"
    stub.write_text("#!/bin/sh\necho 'python3.12: command not found' >&2\nexit 127\n")
    stub.chmod(0o755)
    (timbre.fakes / "python3.11").symlink_to(sys.executable)

    answer = timbre.start("doctor", python=wrong_pythons()[0])

    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["arguments"] == ["doctor"]


@posix_only
def test_arguments_the_folder_and_the_exit_code_pass_through(timbre, tmp_path):
    elsewhere = tmp_path / "my recordings"
    elsewhere.mkdir()
    (elsewhere / "app.py").write_text("raise SystemExit('the wrong app')")

    answer = timbre.start("import", "a b.mp3", "-rf", cwd=elsewhere, APP_EXIT="7")

    assert answer.returncode == 7
    said = json.loads(answer.stdout)
    assert said["arguments"] == ["import", "a b.mp3", "-rf"]
    assert said["folder"] == str(elsewhere)
    assert said["prefix"] == str(timbre.root / ".venv")


@posix_only
def test_the_environments_own_python_starts_it_as_well(timbre):
    timbre.start()

    answer = timbre.start("doctor", python=str(timbre.root / ".venv" / "bin" / "python"))

    assert json.loads(answer.stdout)["arguments"] == ["doctor"]
    assert len(timbre.asked) == 1


@posix_only
def test_packages_of_another_python_stay_out(timbre):
    answer = timbre.start(PYTHONPATH="/opt/another/python")

    assert "/opt/another/python" not in json.loads(answer.stdout)["path"]


@posix_only
def test_a_second_start_adds_less_than_0_3_seconds(timbre):
    timbre.start()
    direct = [str(timbre.root / ".venv" / "bin" / "python"), "-c", "pass"]

    added = []
    for _ in range(7):
        began = time.perf_counter()
        subprocess.run(direct, check=True)
        between = time.perf_counter()
        assert timbre.start().returncode == 0
        added.append(time.perf_counter() - between - (between - began))

    assert statistics.median(added) < 0.3


@posix_only
def test_ci_runs_the_command_that_a_person_types(tmp_path):
    ci = tmp_path / ".ci" / "run"
    ci.parent.mkdir()
    shutil.copy(HERE / ".ci" / "run", ci)
    (tmp_path / "launch.py").write_text("import sys; print(sys.argv); sys.exit(3)")

    answer = subprocess.run(["bash", str(ci)], capture_output=True, text=True)

    assert answer.stdout == "['launch.py', 'test']\n"
    assert answer.returncode == 3
