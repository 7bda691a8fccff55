"""A store that opens, migrates with a backup, and refuses politely."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
import time

import pytest

from engines.errors import DiskFullError, StoreDamagedError, StoreTooNewError, WorkspaceError
from tests.conftest import ROOT
from voices.database import Database

FIRST = "CREATE TABLE words (word TEXT); CREATE TABLE others (x);"
SECOND = "ALTER TABLE words ADD COLUMN times INTEGER NOT NULL DEFAULT 1;"


def words(database):
    return [row["word"] for row in database.rows("SELECT word FROM words ORDER BY rowid")]


def add(database, *new):
    with database.change() as store:
        store.executemany("INSERT INTO words (word) VALUES (?)", [(word,) for word in new])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


def test_what_was_changed_is_there_after_opening_again(path):
    database = Database(path, [FIRST])
    add(database, "one", "two")
    database.close()

    assert words(Database(path, [FIRST])) == ["one", "two"]


def test_a_commit_waits_for_the_disk(path):
    database = Database(path, [FIRST])

    assert database.row("PRAGMA journal_mode")[0] == "wal"
    assert database.row("PRAGMA synchronous")[0] == 2  # FULL
    assert database.row("PRAGMA foreign_keys")[0] == 1


def test_a_change_that_fails_leaves_nothing(path):
    database = Database(path, [FIRST])

    with pytest.raises(ZeroDivisionError), database.change() as store:
        store.execute("INSERT INTO words VALUES ('half')")
        raise ZeroDivisionError

    add(database, "whole")
    assert words(database) == ["whole"]


def test_an_older_file_is_brought_up_to_date_with_a_backup_of_what_it_was(path):
    old = Database(path, [FIRST])
    add(old, "kept")
    old.close()

    new = Database(path, [FIRST, SECOND])

    assert new.row("SELECT word, times FROM words")["times"] == 1
    backup = sqlite3.connect(path.with_name("store.db.before-1"))
    assert backup.execute("SELECT * FROM words").fetchall() == [("kept",)]
    assert backup.execute("PRAGMA user_version").fetchone() == (1,)
    backup.close()


def test_a_migration_that_fails_leaves_the_older_file_as_it_was(path):
    old = Database(path, [FIRST])
    add(old, "kept")
    old.close()

    with pytest.raises(WorkspaceError):
        Database(path, [FIRST, "ALTER TABLE words ADD COLUMN x; ALTER TABLE nothing ADD COLUMN y;"])

    assert words(Database(path, [FIRST])) == ["kept"]


def test_two_processes_may_open_and_migrate_at_once(path):
    Database(path, [FIRST]).close()
    code = f"from voices.database import Database; Database({str(path)!r}, {[FIRST, SECOND]!r})"
    code = "from pathlib import Path; " + code.replace(
        f"Database({str(path)!r}", f"Database(Path({str(path)!r})"
    )

    opening = [subprocess.Popen([sys.executable, "-c", code], cwd=ROOT) for _ in range(6)]

    assert [process.wait() for process in opening] == [0] * 6


def test_several_processes_may_make_a_store_at_once(path):
    code = f"""if True:
        import pathlib, sys, time
        from voices.database import Database
        while time.time() < float(sys.argv[2]): pass
        Database(pathlib.Path(sys.argv[1]), {[FIRST, SECOND]!r}).close()"""
    for number in range(5):
        argv = [sys.executable, "-c", code, f"{path}{number}", str(time.time() + 0.5)]
        opening = [subprocess.Popen(argv, cwd=ROOT) for _ in range(3)]
        assert [process.wait() for process in opening] == [0] * 3


def test_what_a_change_has_read_nobody_else_changes_before_it_ends(path):
    one, other = (Database(path, [FIRST]) for _ in range(2))
    later = threading.Thread(target=add, args=(other, "second"))

    with one.change() as store:
        found = store.execute("SELECT count(*) FROM words").fetchone()[0]
        later.start()
        time.sleep(0.2)
        store.execute("INSERT INTO words VALUES (?)", (f"after {found}",))
    later.join()

    assert words(one) == ["after 0", "second"]


def test_a_newer_file_is_refused_politely_and_not_touched(path):
    Database(path, [FIRST, SECOND]).close()
    before = path.read_bytes()

    with pytest.raises(
        StoreTooNewError, match=r"newer Timbre \(format 2; this one knows 1\)"
    ) as caught:
        Database(path, [FIRST])

    assert "Update Timbre" in caught.value.fix
    assert path.read_bytes() == before


def test_a_file_of_another_program_is_refused(path):
    other = sqlite3.connect(path)
    other.executescript("CREATE TABLE theirs (x); PRAGMA user_version=1;")
    other.close()

    with pytest.raises(StoreDamagedError, match="not made by Timbre"):
        Database(path, [FIRST])


@pytest.mark.parametrize(
    "content",
    [b"not a database at all, and long enough" * 40, b"SQLite format 3\x00" + b"\xff" * 5000],
)
def test_a_file_that_is_no_database_is_named(path, content):
    path.write_bytes(content)

    with pytest.raises(StoreDamagedError, match="is damaged"):
        Database(path, [FIRST])

    assert path.read_bytes() == content


def test_a_damaged_page_is_found_when_opening_and_the_backup_named(path):
    database = Database(path, [FIRST])
    add(database, *("word" * 50 for _ in range(2000)))
    database.close()
    Database(path, [FIRST, SECOND]).close()
    content = bytearray(path.read_bytes())
    content[8192:40960] = b"\xaa" * (40960 - 8192)
    path.write_bytes(content)

    with pytest.raises(StoreDamagedError, match="is damaged") as caught:
        Database(path, [FIRST, SECOND])

    assert "store.db.before-1" in caught.value.fix


def test_a_full_disk_is_told_in_words(path):
    database = Database(path, [FIRST])
    database.rows("PRAGMA max_page_count=5")

    with pytest.raises(DiskFullError, match="is full"):
        add(database, *("word" * 1000 for _ in range(100)))

    assert words(database) == []


def test_a_store_that_somebody_holds_is_told_in_words(path, monkeypatch):
    monkeypatch.setattr("voices.database._BUSY_SECONDS", 0.1)
    database = Database(path, [FIRST])
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(WorkspaceError, match="database is locked"):
        add(database, "late")

    other.close()


def test_threads_do_not_mix_their_changes(path):
    database = Database(path, [FIRST])

    def work(name):
        for number in range(20):
            add(database, f"{name}-{number}-a", f"{name}-{number}-b")

    threads = [threading.Thread(target=work, args=(name,)) for name in "pqrs"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    found = words(database)
    assert len(found) == 160
    assert all(b == f"{a[:-1]}b" for a, b in zip(found[::2], found[1::2], strict=True))


def test_a_script_that_ends_in_the_middle_is_our_fault_and_said_at_once(path):
    with pytest.raises(ValueError, match="in the middle"):
        Database(path, ["CREATE TABLE words (word TEXT"])
