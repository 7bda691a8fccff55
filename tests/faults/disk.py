"""What a power loss leaves: a model of the disk, fed with the operations of one run.

Only fsync makes anything last: of a file, its bytes; of a folder, the names in it. What has not
lasted may be there or not, so one moment has several possible disks after it (`LOSSES`).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.shim import CREATED, TRUNCATED, Operation

RENAME_EXCHANGE = 2
SECTOR = 512
# SQLite's index of its log, made anew by whoever opens the database first.
WRITTEN_BY_MAPPING = "-shm"


@dataclass(frozen=True)
class Loss:
    """One possible fate of what was not synced."""

    name: str
    keeps_names: bool
    keeps_sizes: bool
    """Whether a file that was cut stays cut."""
    keeps_data: Callable[[random.Random], float]
    """The share of one write that reached the disk."""


LOSSES = [
    Loss("unsynced names last, unsynced data is lost", True, True, lambda _: 0.0),
    Loss("unsynced names and data are lost", False, False, lambda _: 0.0),
    Loss("unsynced names are lost, unsynced data lasts", False, True, lambda _: 1.0),
    Loss("of the unsynced data some lasts", True, True, lambda luck: luck.choice([0.0, 0.5, 1.0])),
]

EVERYTHING_LASTS = Loss("everything lasts", True, True, lambda _: 1.0)


@dataclass(eq=False)
class File:
    """Bytes: those that last, and the changes since."""

    synced: bytes = b""
    changes: list[tuple[int, bytes | None]] = field(default_factory=list)
    """(offset, bytes written), or (size, None) where the file was cut to a size."""

    def sync(self) -> None:
        self.synced = self.after(lambda: 1.0, keeps_size=True)
        self.changes = []

    def after(self, share: Callable[[], float], *, keeps_size: bool) -> bytes:
        data = bytearray(self.synced)
        for offset, written in self.changes:
            if written is not None:
                _write(data, offset, _first(written, share()))
            elif keeps_size:
                data = data[:offset].ljust(offset, b"\0")
        return bytes(data)


@dataclass(eq=False)
class Link:
    """A symbolic link, whose target is part of its name."""

    target: str


@dataclass(eq=False)
class Folder:
    """Names: those that last, and those there are."""

    names: dict[str, Node] = field(default_factory=dict)
    synced: dict[str, Node] = field(default_factory=dict)

    def sync(self) -> None:
        self.synced = dict(self.names)


Node = File | Link | Folder
Tree = dict[str, bytes | str | None]
"""Path to bytes, to the target of a link, or to None for a folder."""


class Disk:
    """The watched folder: what is there, and what would be there after a power loss."""

    def __init__(self, root: Path) -> None:
        self.path = root
        self.nodes: dict[int, Node] = {}
        self.root = self._read(root)
        self.moves: list[tuple[Folder, str, Folder, str, Node]] = []

    def apply(self, operation: Operation) -> None:
        """Follow one operation of the run; one that failed changed nothing."""
        if operation.result >= 0:
            getattr(self, f"_{operation.name}")(operation)

    def after(self, loss: Loss, seed: int) -> Tree:
        """One disk that a power loss at this moment may leave."""
        luck = random.Random(seed)
        tree: Tree = {}
        self._list(self.root, "", loss, lambda: loss.keeps_data(luck), tree)
        return tree

    def _read(self, path: Path) -> Node:
        node: Node
        if path.is_symlink():
            return Link(str(path.readlink()))
        inode = path.stat().st_ino
        if inode in self.nodes:
            return self.nodes[inode]
        if path.is_dir():
            node = Folder({child.name: self._read(child) for child in path.iterdir()})
            node.sync()
        else:
            node = File(path.read_bytes())
        self.nodes[inode] = node
        return node

    def _list(
        self, folder: Node, prefix: str, loss: Loss, share: Callable[[], float], tree: Tree
    ) -> None:
        assert isinstance(folder, Folder)
        for name, node in sorted((folder.names if loss.keeps_names else folder.synced).items()):
            path = prefix + name
            if isinstance(node, Folder):
                tree[path] = None
                self._list(node, path + "/", loss, share, tree)
            elif isinstance(node, Link):
                tree[path] = node.target
            else:
                tree[path] = node.after(share, keeps_size=loss.keeps_sizes)

    def _place(self, path: str) -> tuple[Folder, str]:
        """The folder a path is in now, and its name there."""
        *parents, name = Path(path).relative_to(self.path).parts
        folder = self.root
        for parent in parents:
            assert isinstance(folder, Folder)
            folder = folder.names[parent]
        assert isinstance(folder, Folder)
        return folder, name

    def _file(self, operation: Operation) -> File:
        node = self.nodes[operation.inode]
        assert isinstance(node, File)
        return node

    def _mark(self, operation: Operation) -> None:
        pass

    def _reserve(self, operation: Operation) -> None:
        pass

    def _open(self, operation: Operation) -> None:
        if operation.extra & CREATED:
            # The number may be that of a deleted file: the system gives them out again.
            self.nodes[operation.inode] = node = File()
            if operation.path:
                folder, name = self._place(operation.path)
                folder.names[name] = node
        elif operation.extra & TRUNCATED:
            self._file(operation).changes.append((0, None))

    def _write(self, operation: Operation) -> None:
        self._file(operation).changes.append((operation.offset, operation.data))

    def _truncate(self, operation: Operation) -> None:
        self._file(operation).changes.append((operation.offset, None))

    def _fsync(self, operation: Operation) -> None:
        node = self.nodes[operation.inode]
        assert not isinstance(node, Link)
        node.sync()
        if isinstance(node, Folder):
            self._settle_moves(node)

    def _settle_moves(self, folder: Folder) -> None:
        """A move between two folders lasts in both or in neither: file systems do promise that."""
        for move in [move for move in self.moves if folder in (move[0], move[2])]:
            source, old, target, new, node = move
            if source.synced.get(old) is node:
                del source.synced[old]
            if target.names.get(new) is node:
                target.synced[new] = node
            self.moves.remove(move)

    def _mkdir(self, operation: Operation) -> None:
        folder, name = self._place(operation.path)
        folder.names[name] = self.nodes[operation.inode] = Folder()

    def _symlink(self, operation: Operation) -> None:
        folder, name = self._place(operation.path)
        folder.names[name] = Link(operation.other)

    def _link(self, operation: Operation) -> None:
        folder, name = self._place(operation.other)
        folder.names[name] = self.nodes[operation.inode]

    def _unlink(self, operation: Operation) -> None:
        folder, name = self._place(operation.path)
        del folder.names[name]

    _rmdir = _unlink

    def _rename(self, operation: Operation) -> None:
        source, old = self._place(operation.path)
        target, new = self._place(operation.other)
        if operation.extra & RENAME_EXCHANGE:
            source.names[old], target.names[new] = target.names[new], source.names[old]
            return
        node = source.names.pop(old)
        if target.names.get(new) is node:
            source.names[old] = node  # two names of one file: rename does nothing
            return
        target.names[new] = node
        if source is not target:
            self.moves.append((source, old, target, new, node))


def write_tree(tree: Tree, folder: Path) -> None:
    """Put a disk of the model into an empty folder."""
    for name, content in tree.items():
        path = folder / name
        if content is None:
            path.mkdir()
        elif isinstance(content, str):
            path.symlink_to(content)
        else:
            path.write_bytes(content)


def read_tree(folder: Path) -> Tree:
    """A folder as the model would tell it."""
    tree: Tree = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            tree[name] = str(path.readlink())
        else:
            tree[name] = None if path.is_dir() else path.read_bytes()
    return tree


def differences(one: Tree, other: Tree) -> list[str]:
    """Names whose content is not the same in both."""
    names = {name for name in one | other if not name.endswith(WRITTEN_BY_MAPPING)}
    return sorted(name for name in names if one.get(name, ...) != other.get(name, ...))


def _write(data: bytearray, offset: int, written: bytes) -> None:
    if len(data) < offset:
        data.extend(bytes(offset - len(data)))
    data[offset : offset + len(written)] = written


def _first(written: bytes, share: float) -> bytes:
    """What a disk keeps of a write it did not finish: whole sectors from its start."""
    if share in (0.0, 1.0):
        return written if share else b""
    return written[: int(len(written) * share) // SECTOR * SECTOR]
