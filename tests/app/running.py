"""Starts the tiny studio as a process of its own and talks to it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]


class Running:
    """A studio process and its address."""

    def __init__(self, process: subprocess.Popen, folder: Path, log: Path) -> None:
        self.process = process
        self.folder = folder
        self.log = log
        self.url = process.stdout.readline().strip()
        assert self.url.startswith("http://"), log.read_text()

    def get(self, path: str = "", data: bytes | None = None, **headers: str):
        """Ask for a page; give its status, headers and text."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(self.url + path, data, named)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, refused.headers, refused.read().decode()

    def health(self) -> dict:
        return json.loads(self.get("timbre/health")[2])

    def wait_until(self, state: str, seconds: float = 60) -> float:
        """Wait for a state, and say how long it took."""
        begun = time.monotonic()
        while self.health()["state"] != state:
            assert time.monotonic() - begun < seconds, self.log.read_text()
            time.sleep(0.05)
        return time.monotonic() - begun

    def stop(self) -> tuple[int, float]:
        """Ask the process to end; give its exit code and how long it took."""
        begun = time.monotonic()
        self.process.terminate()
        code = self.process.wait(20)
        return code, time.monotonic() - begun


@contextmanager
def studio(folder: Path, *words: str, port: int = 0):
    """Run a tiny studio, from a folder that is not the project's."""
    log = folder / "log.txt"
    command = [sys.executable, "-m", "tests.app.tiny_studio", str(port), str(folder), *words]
    with (
        log.open("w") as errors,
        subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        try:
            yield Running(process, folder, log)
        finally:
            process.kill()
