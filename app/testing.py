"""What `launch.py test` does: brings what the tests need, then checks and runs everything."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from app.setup import installer
from app.setup.environment import Environment
from app.setup.start import wants_offline
from engines.errors import SetupError

BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "msedge",
)
COMPILERS = ("cc", "gcc", "clang")
SPEAKERS = ("flite", "espeak-ng")
CHECKS = (("ruff", "format", "--check", "."), ("ruff", "check", "."), ("mypy",))

# A blocked download hangs in its connection, so it gets a limit; a slow one needs some minutes.
PLAYWRIGHT_LIMIT_S = 300
APT_LIMIT_S = 600
# Each may load torch and a browser, of 2 GB together.
MOST_PROCESSES = 4

_PLAYWRIGHT_BROWSER = """
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    print(playwright.chromium.executable_path)
"""


def run(root: Path, pytest_args: Sequence[str], offline: bool = False) -> int:
    """Bring what is missing, run every check, and end with pytest and its summary."""
    installer.add(Environment(root), "test", offline or wants_offline((), os.environ))
    if platform.system() == "Linux":
        compiler()
        voices()
    # Threads that spin while they wait take the two cores of a small machine from each other.
    variables = os.environ | {"TIMBRE_TEST_BROWSER": browser(), "OMP_WAIT_POLICY": "PASSIVE"}
    results = {" ".join(check): _module(root, check, variables) for check in CHECKS}
    failed = [name for name, code in results.items() if code]
    _say(f"Failed: {', '.join(failed)}; see above." if failed else "All checks passed.")
    chosen = with_default_marks(pytest_args) + beside_each_other(pytest_args, os.cpu_count() or 1)
    tests = _module(root, ("pytest", *chosen), variables)
    return tests or int(bool(failed))


def with_default_marks(pytest_args: Sequence[str]) -> list[str]:
    """Leave out the tests that need a GPU, unless the person chose marks."""
    chosen = any(argument.startswith("-m") for argument in pytest_args)
    return list(pytest_args) if chosen else ["-m", "not gpu", *pytest_args]


def beside_each_other(pytest_args: Sequence[str], processors: int) -> list[str]:
    """Run the whole suite, of which nothing was chosen, by several processes, each file in one."""
    if pytest_args or processors < 2:
        return []
    return ["-n", str(min(processors, MOST_PROCESSES)), "--dist", "loadfile"]


def browser() -> str:
    """A Chromium for the browser tests: one that is here, else Playwright's, else Debian's."""
    found = _browser_here()
    for bring in (_playwright_install, _apt_chromium):
        if not found:
            bring()
            found = _browser_here()
    if not found:
        raise SetupError(
            "The browser tests need Chromium, Chrome or Edge, and none could be found or installed.",
            "Install one, or set TIMBRE_TEST_BROWSER to its program, then run the tests again.",
        )
    return found


def compiler() -> str:
    """A C compiler, which the tests of disk faults build their file-system shim with."""
    found = _on_path(COMPILERS)
    if not found:
        _apt("gcc", "libc6-dev")
        found = _on_path(COMPILERS)
    if not found:
        raise SetupError(
            "The tests of disk faults need a C compiler, and none could be found or installed.",
            "Install gcc or clang (Debian and Ubuntu: `sudo apt install gcc libc6-dev`),"
            " then run the tests again.",
        )
    return found


def voices() -> None:
    """Synthesisers for the tests that speak anew; those without them say that they were left out."""
    missing = [name for name in SPEAKERS if not shutil.which(name)]
    if missing:
        _apt(*missing)
    if not all(map(shutil.which, missing)):
        _say(f"Without {' and '.join(missing)} the tests that speak are left out.")


def _browser_here() -> str | None:
    if named := os.environ.get("TIMBRE_TEST_BROWSER"):
        return named
    if found := _on_path(BROWSERS):
        return found
    return next((str(path) for path in usual_places(platform.system()) if path.is_file()), None)


def usual_places(system: str) -> list[Path]:
    """Where browsers are that are not on the PATH, Playwright's own among them."""
    if system == "Darwin":
        names = ("Chromium", "Google Chrome", "Microsoft Edge")
        places = [Path(f"/Applications/{name}.app/Contents/MacOS/{name}") for name in names]
    elif system == "Windows":
        folders = ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA")
        programs = ("Google/Chrome/Application/chrome.exe", "Microsoft/Edge/Application/msedge.exe")
        homes = [Path(os.environ[name]) for name in folders if name in os.environ]
        places = [home / program for home in homes for program in programs]
    else:
        places = []
    asked = _quietly([sys.executable, "-c", _PLAYWRIGHT_BROWSER], limit_s=60)
    return [*places, Path(asked)] if asked else places


def _on_path(names: Sequence[str]) -> str | None:
    return next((path for name in names if (path := shutil.which(name)) and _runs(path)), None)


def _runs(program: str) -> bool:
    """Whether it is more than a stub, as Ubuntu's `chromium-browser` is without its snap."""
    # Chrome for Windows opens a window instead of printing its version.
    return platform.system() == "Windows" or bool(_quietly([program, "--version"], limit_s=60))


def _playwright_install() -> None:
    _say("No browser here: trying to fetch Playwright's Chromium.")
    _visibly([sys.executable, "-m", "playwright", "install", "chromium"], PLAYWRIGHT_LIMIT_S)


def _apt_chromium() -> None:
    _apt("chromium")


def _apt(*packages: str) -> None:
    """Install Debian packages, where there is apt and we may."""
    if sys.platform != "linux" or not shutil.which("apt-get") or os.geteuid() != 0:
        return
    _say(f"Installing {' and '.join(packages)} with apt.")
    _visibly(["apt-get", "update"], APT_LIMIT_S)
    _visibly(["apt-get", "install", "-y", "--no-install-recommends", *packages], APT_LIMIT_S)


def _visibly(command: Sequence[str], limit_s: float) -> None:
    """Run a command that may fail: what counts is whether the wanted program is there after it."""
    variables = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    try:
        subprocess.run(command, stdin=subprocess.DEVNULL, env=variables, timeout=limit_s)
    except (OSError, subprocess.TimeoutExpired) as problem:
        _say(f"{command[0]} did not do it: {problem}")


def _quietly(command: Sequence[str], limit_s: float) -> str:
    """The output of a command, nothing when it fails."""
    try:
        asked = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=limit_s
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return asked.stdout.strip() if asked.returncode == 0 else ""


def _module(root: Path, command: Sequence[str], variables: dict[str, str]) -> int:
    """Run one tool of the environment where everybody sees what it says."""
    _say(" ".join(["\n$", *command]))
    return subprocess.run([sys.executable, "-m", *command], cwd=root, env=variables).returncode


def _say(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")
    sys.stderr.flush()
