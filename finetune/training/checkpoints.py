"""
Checkpoints: everything a run needs to go on exactly, and the best weights beside them.

    checkpoints/step-000123/   weights, optimizer, average, random (safetensors), state.json
    best/best-000123/          the weights of that step: the same file under a second name

The last two stay. One that is not whole is not there: the one before it counts.
"""

from __future__ import annotations

import errno
import json
import logging
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from engines.errors import DamagedFolderError, DiskFullError, NotFoundError, StudioError
from finetune.jobs.worker import StopWork
from finetune.runs import RunFolder
from voices import files

log = logging.getLogger(__name__)

Tensors = dict[str, torch.Tensor]

KEPT = 2
_SPARE_BYTES = 1_000_000_000
"""What a disk must still have free beside a checkpoint: other programs need some too."""
_ROOM_FACTOR = 1.2
_LOOK_AGAIN_SECONDS = 5.0
_PARTS = ("weights", "optimizer", "average", "random")
# As safetensors calls them.
_NAMES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A run at the end of a step."""

    step: int
    state: dict[str, Any]
    """Everything that is no tensor."""
    weights: Tensors
    optimizer: Tensors = field(default_factory=dict)
    average: Tensors = field(default_factory=dict)
    random: Tensors = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        return sum(size_of(getattr(self, part)) for part in _PARTS)


def size_of(tensors: Tensors) -> int:
    return sum(each.numel() * each.element_size() for each in tensors.values())


def save(run: RunFolder, snapshot: Snapshot) -> Path:
    """Write a checkpoint, then let go of all but the last two."""
    folder = run.checkpoints / f"step-{snapshot.step:06}"
    if not _is_whole(folder):
        if files.exists(folder):  # in its sizes alone
            files.remove_folder(folder)
        with files.new_folder(folder) as new:
            for part in _PARTS:
                if tensors := getattr(snapshot, part):
                    _write(_file(new, part), tensors)
            files.write_json(new / "state.json", {"v": 1, "step": snapshot.step, **snapshot.state})
    for old in _finished(run.checkpoints, "step-")[KEPT:]:
        files.remove_folder(old)
    return folder


def load_newest(run: RunFolder, say: Callable[[str], None]) -> Snapshot | None:
    """Read the newest checkpoint that is whole; say so when that is not the newest there is."""
    for folder in _numbered(run.checkpoints, "step-"):
        try:
            files.check_folder(folder)
            return load(folder)
        except DamagedFolderError as error:
            say(f"{error.what} The checkpoint before it is taken.")
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            say(f"{folder.name} cannot be read from the disk. The checkpoint before it is taken.")
    return None


def let_go_of_newer(run: RunFolder, step: int) -> None:
    """Remove what is newer than where a run goes on: it is damaged, and would count as whole."""
    for folder in _numbered(run.checkpoints, "step-"):
        if _number(folder, "step-") > step:
            files.remove_folder(folder)


def are_there(run: RunFolder) -> bool:
    """Whether a run has checkpoints, whole as far as sizes tell."""
    return bool(_finished(run.checkpoints, "step-"))


def load(folder: Path) -> Snapshot:
    """Read a checkpoint that has been checked."""
    state = json.loads((folder / "state.json").read_bytes())
    parts = {
        part: load_file(_file(folder, part)) for part in _PARTS if _file(folder, part).exists()
    }
    return Snapshot(state.pop("step"), state, **parts)


def keep_best(run: RunFolder, checkpoint: Path, step: int, reason: str) -> Path:
    """Keep the weights of a checkpoint as the best, without a second copy on the disk."""
    folder = run.best / f"best-{step:06}"
    if not _is_whole(folder):
        if files.exists(folder):  # in its sizes alone
            files.remove_folder(folder)
        averaged = _file(checkpoint, "average")
        source = averaged if averaged.exists() else _file(checkpoint, "weights")
        with files.new_folder(folder) as new:
            _link(source, _file(new, "weights"))
            files.write_json(new / "best.json", {"v": 1, "step": step, "reason": reason})
    for old in _finished(run.best, "best-"):
        if old != folder:
            files.remove_folder(old)
    return folder


def best(
    run: RunFolder, say: Callable[[str], None] = lambda text: None
) -> tuple[int, str, Tensors] | None:
    """The best weights so far, their step and why they are; None when there are none, or damaged."""
    for folder in _finished(run.best, "best-"):
        try:
            files.check_folder(folder)
        except DamagedFolderError as error:
            say(f"{error.what} The best weights are lost; the last ones are taken.")
            continue
        about = json.loads((folder / "best.json").read_bytes())
        return about["step"], about["reason"], load_file(_file(folder, "weights"))
    return None


def nothing_kept(run: RunFolder) -> NotFoundError:
    return NotFoundError(
        f"Run {run.id} has no weights to start from.", "Name another run, or start from the base."
    )


def refuse_without_room(run: RunFolder, checkpoint_bytes: int, voice_bytes: int) -> None:
    """Raise before a run starts that could not end: two checkpoints, a third while it is written."""
    needed = checkpoint_bytes * (KEPT + 1) + voice_bytes + _SPARE_BYTES
    there = _bytes_there(run)
    free = shutil.disk_usage(run.path).free
    if free + there < needed:
        raise DiskFullError(
            f"This run needs {needed / 1e9:,.1f} GB of disk for its checkpoints and the voice, and"
            f" {free / 1e9:,.1f} GB are free.",
            "Free some space, or move the workspace to a larger disk (--home).",
        )


def save_with_patience(
    run: RunFolder,
    snapshot: Snapshot,
    say: Callable[[str], None],
    stop: Callable[[], bool],
    pause: Callable[[float], None] = time.sleep,
    best: str = "",
) -> Path:
    """
    Save, and keep the weights as the best where there is a reason to.

    While the disk is full wait for room, and say so. A wish to stop ends the waiting.
    """
    told = False
    while True:
        problem = _no_room(run, snapshot)
        if problem is None:
            try:
                folder = save(run, snapshot)
                if best:
                    keep_best(run, folder, snapshot.step, best)
                return folder
            except DiskFullError as error:
                problem = error
            except OSError as error:  # some disks need room to let go of a folder, too
                if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                    raise
                problem = files.disk_full(run.checkpoints)
        if stop():
            raise StopWork(f"Stopped. {problem.what} The checkpoint before it is kept.")
        if not told:
            log.warning("%s", problem)
            say(f"Paused before saving step {snapshot.step}. {problem.what} It goes on when"
                " there is room.")  # fmt: skip
            told = True
        pause(_LOOK_AGAIN_SECONDS)


def _no_room(run: RunFolder, snapshot: Snapshot) -> StudioError | None:
    needed = snapshot.bytes * _ROOM_FACTOR + _SPARE_BYTES
    free = shutil.disk_usage(run.path).free
    if free >= needed:
        return None
    return DiskFullError(
        f"A checkpoint needs {needed / 1e9:,.1f} GB of disk, and {free / 1e9:,.1f} GB are free.",
        "Free some space.",
    )


def _bytes_there(run: RunFolder) -> int:
    """What a run has on the disk already; a file with two names counts once."""
    found = [
        each.stat()
        for folder in (run.checkpoints, run.best)
        for each in folder.rglob("*.safetensors")
    ]
    return sum({(each.st_dev, each.st_ino): each.st_size for each in found}.values())


def _is_whole(folder: Path) -> bool:
    try:
        files.check_folder(folder)
    except DamagedFolderError:
        return False
    return True


def _write(path: Path, tensors: Tensors) -> None:
    """
    Write a safetensors file, one tensor after the other.

    The library's own writer brings all of them into memory first, and says of a full disk only
    that something went wrong.
    """
    # The widest numbers first, so that each tensor lies aligned.
    names = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))
    table: dict[str, Any] = {}
    end = 0
    for name in names:
        each = tensors[name]
        begin, end = end, end + each.numel() * each.element_size()
        shape = list(each.shape)
        table[name] = {"dtype": _NAMES[each.dtype], "shape": shape, "data_offsets": [begin, end]}
    head = json.dumps(table, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    with path.open("wb") as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for name in names:
            content = tensors[name].detach().cpu().contiguous().reshape(-1)
            file.write(content.view(torch.uint8).numpy())


def _file(folder: Path, part: str) -> Path:
    return folder / f"{part}.safetensors"


def _link(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except OSError:  # exFAT and some network disks know no links
        shutil.copyfile(source, target)


def _numbered(parent: Path, prefix: str) -> list[Path]:
    """The folders of a kind, the newest first, whole or not."""
    found = [each for each in parent.glob(f"{prefix}*") if each.name[len(prefix) :].isdigit()]
    return sorted(found, key=lambda each: _number(each, prefix), reverse=True)


def _number(folder: Path, prefix: str) -> int:
    return int(folder.name[len(prefix) :])


def _finished(parent: Path, prefix: str) -> list[Path]:
    return [each for each in _numbered(parent, prefix) if files.exists(each)]
