"""
Files from the network, for which somebody asked: whole, checked, or not there at all.

What arrived lies in a folder of parts beside the one that is wanted, so that an interrupted
download goes on where it stopped. Nothing of a part is believed before all of it is checked.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

from filelock import FileLock, Timeout

from engines.errors import DiskFullError, DownloadError
from finetune import https
from finetune.https import ELSEWHERE, Stop
from voices import files

Progress = Callable[[int, int], None]
"""Told bytes done and bytes in all, which is 0 while it is not known."""

HUB = "https://huggingface.co"
_TELL_SECONDS = 0.25
_SPARE_BYTES = 50_000_000
"""What the disk must still have free when everything has arrived."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One file to fetch, and how to know that what arrived is what was meant."""

    url: str
    name: str
    """Where it belongs in the folder, with / between the parts."""
    size: int | None = None
    sha256: str | None = None
    git_id: str | None = None
    """What the hub tells of small files instead: the id git gives to their content."""

    @property
    def checkable(self) -> bool:
        return bool(self.sha256 or self.git_id)


def download(wanted: Sequence[Wanted], folder: Path, progress: Progress, stop: Stop) -> None:
    """
    Fetch files into a sealed folder, going on where an earlier call stopped.

    A folder that is there already stays as it is. Raise DownloadError, DiskFullError, or StopWork
    within a second after `stop` says so.
    """
    if files.exists(folder):
        return
    https.refuse_offline(folder.name)
    for each in wanted:
        _refuse_unsafe(each)
    parts = folder.with_name(f"{folder.name}.parts")
    parts.mkdir(parents=True, exist_ok=True)
    with _alone(parts):
        _refuse_without_room(wanted, folder, parts)
        tally = _Tally(wanted, progress)
        for each in wanted:
            _fetch(each, _part(parts, each), tally, stop)
        tally.tell()
        with files.new_folder(folder) as new:
            for each in wanted:
                _place(_part(parts, each), new / each.name)
    shutil.rmtree(parts)


def hub_files(
    repository: str, patterns: Sequence[str], stop: Stop, revision: str = "main"
) -> list[Wanted]:
    """
    Ask the Hugging Face hub what a repository holds under these names, with sizes and hashes.

    All of them belong to one commit, whatever happens to the revision meanwhile. The hub is
    huggingface.co, or the mirror that HF_ENDPOINT names.
    """
    https.refuse_offline(repository)
    hub = os.environ.get("HF_ENDPOINT", HUB).rstrip("/")
    asked = f"{hub}/api/models/{quote(repository)}/revision/{quote(revision, safe='')}?blobs=true"
    answer = https.text(asked, stop)
    try:
        listing = json.loads(answer)
        at = f"{hub}/{quote(repository)}/resolve/{quote(listing['sha'], safe='')}"
        found = [_listed(at, entry) for entry in listing["siblings"]]
    except (ValueError, KeyError, TypeError) as error:
        raise DownloadError(
            f"{https.host_of(asked)} did not answer with a list of files for {repository}.",
            f"Look at {hub}/{repository} in a browser and try again later, {ELSEWHERE}",
        ) from error
    return [each for each in found if any(fnmatchcase(each.name, known) for known in patterns)]


def _listed(at: str, entry: dict[str, Any]) -> Wanted:
    """One file of the hub's list; of what lies in its large storage git knows only a pointer."""
    name, large = str(entry["rfilename"]), entry.get("lfs")
    sha256 = large["sha256"] if large else None
    git_id = None if large else entry["blobId"]
    return Wanted(f"{at}/{quote(name)}", name, int(entry["size"]), sha256, git_id)


def _refuse_unsafe(each: Wanted) -> None:
    """A list of files comes from outside: it may name neither a plain line nor a foreign folder."""
    name = PurePosixPath(each.name)
    inside = name.parts and not name.is_absolute() and ".." not in name.parts
    if not inside or re.search(r'[\\:*?"<>|\x00-\x1f]', each.name) or each.name == files.MANIFEST:
        raise DownloadError(
            f"A file of this download has a name that is not safe: {each.name!r}.",
            "Do not use this source.",
        )
    https.refuse_open_line(each.url)


def _refuse_without_room(wanted: Sequence[Wanted], folder: Path, parts: Path) -> None:
    missing = sum(max(0, (each.size or 0) - _size(_part(parts, each))) for each in wanted)
    free = shutil.disk_usage(parts).free
    if free < missing + _SPARE_BYTES:
        raise DiskFullError(
            f"{folder.name} needs {(missing + _SPARE_BYTES) / 1e6:,.0f} MB more on the disk, and"
            f" {free / 1e6:,.0f} MB are free in {folder.parent}.",
            "Free some space and try again; what has arrived is kept.",
        )


@contextmanager
def _alone(parts: Path) -> Iterator[None]:
    """Nobody else writes the same parts; the system frees the lock of one that was killed."""
    try:
        lock = FileLock(parts / "lock", timeout=0).acquire()
    except Timeout as error:
        raise DownloadError(
            f"{parts.stem} is being downloaded already.", "Wait until that has finished."
        ) from error
    with lock:
        yield


def _part(parts: Path, each: Wanted) -> Path:
    """Named by its content, so that a newer version never goes on with an older one's part."""
    meant = each.sha256 or each.git_id or each.url
    return parts / f"{hashlib.sha256(f'{meant} {each.name}'.encode()).hexdigest()[:24]}.part"


def _place(part: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        target.hardlink_to(part)  # the part stays until the folder stands: a failure costs nothing
    except OSError:  # exFAT and some network disks know no links
        part.replace(target)


class _Tally:
    """How much of everything has arrived, told four times a second."""

    def __init__(self, wanted: Sequence[Wanted], progress: Progress) -> None:
        sizes = [each.size for each in wanted]
        self._total = 0 if None in sizes else sum(size or 0 for size in sizes)
        self._done: dict[str, int] = {}
        self._progress = progress
        self._told = 0.0

    def note(self, name: str, done: int) -> None:
        self._done[name] = done
        if time.monotonic() - self._told > _TELL_SECONDS:
            self.tell()

    def tell(self) -> None:
        self._told = time.monotonic()
        self._progress(sum(self._done.values()), self._total)


def _fetch(each: Wanted, part: Path, tally: _Tally, stop: Stop) -> None:
    """Fill a part until it is right; one that is wrong is fetched once more from the start."""
    for _ in range(2):
        https.persist(lambda: _append(each, part, tally, stop), lambda: _size(part), each.url, stop)
        if _is_right(each, part, stop):
            tally.note(each.name, _size(part))
            return
        part.unlink(missing_ok=True)
    raise DownloadError(
        f"{each.name} arrived twice from {https.host_of(each.url)}, and not as it was stated.",
        f"Something on the way changes it, or the file was replaced: try again later or over"
        f" another network, {ELSEWHERE}",
    )


def _append(each: Wanted, part: Path, tally: _Tally, stop: Stop) -> None:
    """Fetch what a part lacks; what could not be checked afterwards starts from nothing."""
    start = _size(part) if each.checkable else 0
    if each.size is not None and start >= each.size > 0:
        return
    with closing(https.Answer(each.url, start)) as answer:
        begin = answer.begin(stop)
        if begin is None:
            return  # there is nothing more: whether it is right is seen afterwards
        with _names_a_full_disk(part), part.open("ab" if begin else "wb") as file:
            for block in answer.blocks(stop):
                file.write(block)
                tally.note(each.name, file.tell())
                if each.size is not None and file.tell() > each.size:
                    return


def _is_right(each: Wanted, part: Path, stop: Stop) -> bool:
    if not part.is_file() or each.size not in (None, _size(part)):
        return False
    if each.sha256:
        return _digest(part, hashlib.sha256(), stop) == each.sha256.lower()
    if each.git_id:
        begun = hashlib.sha1(b"blob %d\0" % _size(part), usedforsecurity=False)
        return _digest(part, begun, stop) == each.git_id.lower()
    return True


def _digest(path: Path, digest: hashlib._Hash, stop: Stop) -> str:
    with path.open("rb") as file:
        while block := file.read(1 << 22):
            digest.update(block)
            https.heed(stop)
    return digest.hexdigest()


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


@contextmanager
def _names_a_full_disk(part: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise files.disk_full(part) from error
