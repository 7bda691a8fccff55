"""What a browser sends: straight to the disk, under a name of ours, until it is used."""

from __future__ import annotations

import errno
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

from anyio import to_thread

from engines.errors import AudioError, DiskFullError, NotFoundError
from voices import files, names

LONGEST_BYTES = 8 * 2**30
KEPT_SECONDS = 24 * 3600
_SPARE_BYTES = 2**30


async def receive(folder: Path, name: str, size: int | None, body: AsyncIterator[bytes]) -> str:
    """
    Write what is sent into a folder of its own, and give its id.

    It is there when all of it is: what breaks off leaves nothing.
    """
    _refuse_too_large(folder, size)
    await to_thread.run_sync(sweep, folder)
    upload_id = names.new_id()
    place = folder / upload_id
    await to_thread.run_sync(lambda: place.mkdir(mode=0o700, parents=True))
    part = place / "part"
    try:
        with part.open("xb") as file:
            received = 0
            async for chunk in body:
                received += len(chunk)
                if received > LONGEST_BYTES:
                    raise _too_large()
                await to_thread.run_sync(file.write, chunk)
        if size is not None and received != size:
            raise AudioError(f"{name} broke off while it was sent.", "Send it again.")
        part.rename(place / file_name(name))
    except BaseException as error:
        shutil.rmtree(place, ignore_errors=True)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise files.disk_full(folder) from error
        raise
    return upload_id


def file_name(name: str) -> str:
    """A name for the disk: the last part of what the browser says, without what disks refuse."""
    return names.for_disk(PurePosixPath(name.replace("\\", "/")).name) or "recording"


def find(folder: Path, upload_id: str) -> Path:
    """The file that was sent under an id."""
    place = folder / upload_id
    found = list(place.iterdir()) if names.is_id(upload_id) and place.is_dir() else []
    if not found or found[0].name == "part":
        raise NotFoundError("What was sent is not there any more.", "Choose the file again.")
    return found[0]


def discard(folder: Path, upload_id: str) -> None:
    if names.is_id(upload_id):
        shutil.rmtree(folder / upload_id, ignore_errors=True)


def sweep(folder: Path) -> None:
    """Delete what was sent a day ago or earlier: it was used, or nobody wants it."""
    oldest = time.time() - KEPT_SECONDS
    for place in folder.iterdir() if folder.is_dir() else ():
        with suppress(FileNotFoundError):  # another upload is taking its own away
            if place.lstat().st_mtime < oldest:
                shutil.rmtree(place, ignore_errors=True)


def _refuse_too_large(folder: Path, size: int | None) -> None:
    if size is not None and size > LONGEST_BYTES:
        raise _too_large()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free - _SPARE_BYTES
    if size is not None and size > free:
        raise DiskFullError(
            f"It needs {size / 1e9:.1f} GB and {max(0, free) / 1e9:.1f} GB can be used.",
            "Free some room, then try again.",
        )


def _too_large() -> AudioError:
    return AudioError(
        f"A recording may have {LONGEST_BYTES / 2**30:.0f} GB.", "Cut it into parts, or use mp3."
    )
