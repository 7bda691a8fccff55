"""A job's folder: everything about it is in there, so that any studio finds it again."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from finetune.jobs.events import Event, Progress, Said, Step, from_line
from finetune.jobs.outcome import Outcome
from finetune.jobs.process import MARK, Identity
from voices import files

# The tail of the events that is searched for the newest progress.
_TAIL_BYTES = 64 * 1024
MEANWHILE_SECONDS = 2.0
_CODE = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Request:
    """What a job is to do."""

    kind: str
    title: str
    argv: tuple[str, ...]
    needs: str = ""
    """What only one job at a time can have: "gpu-0", "cpu", or "" for nothing."""
    once: str = ""
    """Two requests with the same word are one: a double click starts one job."""
    save_seconds: float = 30.0
    """How long it may take to save when asked to stop; after that it is ended."""
    end_seconds: float = 10.0
    """How long it may take to end when told to; after that it is killed."""
    variables: tuple[tuple[str, str], ...] = ()
    """What of the environment holds for it, whoever starts it later."""


@dataclass(frozen=True, slots=True)
class JobFolder:
    """A job as it stands on disk. `path.name` is its id."""

    path: Path

    @property
    def id(self) -> str:
        return self.path.name

    @property
    def events_path(self) -> Path:
        return self.path / "events.jsonl"

    @property
    def log_path(self) -> Path:
        return self.path / "log.txt"

    @property
    def heartbeat_path(self) -> Path:
        return self.path / "heartbeat"

    @property
    def stop_path(self) -> Path:
        """Its being there is the wish."""
        return self.path / "control" / "stop"

    @property
    def silent_path(self) -> Path:
        """There while the job's heart has not beaten for long."""
        return self.path / "silent"

    def environment(self) -> dict[str, str]:
        """What a job's process finds in its environment beside what was there."""
        # Threads that spin while they wait take the core from what they wait for: beside one other
        # busy process, a training on two cores took seven times as long.
        waiting = os.environ.get("OMP_WAIT_POLICY", "PASSIVE")
        return {
            **code_path(), "PYTHONUNBUFFERED": "1", "OMP_WAIT_POLICY": waiting, MARK: self.id
        }  # fmt: skip

    def write_request(self, request: Request) -> None:
        """Lay the folder out, the request last."""
        files.make_folder(self.path)
        files.make_folder(self.path / "control")
        (self.path / "command.txt").write_text(self._command(request), encoding="utf-8")
        files.write_json(self.path / "job.json", {"v": 1, **asdict(request)})

    def request(self) -> Request:
        """What was asked for; what only a newer Timbre knows is left out."""
        content = json.loads((self.path / "job.json").read_bytes())
        known = {
            field.name: content[field.name] for field in fields(Request) if field.name in content
        }
        known["variables"] = tuple((name, value) for name, value in known.get("variables", ()))
        return Request(**{**known, "argv": tuple(known["argv"])})

    def is_readable(self) -> bool:
        """Whether its request can be read: people delete folders, and disks lose files."""
        try:
            self.request()
        except (OSError, ValueError, KeyError, TypeError):
            return False
        return True

    def command(self) -> str:
        """What was run, as a person can type it."""
        try:
            return (self.path / "command.txt").read_text(encoding="utf-8")
        except FileNotFoundError:
            return "(command.txt is gone)"

    def write_processes(self, keeper: Identity, worker: Identity | None) -> None:
        """Note who works here; without a worker: that one is about to be started."""
        processes = {"keeper": asdict(keeper), "worker": asdict(worker) if worker else None}
        files.write_json(self.path / "process.json", {"v": 1, **processes})

    def keeper(self) -> Identity | None:
        """The process that stays beside the job, once it is there."""
        return self._process("keeper")

    def worker(self) -> Identity | None:
        """The process that does the work, once it was started."""
        return self._process("worker")

    def was_begun(self) -> bool:
        """Whether the work was ever about to start: then it is never started again."""
        return (self.path / "process.json").exists()

    def write_outcome(self, outcome: Outcome) -> None:
        files.write_json(self.path / "outcome.json", {"v": 1, **asdict(outcome)})

    def outcome(self) -> Outcome | None:
        """How it ended, or None while it has not."""
        path = self.path / "outcome.json"
        content = _read_json(path)
        if content:
            del content["v"]
            return Outcome(**{**content, "log": tuple(content["log"])})
        return Outcome("interrupted", "How it ended cannot be read.") if path.exists() else None

    def ask_to_stop(self) -> None:
        self.stop_path.touch()

    def stop_asked(self) -> bool:
        return self.stop_path.exists()

    def ask(self, what: str) -> None:
        """Leave a wish there, such as "save": its being there is the wish."""
        (self.path / "control" / what).touch()

    def asked(self, what: str) -> bool:
        return (self.path / "control" / what).exists()

    def answered(self, what: str) -> None:
        """Take a wish away that is fulfilled, so that it can be left there again."""
        (self.path / "control" / what).unlink(missing_ok=True)

    def progress(self) -> Progress | None:
        """
        The newest progress the job told; a step of a training is one.

        One at its end is over when something was said since: then nobody knows how far it is.
        """
        is_over = False
        for event in filter(None, map(from_line, reversed(_tail(self.events_path)))):
            match event:
                case Said():
                    is_over = True
                case Progress(done, total):
                    return None if is_over and done >= total else event
                case Step(step, total):
                    told = Progress(step, total, "steps", event.seconds_left)
                    return None if is_over and step >= total else told
        return None

    def last_word(self) -> Event | None:
        """The last event of the job, whatever it is."""
        said = (from_line(line) for line in reversed(_tail(self.events_path)))
        return next((event for event in said if event is not None), None)

    def log_tail(self) -> str:
        return "\n".join(_tail(self.log_path))

    def follow(
        self, poll_seconds: float = 0.2, meanwhile: Callable[[], None] = lambda: None
    ) -> Iterator[Event]:
        """
        Yield every event from the start, then new ones until the job has ended or is gone.

        `meanwhile` is called now and then: with no studio there, nobody else may notice an end.
        """
        position, ended, looked_at = 0, False, time.monotonic()
        while True:
            lines, position = read_lines(self.events_path, position)
            yield from filter(None, map(from_line, lines))
            if ended:
                return
            # Asked before the last reading, so that the last words are not missed.
            ended = self.outcome() is not None or not self.path.exists()
            if not ended:
                time.sleep(poll_seconds)
            if time.monotonic() - looked_at > MEANWHILE_SECONDS:
                looked_at = time.monotonic()
                meanwhile()

    def discard(self) -> None:
        """Remove the folder of a job that was never queued."""
        shutil.rmtree(self.path)

    def _process(self, which: str) -> Identity | None:
        found = _read_json(self.path / "process.json").get(which)
        return Identity(**found) if found else None

    def _command(self, request: Request) -> str:
        """The lines a person can type to run exactly this again."""
        windows = sys.platform == "win32"
        known = {**self.environment(), **dict(request.variables)}
        del known[MARK]
        if windows:
            setting = [f"set {name}={value}" for name, value in known.items()]
            lines = [f'cd /d "{self.path}"', *setting, subprocess.list2cmdline(request.argv)]
        else:
            setting = [f"export {name}={shlex.quote(value)}" for name, value in known.items()]
            lines = [f"cd {shlex.quote(str(self.path))}", *setting, shlex.join(request.argv)]
        return "\n".join([*lines, ""])


def code_path() -> dict[str, str]:
    """The variable with which a process started anywhere finds our code."""
    return {"PYTHONPATH": str(_CODE)}


def read_lines(path: Path, position: int) -> tuple[list[str], int]:
    """Read the whole lines from a position on, and where the next reading starts."""
    try:
        with path.open("rb") as file:
            file.seek(position)
            content = file.read()
    except FileNotFoundError:
        return [], position
    whole = content[: content.rfind(b"\n") + 1]
    return whole.decode("utf-8", "replace").splitlines(), position + len(whole)


def _tail(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
            return file.read().decode("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return []


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    except PermissionError:
        if sys.platform != "win32":
            raise
        time.sleep(0.05)  # it is being replaced at this moment
        return _read_json(path)
    return content
