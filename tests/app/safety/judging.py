"""What is looked for in each answer, and beside the workspace."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

from tests.app.asking import Answer

CANARY = "canary-4f1d-nobody-may-read-this"


def outside(folder):
    """All that lies beside the workspace, and what it holds."""
    kept = {}
    for path in (*folder.glob("*.txt"), *(folder / "outside").rglob("*"), *folder.iterdir()):
        kept[path] = path.read_bytes() if path.is_file() else path.is_dir()
    return kept


@contextmanager
def nothing_changes_outside(folder):
    before, here = outside(folder), set(Path().iterdir())
    yield
    assert outside(folder) == before
    assert set(Path().iterdir()) == here


def leaks(answer: Answer):
    """Whether something of elsewhere is in it: the canary, or of what every computer has."""
    return any(
        sign in answer.body
        for sign in (CANARY.encode(), b"root:x:0:0", b"PATH=/", b"SQLite format 3")
    )


def check(answer, name, given):
    """An answer is right when it leaks nothing, and says what is wrong and what to do."""
    about = (name, repr(given)[:300], answer.status, answer.body[:500])
    assert answer.status < 500, about
    assert not leaks(answer), about
    if answer.status >= 400 and answer.status != 416:
        assert answer.said["what"] and answer.said["fix"], about
