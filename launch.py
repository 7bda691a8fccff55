"""Start here: sets up what is missing, then opens the studio or runs one command."""
# Any Python, even 2.7, must be able to read this file and to say what is wrong.
# ruff: noqa: PTH100, PTH118, PTH120, RUF005

import os
import runpy
import subprocess
import sys

OLDEST = (3, 10)
NEWEST = (3, 12)
HERE = os.path.dirname(os.path.abspath(__file__))
READY = "TIMBRE_ENVIRONMENT_READY"

NO_PYTHON = """\
Timbre needs Python 3.10, 3.11 or 3.12, and this is Python {version}. \
Install Python 3.12 from python.org or with your system's package manager, then start again.
"""


def main(arguments):  # type: (list[str]) -> int
    # These belong to the Python that was typed and would leak its packages into the environment's.
    for name in ("PYTHONPATH", "PYTHONHOME", "__PYVENV_LAUNCHER__"):
        os.environ.pop(name, None)
    # Docker images and CI set this; without compiled files every start takes 3 s longer.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if HERE not in sys.path:  # PYTHONSAFEPATH leaves it out
        sys.path.insert(0, HERE)
    if os.environ.pop(READY, None) and sys.prefix != getattr(sys, "base_prefix", sys.prefix):
        runpy.run_module("app", run_name="__main__", alter_sys=True)
        return 0

    python = ready_python(arguments) if suits(sys.version_info[:2]) else another_python()
    if python is None:
        sys.stderr.write(NO_PYTHON.format(version=".".join(map(str, sys.version_info[:3]))))
        return 1
    return hand_over(python + [os.path.join(HERE, "launch.py")] + arguments)


def ready_python(arguments):  # type: (list[str]) -> list[str]
    from app.setup import start

    python = start.ready_python(HERE, arguments)
    os.environ[READY] = "1"
    return [python]


def suits(version):  # type: (tuple[int, ...]) -> bool
    return OLDEST <= version <= NEWEST


def another_python():  # type: () -> list[str] | None
    """Find a Python of the right version that really runs: a name on the PATH may be a stub."""
    for command in candidates():
        try:
            asked = subprocess.Popen(
                command + ["-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            answer = asked.communicate()[0].decode("ascii", "replace").strip()
            if asked.returncode == 0 and suits(tuple(int(part) for part in answer.split("."))):
                return command
        except (OSError, ValueError):
            continue
    return None


def candidates():  # type: () -> list[list[str]]
    versions = ["3.12", "3.11", "3.10"]
    if os.name == "nt":
        of_the_environment = os.path.join(HERE, ".venv", "Scripts", "python.exe")
        named = [["py", "-" + version] for version in versions]
    else:
        of_the_environment = os.path.join(HERE, ".venv", "bin", "python")
        named = [["python" + version] for version in versions]
    return [[of_the_environment]] + named + [["python3"], ["python"]]


def hand_over(command):  # type: (list[str]) -> int
    """Go on as another program: the same process, but on Windows, which cannot do that."""
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name != "nt":
        os.execvp(command[0], command)
    child = subprocess.Popen(command)
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:
            continue  # Ctrl-C reached the child too, and it decides


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
