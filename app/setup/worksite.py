"""Where a set-up works: alone, with a log, and with programs whose failures become sentences."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from app.setup import failures
from app.setup.environment import Environment
from app.setup.progress import Line, Watcher
from app.setup.turn import turn


@dataclass(frozen=True)
class Worksite:
    """What the steps of one set-up share."""

    environment: Environment
    line: Line
    offline: bool
    held: int
    """The open lock file. Programs inherit it, so that a set-up whose parent was killed
    counts as under way until its last program ends."""
    system: str = field(default_factory=platform.system)

    def run(self, command: Sequence[str], title: str, watched: bool = False) -> None:
        """Run one program into the log file; its failure becomes a sentence."""
        log = self.environment.log
        with log.open("ab") as output:
            began_at = output.tell()
            process = subprocess.Popen(
                command,
                cwd=self.environment.root,  # uv takes settings from the folder it is started in
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=(self.held,) if os.name == "posix" else (),
            )
            self.line.show(title)
            _wait(process, Watcher(log, began_at, title, self.line) if watched else None)
        if process.returncode:
            with log.open("rb") as written:
                written.seek(began_at)
                text = written.read().decode("utf-8", "replace")
            raise failures.explain(text, log, self.system, self.offline)


@contextmanager
def worksite(environment: Environment, offline: bool) -> Iterator[Worksite]:
    """Wait for a turn in the folder of the environment, and work there."""
    line = Line(sys.stderr)

    def waiting() -> None:
        line.say(f"Another set-up is at work in {environment.root}: waiting for it to end.")

    try:
        environment.folder.mkdir(exist_ok=True)
        with turn(environment.lock, waiting) as held:
            yield Worksite(environment, line, offline, held)
    except OSError as problem:
        raise failures.explain_os_error(problem, platform.system()) from problem
    finally:
        line.clear()


def _wait(process: subprocess.Popen[bytes], watcher: Watcher | None) -> None:
    try:
        while process.poll() is None:
            if watcher:
                watcher.look(process.pid)
            try:
                process.wait(timeout=0.5)
            except subprocess.TimeoutExpired:
                continue
    except BaseException:
        # Ctrl-C reached the program too, unless it was started in the background.
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
        raise
