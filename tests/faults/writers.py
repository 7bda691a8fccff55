"""Scenarios that prove the harness bites: good and bad ways to replace a file, and SQLite's."""

from __future__ import annotations

import contextlib
import mmap
import os
import shutil
import sqlite3
from pathlib import Path

from tests.faults import Outcome, Scenario, acknowledge

OLD, NEW = "old " * 1000, "new " * 1000


class Writer(Scenario):
    """Replaces a text; afterwards it is the old or the new one, and the new one once promised."""

    def prepare(self, folder: Path) -> None:
        (folder / "text").write_text(OLD)

    def act(self, folder: Path) -> None:
        self.write(folder / "text", NEW)
        acknowledge("saved")

    def check(self, folder: Path, outcome: Outcome) -> None:
        text = (folder / "text").read_text()
        assert text in (OLD, NEW), f"neither old nor new, but {len(text)} characters"
        if outcome.acknowledged:
            assert text == NEW, "what was acknowledged is lost"

    def write(self, path: Path, text: str) -> None:
        raise NotImplementedError


class InPlace(Writer):
    """What open(path, "w") does."""

    def write(self, path: Path, text: str) -> None:
        path.write_text(text)


class WithoutSync(Writer):
    """Atomic as long as the power stays."""

    def write(self, path: Path, text: str) -> None:
        temporary = path.with_suffix(".tmp")
        temporary.write_text(text)
        temporary.replace(path)


class WithoutFolderSync(Writer):
    """Whole after a power loss, but perhaps the old one, though the new one was promised."""

    def write(self, path: Path, text: str) -> None:
        _write_and_sync(path.with_suffix(".tmp"), text)
        path.with_suffix(".tmp").replace(path)


class Correct(Writer):
    """Temporary file, sync, rename, sync of the folder."""

    def write(self, path: Path, text: str) -> None:
        _write_and_sync(path.with_suffix(".tmp"), text)
        path.with_suffix(".tmp").replace(path)
        _sync_folder(path.parent)


class TrustsOneWrite(Writer):
    """Forgets that os.write may take less than it was given."""

    def write(self, path: Path, text: str) -> None:
        temporary = os.open(path.with_suffix(".tmp"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.write(temporary, text.encode())
        os.fsync(temporary)
        os.close(temporary)
        path.with_suffix(".tmp").replace(path)
        _sync_folder(path.parent)


class HidesErrors(Writer):
    """Says that it saved, whatever happened."""

    def write(self, path: Path, text: str) -> None:
        with contextlib.suppress(OSError):
            Correct().write(path, text)


class Shows(Correct):
    """Fails its check whenever an error came through, to show which one."""

    def check(self, folder: Path, outcome: Outcome) -> None:
        assert outcome.done, f"{outcome.errno} {outcome}"


class Mapped(Writer):
    """Writes where no call is made."""

    def write(self, path: Path, text: str) -> None:
        (path.parent / "seen").touch()
        with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
            memory[:] = text.encode()

    def check(self, folder: Path, outcome: Outcome) -> None:
        pass


class Everything(Scenario):
    """Goes once through every kind of call, so that model and disk can be compared."""

    def prepare(self, folder: Path) -> None:
        (folder / "kept").write_bytes(b"kept" * 500)
        (folder / "gone").write_bytes(b"gone")
        (folder / "one").mkdir()
        (folder / "one" / "inside").write_bytes(b"inside")

    def act(self, folder: Path) -> None:
        (folder / "two" / "deep").mkdir(parents=True)
        shutil.copyfile(folder / "kept", folder / "two" / "copied")
        shutil.copytree(folder / "one", folder / "two" / "tree")
        (folder / "one" / "inside").rename(folder / "two" / "moved")
        (folder / "two").rename(folder / "three")
        (folder / "link").symlink_to("kept")
        (folder / "second name").hardlink_to(folder / "kept")
        (folder / "gone").unlink()
        (folder / "again").write_bytes(b"may get the number of the one that is gone")
        shutil.rmtree(folder / "one")
        with (folder / "kept").open("r+b") as file:
            file.seek(3000)
            file.write(b"after a hole")
            file.flush()
            os.pwrite(file.fileno(), b"PWRITE", 10)
            os.pwritev(file.fileno(), [b"a", b"bc"], 20)
            file.truncate(3005)
            os.fsync(file.fileno())
        with (folder / "kept").open("ab", buffering=0) as file:
            os.writev(file.fileno(), [b"appended ", b"in parts"])
        os.truncate(folder / "again", 10)
        nameless = os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o600)
        os.write(nameless, b"named later")
        here = os.open(folder, os.O_RDONLY)
        # With src_dir_fd, because only then Python makes the call that follows the link.
        os.link(f"/proc/self/fd/{nameless}", folder / "named", src_dir_fd=here)
        os.close(nameless)
        os.rename("named", "renamed", src_dir_fd=here, dst_dir_fd=here)
        os.mkdir("made at", dir_fd=here)
        os.rmdir("made at", dir_fd=here)
        os.close(here)

    def check(self, folder: Path, outcome: Outcome) -> None:
        pass


class SqliteWal(Scenario):
    """Two commits, each acknowledged, to a database in WAL with synchronous=FULL."""

    synchronous = "FULL"

    def prepare(self, folder: Path) -> None:
        connection = sqlite3.connect(folder / "db")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE words (word TEXT)")
        connection.commit()
        connection.close()

    def act(self, folder: Path) -> None:
        connection = sqlite3.connect(folder / "db", isolation_level=None)
        connection.execute(f"PRAGMA synchronous={self.synchronous}")
        for word in ("one", "two"):
            connection.execute("INSERT INTO words VALUES (?)", (word,))
            acknowledge(word)
        connection.close()

    def check(self, folder: Path, outcome: Outcome) -> None:
        connection = sqlite3.connect(folder / "db")
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        found = [row[0] for row in connection.execute("SELECT word FROM words")]
        connection.close()
        kept = len(outcome.acknowledged)
        assert found in (["one", "two"][:kept], ["one", "two"][: kept + 1]), (
            f"{outcome.acknowledged} acknowledged, {found} found"
        )


class SqliteWalNormal(SqliteWal):
    """The same with synchronous=NORMAL, which does not sync every commit."""

    synchronous = "NORMAL"


def _write_and_sync(path: Path, text: str) -> None:
    with path.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
