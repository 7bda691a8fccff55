"""The steps of a set-up: room, Python, uv, packages, and the stamp that says they are done."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

from app.setup import failures, uv
from app.setup.environment import (
    Environment,
    Stamp,
    TorchFacts,
    key,
    read_stamp,
    stands,
    write_stamp,
)
from app.setup.progress import duration
from app.setup.worksite import Worksite, worksite
from engines.errors import SetupError

ROOM_FIRST = 9_000_000_000
# Going on, or exchanging some packages: most of it is there, and how much is not known before.
ROOM_AGAIN = 1_000_000_000

_PYTHON_FACTS = "import sys; print(*sys.version_info[:2], sys.prefix != sys.base_prefix)"
_TORCH_FACTS = """
import json
facts = {"version": "", "cuda": None, "architectures": [], "problem": None}
try:
    import torch
    flags = getattr(torch._C, "_cuda_getArchFlags", lambda: None)() or ""
    facts.update(version=torch.__version__, cuda=torch.version.cuda, architectures=flags.split())
except Exception as problem:
    facts["problem"] = f"{type(problem).__name__}: {problem}"
print(json.dumps(facts))
"""


def set_up(environment: Environment, offline: bool) -> None:
    """Bring the environment to what is wanted, from whatever state it is in."""
    with worksite(environment, offline) as place:
        if stands(environment):
            return  # another set-up did it while this one waited
        before = read_stamp(environment.root)
        try:
            _install_all(place)
        except failures.NetworkError:
            if before is None or not _python_fits(environment):
                raise
            place.line.say(
                "Other packages are wanted, but they cannot be fetched without a network:"
                f" going on with those installed on {before.date[:10]}."
            )


def add(environment: Environment, name: str, offline: bool) -> None:
    """Install one more set of packages into an environment that stands, once."""
    lock = environment.requirements(name)
    done = environment.folder / f"{name}.installed"
    wanted = key(environment) + "\n" + lock.read_text(encoding="utf-8")
    if done.is_file() and done.read_text(encoding="utf-8") == wanted:
        return
    with worksite(environment, offline) as place:
        uv.install(place, uv.find(place), lock, f"Installing what `{name}` needs (once)")
        done.write_text(wanted, encoding="utf-8")


def check_room(folder: Path, needed: int) -> None:
    """Refuse to begin what would end in a full disk."""
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise SetupError(
            f"Setting up needs {needed / 1e9:.0f} GB of free disk space"
            f" and the disk of {folder} has {free / 1e9:.1f} GB.",
            "Free some, or move the Timbre folder to a larger disk, then start again.",
        )


def _install_all(place: Worksite) -> None:
    environment, began = place.environment, time.monotonic()
    room = ROOM_AGAIN if environment.python.exists() else ROOM_FIRST
    check_room(environment.root, room)
    place.line.say(f"Setting up Timbre in {environment.root}.")
    if not _python_fits(environment):
        _make_python(place)
    installer = uv.find(place)
    check_room(uv.cache(installer), room)
    uv.install_studio(place, installer)
    place.line.show("Looking at what was installed")
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    write_stamp(environment, Stamp(key(environment), now, _torch_facts(environment)))
    place.line.say(f"Timbre is set up ({duration(time.monotonic() - began)}).")


def _python_fits(environment: Environment) -> bool:
    """Whether the environment's Python runs and is still the version it was made with."""
    try:
        made = (environment.folder / "pyvenv.cfg").read_text(encoding="utf-8")
        asked = subprocess.run(
            [environment.python, "-c", _PYTHON_FACTS], capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    version = re.search(r"^version(?:_info)? *= *(\d+)\.(\d+)", made, re.MULTILINE)
    return version is not None and asked.stdout.split() == [*version.groups(), "True"]


def _make_python(place: Worksite) -> None:
    """Make the environment anew, with the Python that runs this (not one of an environment)."""
    folder = place.environment.folder
    kept = {place.environment.lock, place.environment.log}
    for old in [path for path in folder.iterdir() if path not in kept]:
        if old.is_dir() and not old.is_symlink():
            shutil.rmtree(old)
        else:
            old.unlink()
    base = getattr(sys, "_base_executable", sys.executable)
    # uv's own `uv venv` would do as well, but this is there in every Python, with uv or without.
    place.run([base, "-m", "venv", "--without-pip", str(folder)], "Making the environment")


def _torch_facts(environment: Environment) -> TorchFacts:
    """Ask the torch that was just installed, in its own process, whether and what it is."""
    asked = subprocess.run([environment.python, "-c", _TORCH_FACTS], capture_output=True, text=True)
    try:
        facts = json.loads(asked.stdout)
    except ValueError:
        why = f"Python ended with code {asked.returncode} while importing torch"
        return TorchFacts("", None, (), why)
    return TorchFacts(
        facts["version"], facts["cuda"], tuple(facts["architectures"]), facts["problem"]
    )
