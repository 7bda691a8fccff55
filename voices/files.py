"""
Safe files: written whole or not at all, and folders that exist only with their manifest.

After a crash, a kill or a power cut at any moment a path holds its old content or its new one.
The order that makes it so: write under a temporary name, sync the file, rename, sync the folder.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import psutil

from engines.errors import DamagedFolderError, DiskFullError

MANIFEST = "manifest.json"
_TEMPORARY = ".tmp-"
# An antivirus or indexer on Windows holds a fresh file for a moment; it lets go within seconds.
_LOCKED_RETRY_SECONDS = 5.0
_NO_ROOM_BYTES = 1_000_000


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """Write a file that appears, or replaces the old one, only when the block ends well."""
    temporary = _temporary_beside(path)
    try:
        with _names_a_full_disk(path):
            with temporary.open("xb") as file:
                yield file
                _sync(file)
            _rename(temporary, path)
            sync_folder(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_bytes(path: Path, content: bytes) -> None:
    """Replace a small file as a whole."""
    with new_file(path) as file:
        file.write(content)


def write_json(path: Path, value: Any) -> None:
    """Replace a JSON file as a whole."""
    write_bytes(path, json.dumps(value, ensure_ascii=False, indent=1).encode())


@dataclass(frozen=True, slots=True)
class Sealed:
    """What the manifest says of one file."""

    size: int
    sha256: str


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """
    Fill a folder that appears, with its manifest, only when the block ends well.

    What the block writes needs no care of its own: everything is synced before the rename.
    """
    temporary = _temporary_beside(path)
    try:
        with _names_a_full_disk(path):
            temporary.mkdir()
            yield temporary
            _seal(temporary)
            _set_aside_if_broken(path)
            _rename(temporary, path)
            sync_folder(path.parent)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def read_manifest(folder: Path) -> dict[str, Sealed]:
    """Read what a sealed folder must hold, by relative name."""
    try:
        content = json.loads((folder / MANIFEST).read_bytes())
        return {name: Sealed(**sealed) for name, sealed in content["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedFolderError(
            f"{folder.name} has no readable list of its files ({type(error).__name__}).",
            "It was never finished or was changed by hand: use another one, or make it again.",
        ) from error


def check_folder(folder: Path, *, contents: bool = True) -> None:
    """Raise unless every file is there in its size and, with `contents`, in its SHA-256."""
    for name, sealed in read_manifest(folder).items():
        file = folder / name
        size = file.stat().st_size if file.is_file() else None
        if size != sealed.size or (contents and _sha256(file) != sealed.sha256):
            raise _damaged(folder, name, is_there=size is not None)


def check_sums(folder: Path, known: Mapping[Path, str]) -> None:
    """Raise unless every file has its SHA-256; those that are `known` are not read once more."""
    for name, sealed in read_manifest(folder).items():
        if (known.get(folder / name) or _sha256(folder / name)) != sealed.sha256:
            raise _damaged(folder, name)


def _damaged(folder: Path, name: str, *, is_there: bool = True) -> DamagedFolderError:
    found = "is not what was saved" if is_there else "is missing"
    return DamagedFolderError(
        f"{folder.name}: {name} {found}.", "Use another copy of it, or make it again."
    )


def exists(folder: Path) -> bool:
    """Whether a sealed folder is there, whole as far as sizes tell."""
    try:
        check_folder(folder, contents=False)
    except DamagedFolderError:
        return False
    return True


def leftovers(parent: Path) -> list[Path]:
    """Temporary files and folders whose writer is gone."""
    return [path for path in parent.glob(f"{_TEMPORARY}*") if not _writer_lives(path)]


def sweep(parent: Path) -> list[Path]:
    """Remove what interrupted writers left behind; what a living process writes stays."""
    found = leftovers(parent)
    for path in found:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    return found


def remove_folder(path: Path) -> None:
    """Remove a folder, so that no moment leaves a part of it under its name."""
    temporary = _temporary_beside(path)
    _rename(path, temporary)
    sync_folder(path.parent)
    shutil.rmtree(temporary)


def make_folder(path: Path) -> None:
    """Make a folder that is still there after a power cut."""
    with _names_a_full_disk(path):
        path.mkdir()
        sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Make what was made or renamed in the folder survive a power cut."""
    if sys.platform == "win32":  # NTFS journals renames; a folder cannot be opened for syncing
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _seal(folder: Path) -> None:
    """Sync every file and folder, then write the manifest, last."""
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with path.open("r+b") as file:
                _sync(file)
            sealed = Sealed(path.stat().st_size, _sha256(path))
            files[path.relative_to(folder).as_posix()] = asdict(sealed)
        else:
            sync_folder(path)
    write_json(folder / MANIFEST, {"format": 1, "files": files})


def _set_aside_if_broken(path: Path) -> None:
    """A folder without a valid manifest does not exist, but it is kept, under another name."""
    if not path.exists():
        return
    if exists(path):
        raise FileExistsError(errno.EEXIST, "A finished folder is never replaced", str(path))
    _rename(path, path.with_name(f"{path.name}.broken-{secrets.token_hex(4)}"))


def _temporary_beside(path: Path) -> Path:
    """On the same disk, so that the rename is atomic; with the writer's pid, for `sweep`."""
    return path.with_name(f"{_TEMPORARY}{os.getpid()}-{secrets.token_hex(6)}")


def _writer_lives(temporary: Path) -> bool:
    pid = temporary.name.removeprefix(_TEMPORARY).partition("-")[0]
    return not pid.isdigit() or psutil.pid_exists(int(pid))


def _sync(file: BinaryIO) -> None:
    file.flush()
    if sys.platform == "darwin":
        import fcntl  # there fsync stops at the disk's own cache

        fcntl.fcntl(file.fileno(), fcntl.F_FULLFSYNC)
    else:
        os.fsync(file.fileno())


def _rename(source: Path, target: Path) -> None:
    deadline = time.monotonic() + _LOCKED_RETRY_SECONDS
    while True:
        try:
            source.replace(target)
            return
        except PermissionError:
            if sys.platform != "win32" or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


@contextmanager
def _names_a_full_disk(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise disk_full(path) from error


def is_full(path: Path) -> bool:
    """Whether the disk has so little room that any error there comes from it."""
    return shutil.disk_usage(path.parent).free < _NO_ROOM_BYTES


def disk_full(path: Path) -> DiskFullError:
    """The error for a disk without room, with what is free there."""
    free_mb = shutil.disk_usage(path.parent).free / 1e6
    return DiskFullError(
        f"The disk that holds {path.parent} is full ({free_mb:,.0f} MB free).",
        "Free some space and try again; what was there before is unchanged.",
    )
