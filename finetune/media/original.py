"""Keep what was received, as it was received, with its SHA-256."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from engines.errors import AudioError
from finetune.jobs.worker import StopWork
from finetune.media.decode import Progress, Stop, size_of_a_file, unreadable
from voices import files
from voices.names import new_id

_BLOCK_BYTES = 1 << 20
# Left for the store, which must be able to write down what was received.
_ROOM_BESIDE_BYTES = 50_000_000
_ENDING = re.compile(r"\.[a-z0-9]{1,8}")


@dataclass(frozen=True, slots=True)
class Kept:
    """Where the copy of a recording will be, and the SHA-256 of its content."""

    path: Path
    sha256: str


@contextmanager
def keep(source: Path, folder: Path, progress: Progress, stop: Stop) -> Iterator[Kept]:
    """
    Copy a recording into a folder; the copy appears when the block ends well, else it is gone.

    `progress` is told bytes. The copy is named by an id: any name works, and none is a path.
    """
    size = size_of_a_file(source)
    path = folder / (new_id() + _ending(source))
    if shutil.disk_usage(folder).free < size + _ROOM_BESIDE_BYTES:
        raise files.disk_full(path)
    digest = hashlib.sha256()
    with _opened(source) as original, files.new_file(path) as copy:
        done = 0
        while block := _block(source, original):
            if stop():
                raise StopWork(f"Stopped while copying {source.name}.")
            digest.update(block)
            copy.write(block)
            done += len(block)
            if done > size:  # one that is being written may grow as fast as it is read
                raise _changed(source)
            progress(done, size)
        if done != size or source.stat().st_size != size:
            raise _changed(source)
        yield Kept(path, digest.hexdigest())


def _ending(source: Path) -> str:
    """The ending, so that a person can open the copy with a click; nothing depends on it."""
    ending = source.suffix.lower()
    return ending if _ENDING.fullmatch(ending) else ""


def _opened(source: Path) -> BinaryIO:
    try:
        return source.open("rb")
    except OSError as error:
        raise unreadable(source, error) from error


def _block(source: Path, original: BinaryIO) -> bytes:
    try:
        return original.read(_BLOCK_BYTES)
    except OSError as error:  # a scratched disc, a stick that was pulled out
        raise unreadable(source, error) from error


def _changed(source: Path) -> AudioError:
    return AudioError(
        f"{source.name} was changed while it was copied.",
        "Wait until the program that writes it has finished, then try again.",
    )
