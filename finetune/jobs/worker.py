"""The job's own side: report, notice a wish to stop, and leave a last word before going down."""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from finetune.jobs.events import Event, Finished, Stopped, to_line
from finetune.jobs.folder import JobFolder
from finetune.jobs.outcome import failure_of
from voices import files

HEARTBEAT_SECONDS = 2.0


class StopWork(Exception):
    """Raised by a job's code when it has saved and ends because somebody asked."""


class Job:
    """What a job's code is given: a way to tell how it goes and to notice a wish to stop."""

    def __init__(self, folder: JobFolder) -> None:
        self.folder = folder
        self._events = os.open(folder.events_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        files.sync_folder(folder.path)  # or a power cut could leave the words without their file
        self._torn = False

    def say(self, event: Event) -> None:
        """Tell one thing, in a single write; a line that a full disk tore costs no other one."""
        line = b"\n" * self._torn + to_line(event).encode() + b"\n"
        self._torn = os.write(self._events, line) < len(line)

    def say_last(self, event: Event) -> None:
        """Tell how it ended, on the disk before anything is taken down."""
        self.say(event)
        os.fsync(self._events)

    def stop_wanted(self) -> bool:
        """Whether somebody asked; then save and raise StopWork."""
        return self.folder.stop_asked()


def run(folder: JobFolder, work: Callable[[Job], str]) -> int:
    """Do a job's work in this process and return its exit code; `work` returns a closing sentence."""
    faulthandler.enable()  # a crash in compiled code leaves its stack in the log
    job = Job(folder)
    threading.Thread(target=_beat, args=(folder.heartbeat_path,), daemon=True).start()
    try:
        if sys.platform == "win32":
            from finetune.jobs import windows

            windows.take_children_along()
        job.say_last(Finished(work(job)))
    except StopWork as stop:
        job.say_last(Stopped(str(stop)))
    except BaseException as error:
        traceback.print_exc()
        job.say_last(failure_of(error))
        return 1
    return 0


def _beat(path: Path) -> None:
    """Count up in a file, so that others see whether this process still gets to run."""
    pause, count = threading.Event(), 0
    while True:
        with suppress(OSError):  # on a full disk this beat is lost, not the heart
            path.write_text(str(count))
        count += 1
        pause.wait(HEARTBEAT_SECONDS)
