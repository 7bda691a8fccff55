"""Piper's own runtime, in an environment of its own: it is another's program, and never imported."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_VERSION = "1.8.0"
_FOLDER = Path(__file__).parents[3] / ".test-artefacts" / f"piper-{_VERSION}"
_PATIENCE_S = 120


def piper_python() -> Path:
    """Python of the environment that has Piper, made at its first use; skips where it cannot be."""
    python = _FOLDER / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    ready = _FOLDER / "ready"
    if not ready.exists():
        uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
        if uv is None:
            pytest.skip("There is no uv to install Piper with.")
        shutil.rmtree(_FOLDER, ignore_errors=True)
        _run(uv, "venv", "--python", sys.executable, str(_FOLDER))
        _run(uv, "pip", "install", "--python", str(python), f"piper-tts=={_VERSION}")
        ready.touch()
    return python


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE_S)
    if done.returncode:
        pytest.skip(f"Piper could not be installed: {done.stderr.strip()[-300:]}")


def say(python: Path, voice: Path, text: str, wav: Path, length_scale: float) -> str:
    """Let Piper's command speak; what it says about that."""
    done = subprocess.run(
        [
            *(str(python), "-m", "piper", "--model", str(voice), "--output-file", str(wav)),
            *("--length-scale", str(length_scale), "--", text),
        ],
        capture_output=True, text=True, timeout=60, encoding="utf-8",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stderr
