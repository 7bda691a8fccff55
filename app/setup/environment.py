"""Where the environment is, and whether what was installed is what is wanted."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class TorchFacts:
    """What the torch build says of itself: importing torch to ask takes seconds."""

    version: str
    cuda: str | None
    """The CUDA version it was built for, None when it was built without."""
    architectures: tuple[str, ...]
    """Compute capabilities it has code for, like "sm_90"."""
    problem: str | None
    """Why it cannot be imported, None when it can."""


@dataclass(frozen=True)
class Stamp:
    """What a finished set-up leaves behind."""

    key: str
    date: str
    torch: TorchFacts


@dataclass(frozen=True)
class Environment:
    """The folder .venv beside launch.py."""

    root: Path

    @property
    def folder(self) -> Path:
        return self.root / ".venv"

    @property
    def python(self) -> Path:
        return self.scripts / ("python.exe" if sys.platform == "win32" else "python")

    @property
    def scripts(self) -> Path:
        return self.folder / ("Scripts" if sys.platform == "win32" else "bin")

    @property
    def log(self) -> Path:
        return self.folder / "setup.log"

    @property
    def lock(self) -> Path:
        return self.folder / "setup.lock"

    @property
    def stamp(self) -> Path:
        return self.folder / "timbre.json"

    def requirements(self, name: str) -> Path:
        """The lock file of one set of packages: studio, test or uv."""
        return self.root / "requirements" / f"{name}.txt"


def key(environment: Environment) -> str:
    """Everything that, when it changes, asks for another set-up."""
    digest = hashlib.sha256()
    for name in ("studio", "uv"):
        digest.update(environment.requirements(name).read_bytes())
    # The real path, because a system upgrade can put another Python behind the same name.
    python = os.path.realpath(environment.python)
    digest.update(f"{sys.platform} {platform.machine()} {python}".encode())
    return digest.hexdigest()


def stands(environment: Environment) -> bool:
    """Whether the environment is there and is the one that is wanted."""
    stamp = read_stamp(environment.root)
    return stamp is not None and environment.python.exists() and stamp.key == key(environment)


def read_stamp(root: Path) -> Stamp | None:
    """Read what the last finished set-up left; None when there was none."""
    try:
        written = json.loads(Environment(root).stamp.read_text(encoding="utf-8"))
        torch = written["torch"]
        facts = TorchFacts(
            torch["version"], torch["cuda"], tuple(torch["architectures"]), torch["problem"]
        )
        return Stamp(written["key"], written["date"], facts)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_stamp(environment: Environment, stamp: Stamp) -> None:
    """Write the stamp, last and whole: its presence says that the set-up finished."""
    unfinished = environment.stamp.with_suffix(".new")
    unfinished.write_text(json.dumps(asdict(stamp), indent=2) + "\n", encoding="utf-8")
    unfinished.replace(environment.stamp)
