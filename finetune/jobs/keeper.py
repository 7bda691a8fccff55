"""
The small process that stays beside a job: starts it, hears its heart, ends it, says how it ended.

`python -m finetune.jobs.keeper FOLDER`. It outlives the studio, so that an exit code is never
lost, a stop that was asked for is carried through, and the queue goes on with nobody watching.
When it is killed itself the job goes on, and the next one adopts it.
"""

from __future__ import annotations

import subprocess
import sys
import time
import traceback
from dataclasses import replace
from pathlib import Path

import psutil
from filelock import FileLock, Timeout

from engines.errors import DiskFullError
from finetune import gpu
from finetune.jobs import process, queue
from finetune.jobs.folder import JobFolder, Request
from finetune.jobs.outcome import Exit, Outcome, classify, failure_of, failure_to_start
from voices import files
from voices.workspace import open_workspace

POLL_SECONDS = 0.2
FAMILY_SECONDS = 5.0
SILENT_SECONDS = 120.0
# A killed process is gone at once, unless it hangs in a driver's call; then it keeps its GPU, and
# nothing else may be started there.
UNKILLABLE_SECONDS = 30.0
GPU_BACK_SECONDS = 5.0
ROOM_SECONDS = 2.0


def main(path: Path) -> None:
    """Keep one job to its end, then let the queue go on. A second keeper leaves at once."""
    folder = JobFolder(path)
    try:
        with FileLock(path / "keeper.lock", timeout=1):
            if folder.outcome() is None:
                write_when_there_is_room(folder, _kept(folder))
                # Asked and answered; whoever runs its command again has not asked to stop.
                folder.stop_path.unlink(missing_ok=True)
    except Timeout:
        return
    workspace = open_workspace(path.parent.parent)
    try:
        queue.advance(workspace)
    finally:
        workspace.close()


def _kept(folder: JobFolder) -> Outcome:
    """Keep a job; a fault in here is an end as well, or the next keeper would meet it again."""
    try:
        return Keeper(folder).keep()
    except Exception as error:
        traceback.print_exc()
        said = failure_of(error)
        return Outcome(said.cause, said.what, said.fix)


def write_when_there_is_room(folder: JobFolder, outcome: Outcome) -> None:
    """Write how it ended; on a full disk, which may be why it ended, wait for room."""
    while True:
        try:
            folder.write_outcome(outcome)
            return
        except DiskFullError:
            time.sleep(ROOM_SECONDS)


class Keeper:
    """One job's process, from its start, or its adoption, to its end."""

    def __init__(self, folder: JobFolder) -> None:
        self._folder = folder
        self._request = folder.request()
        self._child: subprocess.Popen[bytes] | None = None
        self._family: set[psutil.Process] = set()

    def keep(self) -> Outcome:
        """Stay until the job has ended and nothing of it is left; return how it ended."""
        ram_before = _times_ram_ran_out()
        try:
            worker = self._adopt() if self._folder.was_begun() else self._start()
        except OSError as error:
            return failure_to_start(error)
        end = self._watch(worker) if worker else Exit(None, self._folder.stop_asked())
        self._clear_up()
        end = replace(end, disk_full=files.is_full(self._folder.log_path))
        if ram_before is not None:
            end = replace(end, ram_ran_out=ram_before != _times_ram_ran_out())
        outcome = classify(self._folder.last_word(), end, self._folder.log_tail())
        return self._with_gpu_check(outcome)

    def _adopt(self) -> process.Identity | None:
        """Take over what another keeper started; also what it could not write down any more."""
        worker = self._folder.worker()
        if worker is None:
            found = sorted(process.family(self._folder.id), key=psutil.Process.create_time)
            worker = process.identity(found[0].pid) if found else None
        self._folder.write_processes(process.this(), worker)
        return worker

    def _start(self) -> process.Identity | None:
        folder = self._folder
        folder.write_processes(process.this(), None)
        environment = {**folder.environment(), **dict(self._request.variables)}
        self._child = process.start_child(
            self._request.argv, folder.path, environment, folder.log_path
        )
        worker = process.identity(self._child.pid)
        folder.write_processes(process.this(), worker)
        return worker

    def _watch(self, worker: process.Identity) -> Exit:
        heart, stopping = Heart(self._folder), _Stopping(self._request)
        looked_at = 0.0
        while self._runs(worker):
            heart.listen()
            if time.monotonic() - looked_at > FAMILY_SECONDS:
                looked_at = time.monotonic()
                self._family.update(process.descendants(worker))
            if self._folder.stop_asked():
                self._family.update(process.descendants(worker))
                stopping.go_on(self._left())
                if stopping.in_vain:
                    self._folder.silent_path.touch()
        code = self._child.poll() if self._child else None
        return Exit(code, self._folder.stop_asked(), ended_by_us=stopping.ended)

    def _runs(self, worker: process.Identity) -> bool:
        """Whether the job's process runs, after a short wait."""
        if self._child is None:
            time.sleep(POLL_SECONDS)
            return process.lives(worker)
        try:
            self._child.wait(POLL_SECONDS)
        except subprocess.TimeoutExpired:
            return True
        return False

    def _left(self) -> list[psutil.Process]:
        """What runs of the job: what carries its mark, and what was seen as its child."""
        self._family.update(process.family(self._folder.id))
        return process.still_there(self._family)

    def _clear_up(self) -> None:
        """End what the job left running: loaders, servers, whatever it had started."""
        process.terminate(self._left())
        deadline = time.monotonic() + 2
        while (left := self._left()) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.kill(left)
        psutil.wait_procs(left, timeout=5)
        self._folder.silent_path.unlink(missing_ok=True)

    def _with_gpu_check(self, outcome: Outcome) -> Outcome:
        if not self._request.needs.startswith("gpu"):
            return outcome
        pids = {each.pid for each in self._family}
        deadline = time.monotonic() + GPU_BACK_SECONDS
        while (held := gpu.held_mib(gpu.read(), pids)) and time.monotonic() < deadline:
            time.sleep(0.5)
        return outcome if not held else outcome.with_gpu_memory_held(held)


class Heart:
    """Notices when the job's heartbeat does not change for long."""

    def __init__(self, folder: JobFolder) -> None:
        self._folder = folder
        self._last, self._since = "", time.monotonic()

    def listen(self) -> None:
        """Put up or take down the sign that the job does not answer."""
        path = self._folder.heartbeat_path
        beat = path.read_text() if path.exists() else ""
        if beat != self._last:
            self._last, self._since = beat, time.monotonic()
            self._folder.silent_path.unlink(missing_ok=True)
        elif beat and time.monotonic() - self._since > SILENT_SECONDS:
            self._folder.silent_path.touch()


class _Stopping:
    """A stop in steps: the wish was told; time to save, then terminate, then kill."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._asked_at: float | None = None
        self._told = False
        self.ended = False
        """Whether it had to be ended."""
        self.in_vain = False
        """Whether even killing did not end it."""

    def go_on(self, family: list[psutil.Process]) -> None:
        """Do what is due by now."""
        self._asked_at = self._asked_at or time.monotonic()
        over = time.monotonic() - self._asked_at - self._request.save_seconds
        if over < 0:
            return
        self.ended = True
        if over > self._request.end_seconds:
            process.kill(family)
            self.in_vain = over > self._request.end_seconds + UNKILLABLE_SECONDS
        elif not self._told:
            self._told = True
            process.terminate(family)


def _times_ram_ran_out() -> int | None:
    """How often this system's kernel has ended a process for want of RAM; None if it keeps no count."""
    try:
        counts = Path("/proc/vmstat").read_text().splitlines()
    except FileNotFoundError:
        return None
    found = [line.split()[1] for line in counts if line.startswith("oom_kill ")]
    return int(found[0]) if found else None


if __name__ == "__main__":
    main(Path(sys.argv[1]))
