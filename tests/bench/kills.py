"""kill -9 at any moment on a process that writes edits and files; then: is what it said true?"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from engines.errors import DamagedFolderError, StudioError
from tests.bench import model, writer
from tests.bench.killing import Killed, kill_writers
from tests.bench.progress import Progress
from tests.bench.record import Benchmark, Figure, Measured, Settings, together
from tests.stores import OpenTranscript
from voices import files

ROUNDS = 200
FILE_ROUNDS = 60


def measure(settings: Settings, progress: Progress) -> Measured:
    """Kill writers of edits, then writers of files."""
    parts = {"edits": _measure_edits, "files": _measure_files}
    wanted = [part for name, part in parts.items() if settings.wants(name)]
    return together([part(settings, progress) for part in wanted])


# ---- Edits ---------------------------------------------------------------------------------------


@dataclass
class Transcripts:
    """Opens what killed writers left, and counts what is not as they said."""

    lost: int = 0
    unreadable: int = 0
    inside: int = 0
    notes: list[str] = field(default_factory=list)

    def check(self, killed: Killed) -> int | None:
        """Tell after which action the store stands."""
        try:
            state = read_back(killed.folder / "project.db")
        except (StudioError, sqlite3.Error) as problem:
            self.unreadable += 1
            self.notes.append(f"A store cannot be read: {problem}")
            return None
        for done in (killed.acknowledged, killed.acknowledged + 1):
            if model.after(killed.seed, done).state() == state:
                self.inside += done - killed.acknowledged
                return done
        self._lost(killed, state)
        return None

    def _lost(self, killed: Killed, state: model.State) -> None:
        held = stands_at(state, killed)
        lost = killed.acknowledged - (killed.before if held is None else held)
        self.lost += max(1, lost)
        stands = "as after no number of them" if held is None else f"as after {held}"
        self.notes.append(f"{killed.acknowledged} edits were acknowledged, a store is {stands}.")


def read_back(path: Path) -> model.State:
    """Open a transcript as the studio does, check the file, and read everything."""
    with closing(OpenTranscript(path)) as transcript:
        state = model.read(transcript)
    with closing(sqlite3.connect(path)) as store:
        found = store.execute("PRAGMA integrity_check").fetchall()
        found += store.execute("PRAGMA foreign_key_check").fetchall()
    if found != [("ok",)]:
        raise sqlite3.DatabaseError(f"the check says {found[:3]}")
    return state


def stands_at(state: model.State, killed: Killed) -> int | None:
    """After how many actions a transcript looks like this, the most there can be."""
    held = None
    for each in islice(model.states(killed.seed), killed.acknowledged + 1):
        held = each.count if each.state() == state else held
    return held


def _measure_edits(settings: Settings, progress: Progress) -> Measured:
    rounds, found = settings.rounds or ROUNDS, Transcripts()
    acknowledged = kill_writers("transcript", rounds, progress, found.check)
    figures = {
        "rounds": rounds,
        "edits_acknowledged": acknowledged,
        "edits_lost": found.lost,
        "stores_unreadable": found.unreadable,
        "kills_inside_an_edit": found.inside,
    }
    return Measured(figures, tuple(found.notes))


# ---- Files ---------------------------------------------------------------------------------------


@dataclass
class Folders:
    """Looks at what killed writers of files left, and counts what is neither old nor new."""

    half_files: int = 0
    half_folders: int = 0
    lost: int = 0
    swept: int = 0
    left: int = 0
    inside: int = 0
    notes: list[str] = field(default_factory=list)

    def check(self, killed: Killed) -> int | None:
        """Tell after which write the folder stands."""
        found = files.sweep(killed.folder)
        self.swept += len(found)
        self.left += sum(".tmp-" in path.name for path in killed.folder.rglob("*"))
        there = read_folder(killed.folder)
        for done in (killed.acknowledged, killed.acknowledged + 1):
            if there == writer.whole(killed.seed, done):
                self.inside += int(bool(found) or done > killed.acknowledged)
                return done
        self._wrong(there, writer.whole(killed.seed, killed.acknowledged))
        return None

    def _wrong(self, there: Tree, expected: Tree) -> None:
        for name in sorted(there.keys() | expected.keys()):
            found, wanted = there.get(name), expected.get(name)
            if found == wanted:
                continue
            self.notes.append(f"{name} is {'missing' if found is None else 'not as it was saved'}.")
            if found is None:
                self.lost += 1
            elif isinstance(found, bytes):
                self.half_files += 1
            else:
                self.half_folders += 1


Tree = dict[str, bytes | dict[str, bytes]]


def read_folder(folder: Path) -> Tree:
    """Read files, and sealed folders as what is in them; one that is not whole has nothing."""
    return {
        path.name: _sealed(path) if path.is_dir() else path.read_bytes()
        for path in folder.iterdir()
    }


def _sealed(folder: Path) -> dict[str, bytes]:
    try:
        files.check_folder(folder)
        return {name: (folder / name).read_bytes() for name in files.read_manifest(folder)}
    except DamagedFolderError:
        return {}


def _measure_files(settings: Settings, progress: Progress) -> Measured:
    rounds, found = settings.rounds or FILE_ROUNDS, Folders()
    acknowledged = kill_writers("files", rounds, progress, found.check)
    figures = {
        "file_rounds": rounds,
        "writes_acknowledged": acknowledged,
        "writes_lost": found.lost,
        "files_half": found.half_files,
        "folders_half": found.half_folders,
        "kills_inside_a_write": found.inside,
        "leftovers_swept": found.swept,
        "leftovers_left": found.left,
    }
    return Measured(figures, tuple(found.notes))


BENCHMARK = Benchmark(
    name="kills",
    about="kill -9 on a process that writes edits: what was acknowledged is there, all of it.",
    figures=(
        Figure("rounds", "kills of a process that writes edits"),
        Figure("edits_acknowledged", "edits that were said to be saved"),
        Figure("edits_lost", "of these, not there afterwards", "== 0"),
        Figure(
            "stores_unreadable", "stores that do not open or do not pass SQLite's check", "== 0"
        ),
        Figure("kills_inside_an_edit", "kills between the save and the word of it"),
        Figure("file_rounds", "kills of a process that writes files and sealed folders"),
        Figure("writes_acknowledged", "files and folders that were said to be written"),
        Figure("writes_lost", "of these, not there afterwards", "== 0"),
        Figure("files_half", "files that are neither the old nor the new one", "== 0"),
        Figure("folders_half", "folders that are there and not whole", "== 0"),
        Figure("kills_inside_a_write", "kills that left something unfinished or unsaid"),
        Figure("leftovers_swept", "unfinished files and folders that were removed"),
        Figure("leftovers_left", "unfinished ones that were overlooked", "== 0"),
    ),
    measure=measure,
    parts=("edits", "files"),
)
