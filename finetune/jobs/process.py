"""Which process is meant, whatever pids the system has handed out since; and how to end one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import psutil

# Carried by a job's process and what it starts: groups, sessions and parents are left easily, the
# environment one was started with seldom.
MARK = "TIMBRE_JOB"


# What a person chooses for a job when it is asked for. Whoever happens to start it later may have
# chosen otherwise for themselves, so these are never inherited.
CHOSEN = ("TIMBRE_OFFLINE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "CUDA_VISIBLE_DEVICES")


def chosen_here() -> tuple[tuple[str, str], ...]:
    """What this process was told, for the jobs it asks for."""
    return tuple((name, os.environ[name]) for name in CHOSEN if name in os.environ)


@dataclass(frozen=True, slots=True)
class Identity:
    """One process, once: a pid is used again, together with these it is not."""

    pid: int
    created: float
    boot: str


def identity(pid: int) -> Identity | None:
    """Who has this pid now, or None when nobody has."""
    try:
        return Identity(pid, _created(psutil.Process(pid)), _boot())
    except psutil.NoSuchProcess:
        return None


def this() -> Identity:
    """Who this process is."""
    found = identity(os.getpid())
    if found is None:
        raise ProcessLookupError("A process that runs has no entry in the system's table.")
    return found


def lives(known: Identity | None) -> bool:
    """Whether exactly this process runs still."""
    if known is None or identity(known.pid) != known:
        return False
    try:
        return not _is_zombie(psutil.Process(known.pid))
    except psutil.NoSuchProcess:
        return False


# Those started here and not waited for: polled at the next start, or they would stay as zombies.
_detached: list[subprocess.Popen[bytes]] = []


def start_detached(argv: Sequence[str], cwd: Path, extra: Mapping[str, str], log: Path) -> Identity:
    """Start a process that outlives this one and its terminal."""
    _detached[:] = [process for process in _detached if process.poll() is None]
    started = start_child(argv, cwd, extra, log)
    _detached.append(started)
    return identity(started.pid) or Identity(started.pid, 0.0, "")


def start_child(
    argv: Sequence[str], cwd: Path, extra: Mapping[str, str], log: Path
) -> subprocess.Popen[bytes]:
    """Start a process to wait for. It writes to a file, so no reader can hold it up."""
    own = {MARK, *CHOSEN}
    inherited = {name: value for name, value in os.environ.items() if name not in own}
    env = {**inherited, **extra}
    with log.open("ab") as output:
        if sys.platform != "win32":
            return _popen(argv, cwd, env, output)
        flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
        try:
            return _popen(argv, cwd, env, output, flags | subprocess.CREATE_BREAKAWAY_FROM_JOB)
        except PermissionError:  # the terminal's own Job Object forbids leaving it
            return _popen(argv, cwd, env, output, flags)


def family(mark: str) -> list[psutil.Process]:
    """Every process with a job's mark, wherever it hung itself, without the one that asks."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get(MARK) == mark:
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess, OSError):
            continue  # gone meanwhile, or not ours
    return found


def descendants(known: Identity | None) -> list[psutil.Process]:
    """A process and all it started, as long as each one's parent lives."""
    if known is None or not lives(known):
        return []
    try:
        process = psutil.Process(known.pid)
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def still_there(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Those of them that run; one that ended and waits to be noted does not."""
    return [each for each in processes if each.is_running() and not _is_zombie(each)]


def _is_zombie(process: psutil.Process) -> bool:
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def terminate(processes: Sequence[psutil.Process]) -> None:
    """Ask processes to end at once, without saving."""
    _each(processes, "terminate")


def kill(processes: Sequence[psutil.Process]) -> None:
    """End processes without asking."""
    _each(processes, "kill")


def _each(processes: Sequence[psutil.Process], how: str) -> None:
    for process in processes:
        try:
            getattr(process, how)()  # psutil compares the creation time before it signals
        except psutil.NoSuchProcess:
            continue


def _popen(
    argv: Sequence[str], cwd: Path, env: Mapping[str, str], output: BinaryIO, flags: int = 0
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        argv,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,  # a closed terminal takes its session along
        creationflags=flags,
    )


def _created(process: psutil.Process) -> float:
    if sys.platform == "darwin":
        # psutil moves this date when the clock is set, too; underneath it has the one that stays.
        own = process._proc  # type: ignore[attr-defined]  # psutil keeps it to itself
        return float(own.create_time(monotonic=True))
    if sys.platform != "linux":
        return process.create_time()
    # psutil adds the boot time, which moves when the clock is set; ticks since boot do not.
    try:
        stat = Path(f"/proc/{process.pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        raise psutil.NoSuchProcess(process.pid) from None
    return float(stat.rpartition(")")[2].split()[19])


def _boot() -> str:
    """Ticks count from boot on Linux, so the boot belongs to them; elsewhere they are dates."""
    if sys.platform != "linux":
        return ""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
