"""
What clips become for an engine: computed once, kept in one memory-mapped file for each dataset.

The files are safetensors, named by what they hold, so that a clip known from another dataset is
taken over. What is computed is kept in parts; the file is written last, and believed only when
its checksum fits.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from engines.base import Clip, Features, Trainable
from engines.errors import AudioError, DatasetError
from finetune.fitting.budget import memory
from finetune.jobs.events import Event, Said
from finetune.jobs.telling import Telling
from finetune.jobs.worker import StopWork
from finetune.training.packed import (
    NAMES,
    SIZES,
    Array,
    DamagedError,
    GoneError,
    Place,
    check_sum,
    contents,
    index,
    packed,
    uncollected,
    write,
)
from voices import files

# Given to the engine at once: enough to be quick, and over within about a second on a processor.
BATCH = 8
# A clip of 11 s is about 1 MB: so many wait in memory while the engine works.
AHEAD = 32
READERS = 4
# The most that a kill costs.
PIECE_CLIPS = 64
PIECE_SECONDS = 30.0
GPU_SHARE = 0.1
MEMORY_SHARE = 0.25
_SHOWN = 5

_TYPES = {name: getattr(torch, kind) for kind, name in NAMES.items()}
_PART = "part-"

_Keys = AbstractSet[str]
_Row = tuple[tuple[str, Any, tuple[int, ...], tuple[int, ...], int], ...]
"""A clip in a block of memory: name, type, shape, strides and first number of each feature."""


@dataclass(frozen=True, slots=True)
class Source:
    """One clip of a dataset that can be loaded when it is wanted."""

    key: str
    """Hash of what it is: recording, start, end, text, language. Holds no slash."""
    name: str
    """What a person calls it: "clip 12: 'Hello ...'"."""
    load: Callable[[], Clip]


class Store:
    """The features of a dataset, clip by clip, as views of one block of memory."""

    def __init__(self, flat: Any, rows: Sequence[_Row], lengths: tuple[int, ...] = ()) -> None:
        self._flat, self._rows = flat, rows
        self._typed = {kind: flat.view(kind) for kind in _TYPES.values()}
        self.lengths = lengths
        """What each clip costs in a batch: Trainable.length."""

    @property
    def bytes(self) -> int:
        return int(self._flat.numel())

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> Features:
        typed = self._typed
        return {
            name: typed[kind].as_strided(shape, strides, at)
            for name, kind, shape, strides, at in self._rows[index]
        }

    def placed(self, where: str, device: Any) -> Store:
        """Give the same features from the disk, from memory or from the GPU."""
        if where == "disk":
            return self
        if where == "gpu":
            flat = self._flat.to(device, copy=True)
        else:
            # From pinned memory the GPU fetches by itself, while the processor goes on.
            flat = torch.empty_like(self._flat, pin_memory=torch.cuda.is_available())
            flat.copy_(self._flat)
        return Store(flat, self._rows, self.lengths)

    def measured(self, length: Callable[[Features], int]) -> Store:
        """Give the same features with the length of each."""
        return Store(self._flat, self._rows, tuple(length(self[i]) for i in range(len(self))))


def place_for(
    choice: str, bytes_needed: int, free_gpu: int | None, free_ram: int
) -> tuple[str, str]:
    """
    Choose where features wait, gpu, memory or disk, and say why.

    `free_gpu` is None where there is no GPU, or none that tells. What was chosen is kept to as
    long as there is room.
    """
    rooms = {"gpu": free_gpu, "memory": free_ram, "disk": None}
    room = rooms.get(choice)
    if choice in rooms and (room is None or bytes_needed < room):
        return choice, "as chosen"
    needed = f"features of {memory(bytes_needed)}"
    if choice == "gpu":
        place, reason = place_for("auto", bytes_needed, None, free_ram)
        return place, f"{reason}; the GPU has {memory(room or 0)} free"
    if choice == "memory":
        return "disk", f"{needed}, more than the {memory(free_ram)} of free memory"
    if free_gpu is not None and bytes_needed < GPU_SHARE * free_gpu:
        return "gpu", f"{needed}, under {GPU_SHARE:.0%} of the {memory(free_gpu)} free on the GPU"
    share, free = f"{MEMORY_SHARE:.0%}", memory(free_ram)
    if bytes_needed < MEMORY_SHARE * free_ram:
        return "memory", f"{needed}, under {share} of the {free} of free memory"
    return "disk", f"{needed}, not under {share} of the {free} of free memory"


def gather(
    trainable: Trainable,
    sources: Sequence[Source],
    folder: Path,
    say: Callable[[Event], None],
    stop: Callable[[], bool],
) -> Store:
    """
    Give the features of all clips, computing those that no file below the folder has yet.

    Raise DatasetError, naming them, when there are clips that do not fit; raise StopWork, keeping
    what was done, when asked to stop.
    """
    shelf = folder / _digest([trainable.features_version])
    wanted = {source.key: source for source in sources}
    path = shelf / f"{_digest([source.key for source in sources])}.safetensors"
    places = _believed(path, wanted.keys(), say)
    if len(places) < len(wanted):
        places = _prepare(trainable, wanted, path, say, stop)
    _clear_parts(shelf, wanted.keys())
    return _opened(path, [places[source.key] for source in sources]).measured(trainable.length)


def _prepare(
    trainable: Trainable,
    wanted: Mapping[str, Source],
    path: Path,
    say: Callable[[Event], None],
    stop: Callable[[], bool],
) -> dict[str, Place]:
    """Write the file of a dataset from what is known and what is computed now."""
    _make_folders(path.parent)
    files.sweep(path.parent)
    places = _known(path.parent, wanted.keys(), say)
    missing = [source for key, source in wanted.items() if key not in places]
    telling = Telling(say, "clips prepared", len(wanted))
    telling.skip(len(places))
    places |= _compute(trainable, missing, path.parent, telling, len(places), stop)
    in_order = [(key, places[key]) for key in wanted]
    clips = [(key, place.arrays) for key, place in in_order]
    try:
        return write(path, clips, contents(in_order, stop))
    except GoneError:
        # Another job prepared the same clips, was quicker, and has them in its file now.
        return _prepare(trainable, wanted, path, say, stop)


def _known(shelf: Path, wanted: _Keys, say: Callable[[Event], None]) -> dict[str, Place]:
    """Find clips in the parts of an earlier try and in the files of other datasets."""
    places: dict[str, Place] = {}
    for path in sorted(shelf.glob("*.safetensors")):
        if missing := wanted - places.keys():
            places |= _believed(path, missing, say)
    return places


def _compute(
    trainable: Trainable,
    sources: Sequence[Source],
    shelf: Path,
    telling: Telling,
    done: int,
    stop: Callable[[], bool],
) -> dict[str, Place]:
    """Compute features piece by piece; once a clip does not fit, the others are only looked at."""
    piece = _Piece(shelf)
    problems: list[str] = []
    with closing(_read_ahead(sources)) as loaded:
        while batch := list(islice(loaded, BATCH)):
            problems += _problems(trainable, batch)
            if not problems:
                clips = [clip for _, clip in batch if isinstance(clip, Clip)]
                piece.add([source.key for source, _ in batch], trainable.features(clips))
            done += len(batch)
            telling.at(done)
            if stop():
                piece.keep()
                raise StopWork(f"{done:,} clips are prepared and kept.")
    piece.keep()
    if problems:
        raise _do_not_fit(problems)
    return piece.kept


def _problems(trainable: Trainable, batch: Sequence[tuple[Source, Clip | AudioError]]) -> list[str]:
    """Say of each clip that cannot be learned from which it is and why."""
    found = []
    for source, clip in batch:
        reason = clip.what if isinstance(clip, AudioError) else trainable.problem(clip)
        if reason:
            found.append(f"{source.name}: {reason}")
    return found


def _do_not_fit(problems: Sequence[str]) -> DatasetError:
    """The error for clips that cannot be learned from, which names the first few."""
    count = len(problems)
    heading = "1 clip cannot" if count == 1 else f"{count:,} clips cannot"
    more = f"\n… and {count - _SHOWN:,} more" if count > _SHOWN else ""
    return DatasetError(
        f"{heading} be learned from:\n" + "\n".join(problems[:_SHOWN]) + more,
        "Correct them, or leave them out (launch.py clips leave-out), and freeze the dataset again.",
    )


def _read_ahead(
    sources: Sequence[Source],
) -> Generator[tuple[Source, Clip | AudioError], None, None]:
    """Give the clips in order, some loaded before they are asked for."""
    waiting: deque[tuple[Source, Future[Clip | AudioError]]] = deque()
    rest = iter(sources)
    with ThreadPoolExecutor(READERS, "read-ahead") as pool:
        try:
            while True:
                for source in islice(rest, AHEAD - len(waiting)):
                    waiting.append((source, pool.submit(_loaded, source)))
                if not waiting:
                    return
                source, clip = waiting.popleft()
                yield source, clip.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _loaded(source: Source) -> Clip | AudioError:
    try:
        return source.load()
    except AudioError as error:
        return error  # named with the other clips that do not fit


class _Piece:
    """Features that are not on the disk yet: at most as many as one may lose."""

    def __init__(self, shelf: Path) -> None:
        self.kept: dict[str, Place] = {}
        self._shelf = shelf
        self._begin()

    def add(self, keys: Sequence[str], clips: Sequence[Features]) -> None:
        for key, features in zip(keys, clips, strict=True):
            self._clips[key] = packed(features)
        if len(self._clips) >= PIECE_CLIPS or time.monotonic() - self._began >= PIECE_SECONDS:
            self.keep()

    def keep(self) -> None:
        """Write what is there as a part of its own."""
        if not self._clips:
            return
        path = self._shelf / f"{_PART}{_digest(self._clips)}.safetensors"
        clips = [(key, arrays) for key, (arrays, _) in self._clips.items()]
        self.kept |= write(path, clips, (content for _, content in self._clips.values()))
        self._begin()

    def _begin(self) -> None:
        self._clips: dict[str, tuple[tuple[Array, ...], bytes]] = {}
        self._began = time.monotonic()


def _clear_parts(shelf: Path, wanted: _Keys) -> None:
    """Remove the parts of which everything is in the dataset's file."""
    for part in shelf.glob(f"{_PART}*"):
        # What is damaged goes when somebody wants it. Where another job reads a part, Windows
        # lets nobody remove it: it stays for the next time.
        with suppress(DamagedError, FileNotFoundError, PermissionError):
            if index(part).keys() <= wanted:
                part.unlink()


def _believed(path: Path, wanted: _Keys, say: Callable[[Event], None]) -> dict[str, Place]:
    """Find the wanted clips in a file; one that is damaged is removed, and that is said."""
    try:
        places = {key: place for key, place in index(path).items() if key in wanted}
        if places:
            check_sum(path)
        return places
    except FileNotFoundError:
        return {}
    except DamagedError:
        path.unlink(missing_ok=True)
        say(Said("A file of prepared clips was damaged on the disk; they are prepared again."))
        return {}


@uncollected()
def _opened(path: Path, places: Sequence[Place]) -> Store:
    """Map a file into memory: nothing of it is read before it is wanted."""
    begin = min((place.begin for place in places), default=0)
    if not sum(place.bytes for place in places):
        return Store(torch.empty(0, dtype=torch.uint8), [_row(place, begin) for place in places])
    # "c": torch wants memory that may be written, and the file must stay as it is.
    mapped = np.memmap(path, np.uint8, "c", begin)
    return Store(torch.from_numpy(mapped), [_row(place, begin) for place in places])


def _row(place: Place, begin: int) -> _Row:
    """Say how to find a clip's features in a block that begins at a byte of the file."""
    row, at = [], place.begin - begin
    for array in place.arrays:
        if array.name:
            first = at // SIZES[array.kind]
            row.append((array.name, _TYPES[array.kind], array.shape, _strides(array.shape), first))
        at += array.bytes
    return tuple(row)


def _strides(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(math.prod(shape[place + 1 :]) for place in range(len(shape)))


def _make_folders(path: Path) -> None:
    """Make a folder and those it is in; another job may be quicker."""
    if not path.is_dir():
        _make_folders(path.parent)
        with suppress(FileExistsError):
            files.make_folder(path)


def _digest(words: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:32]
