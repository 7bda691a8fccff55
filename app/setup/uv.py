"""uv, which installs everything: the machine's own, or one brought into the environment."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from app.setup import packages
from app.setup.worksite import Worksite

# The first uv that knows every option used here.
OLDEST = (0, 7)


def find(place: Worksite) -> str:
    """The machine's uv, else the environment's, brought when it is missing or another version."""
    on_path = shutil.which("uv")
    if on_path and version(on_path) >= OLDEST:
        return on_path
    own = place.environment.scripts / ("uv.exe" if place.system == "Windows" else "uv")
    lock = place.environment.requirements("uv")
    pinned = packages.pins(lock.read_text(encoding="utf-8"), {"uv"})[0]
    if version(str(own)) != _numbers(pinned):
        _bring(place, lock)
    return str(own)


def version(uv: str) -> tuple[int, ...]:
    """The version of a uv; nothing when it is not there or does not run."""
    try:
        asked = subprocess.run([uv, "--version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return _numbers(asked.stdout)


def cache(uv: str) -> Path:
    """Where it keeps what it fetched: mostly on the home folder's disk."""
    asked = subprocess.run([uv, "--color", "never", "cache", "dir"], capture_output=True, text=True)
    return Path(asked.stdout.strip() or Path.home()).absolute()


def install_studio(place: Worksite, uv: str) -> None:
    """Install what Timbre runs on, with the torch that fits this machine."""
    lock = place.environment.requirements("studio")
    title = f"Installing (once, about {packages.gigabytes(place.system)} GB)"
    if packages.torch_backend(place.system, _driver()) is None:
        install(place, uv, lock, title)
        return
    # torch for this machine comes from PyTorch's own index: other files than the lock has hashes
    # for. Its version is still the lock's; everything else is installed with hashes.
    text = lock.read_text(encoding="utf-8")
    torch = packages.pins(text, {"torch", "torchaudio"})
    place.run([*_pip_install(place, uv), "--torch-backend=auto", *torch], title, watched=True)
    rest = place.environment.folder / "without-torch.txt"
    rest.write_text(packages.without_torch(text), encoding="utf-8")
    install(place, uv, rest, title)


def install(place: Worksite, uv: str, lock: Path, title: str) -> None:
    """Install exactly what a lock file says; what is there already stays."""
    command = [*_pip_install(place, uv), "--require-hashes", "--no-deps", "-r", str(lock)]
    place.run(command, title, watched=True)


def _pip_install(place: Worksite, uv: str) -> list[str]:
    command = [uv, "--color", "never", "pip", "install", "--no-progress"]
    command += ["--python", str(place.environment.python)]
    return [*command, "--offline"] if place.offline else command


def _bring(place: Worksite, lock: Path) -> None:
    python = str(place.environment.python)
    if subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode:
        place.run([python, "-m", "ensurepip"], "Bringing the installer")
    # Five retries, pip's default, would keep a person without a network waiting for a minute.
    command = [python, "-m", "pip", "install", "--no-input", "--retries", "1"]
    command += ["--require-hashes", "--no-deps", "--only-binary", ":all:", "-r", str(lock)]
    if place.offline:
        command.append("--no-index")
    place.run(command, "Bringing the installer")


def _numbers(text: str) -> tuple[int, ...]:
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", text)
    return tuple(int(part) for part in found.groups()) if found else ()


def _driver() -> int | None:
    try:
        return packages.nvidia_driver(Path("/proc/driver/nvidia/version").read_text())
    except OSError:
        return None
