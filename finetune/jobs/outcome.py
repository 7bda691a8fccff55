"""How a job ended, told from its last word, its exit code and its log. Decisions only."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass, replace

from engines.errors import DiskFullError, StudioError, UnlearnableError
from finetune.jobs.events import Event, Failed, Finished, Stopped

CAUSES = (
    "finished",
    "stopped",
    "gpu-memory",
    "memory",
    "disk-full",
    "bad-input",
    "not-learning",
    "interrupted",
    "bug",
)
LOG_LINES = 40


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a job ended: one of CAUSES, what happened, what to do, and the log's end behind it."""

    cause: str
    what: str
    fix: str = ""
    first_cause: str = ""
    """The first error of the log: those after it are often only its echo."""
    log: tuple[str, ...] = ()

    def with_gpu_memory_held(self, mib: int) -> Outcome:
        """Add that memory of a GPU has not come back."""
        held = f" {mib / 1024:.1f} GB of GPU memory have not come back: restart the computer."
        return replace(self, fix=(self.fix + held).strip())


@dataclass(frozen=True, slots=True)
class Exit:
    """What is known of a process that is no more. `code` is None when nobody waited for it."""

    code: int | None
    stop_asked: bool = False
    ended_by_us: bool = False
    """It did not answer a wish to stop and was ended."""
    ram_ran_out: bool | None = None
    """Whether the kernel ended a process for want of RAM meanwhile; None where it does not tell."""
    disk_full: bool = False
    """Then neither its last word nor its log may have found room."""


_FIXES = {
    "gpu-memory": "Choose a smaller batch, or close other programs that use the GPU.",
    "memory": "Close other programs, or choose a smaller batch or fewer workers.",
    "disk-full": "Free some space, then start it again. What it saved is kept.",
    "interrupted": "Start it again. What it saved is kept.",
    "bug": "The end of its log says where. What it saved is kept.",
}
_SAYS = {
    "gpu-memory": "The GPU's memory was not enough.",
    "memory": "The computer's memory (RAM) was not enough.",
    "disk-full": "The disk is full.",
    "interrupted": "It was cut off: the computer went down, or the process was ended from outside.",
}
# The kernel ends what takes too much RAM with SIGKILL; shells and containers call that 137.
_KILLED = (-9, 137)
_LONGEST_TEXT = 2000
_LEADS_ON = re.compile(r"direct cause of the following exc|During handling of the above exc")
# Desktop systems have programs that do it before the kernel must, and keep no count.
_KILLED_UNCOUNTED = "The system ended it, most often because the memory (RAM) was not enough."
# In the order of asking. torch's text for RAM has "out of memory" in it on some systems too.
_SIGNS = (
    (
        "gpu-memory",
        re.compile(
            r"(CUDA|HIP|MPS backend)( error:)? out of memory|OutOfMemoryError"
            r"|CU\w+_STATUS_ALLOC_FAILED"
        ),
    ),
    (
        "memory",
        re.compile(
            r"MemoryError|can't allocate memory|Cannot allocate memory|bad_alloc"
            r"|Allocator: not enough memory|WinError 1455"
        ),
    ),
    (
        "disk-full",
        re.compile(
            r"No space left on device|Errno 28\b|disk is full|WinError 112\b"
            r"|Disk quota exceeded"
        ),
    ),
)


def classify(last: Event | None, end: Exit, log: str) -> Outcome:
    """Tell how a job ended. Its own last word counts more than the exit code after it."""
    tail = tuple(log.splitlines()[-LOG_LINES:])
    match last:
        case Finished(text):
            return Outcome("finished", text or "Done.")
        case Stopped(text):
            return Outcome("stopped", text or "Stopped, everything saved.")
        case Failed(cause, what, fix):
            return Outcome(cause, what, fix, first_cause(log), tail)
    if end.ended_by_us:
        return Outcome("stopped", "It did not answer the wish to stop and was ended.", log=tail)
    if end.stop_asked and end.code == 0:
        return Outcome("stopped", "Stopped.")
    cause = _cause(end, log)
    said = failure(cause, _how(end))
    if end.code in _KILLED and not end.ram_ran_out:
        said = replace(said, what=_KILLED_UNCOUNTED)
    return Outcome(cause, said.what, said.fix, first_cause(log), tail)


def failure(cause: str, detail: str) -> Failed:
    """A cause in words; `detail` is said where the cause is a bug."""
    return Failed(cause, _SAYS.get(cause, detail), _FIXES[cause])


def first_cause(log: str) -> str:
    """Find the first of the errors that led to the last one a log tells of."""
    return next(iter(_last_errors(log)), "")


def failure_of(error: BaseException) -> Failed:
    """Put an exception in words: what it came from, as far as its code says so."""
    chain = [error]
    while (earlier := chain[-1].__cause__) and earlier not in chain:
        chain.append(earlier)
    # What was being handled when it was raised may be its cause or not: only known signs count.
    context = chain[-1].__context__ if not chain[-1].__suppress_context__ else None
    told = [_told(link) for link in (*chain, *([context] if context else []))]
    cause = next(filter(None, map(_sign, reversed(told))), "bug")
    if isinstance(error, DiskFullError):
        cause = "disk-full"
    if isinstance(error, UnlearnableError):
        cause = "not-learning"
    if isinstance(error, StudioError):
        return Failed("bad-input" if cause == "bug" else cause, error.what, error.fix)
    return failure(cause, told[len(chain) - 1])


def failure_to_start(error: OSError) -> Outcome:
    return Outcome(
        "bug",
        f"It could not be started ({error}).",
        "`doctor` tells what is wrong with the environment.",
    )


def _told(error: BaseException) -> str:
    """An exception in a line; some carry a whole file's content in their text."""
    return f"{type(error).__name__}: {error}"[:_LONGEST_TEXT]


def _last_errors(log: str) -> list[str]:
    """The last lines of the tracebacks at the end of a log that belong together, first one first."""
    found: list[str] = []
    for piece in reversed(log.split("Traceback (most recent call last):\n")[1:]):
        if found and not _LEADS_ON.search(piece):
            break
        # Frames are indented, the exception below them is not.
        found.append(next((line for line in piece.splitlines() if line[:1].strip()), ""))
    return found[::-1]


def _cause(end: Exit, log: str) -> str:
    # A traceback says it best; a sentence in the log may speak of an error that was mended.
    found = _sign("\n".join(_last_errors(log) or log.splitlines()[-LOG_LINES:]))
    if found:
        return found
    if end.disk_full and end.code != 0:
        return "disk-full"
    if end.code in _KILLED:
        return "memory"
    return "interrupted" if end.code in (None, -15, -1, -2) else "bug"


def _how(end: Exit) -> str:
    if end.code is not None and -end.code in set(signal.Signals):
        return f"It crashed ({signal.Signals(-end.code).name})."
    return f"It ended without its last word (exit code {end.code})."


def _sign(text: str) -> str:
    return next((cause for cause, sign in _SIGNS if sign.search(text)), "")
