"""A module of ours in a process of its own: what it said comes back, and it can be ended."""

from __future__ import annotations

from contextlib import suppress

import psutil
import pytest

from voices import apart


def sleepers():
    """The processes of tests.sleeps below this one."""
    found = []
    for each in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it may just have ended
            found += [each] if "tests.sleeps" in each.cmdline() else []
    return found


def test_what_it_said_and_how_it_ended_comes_back():
    done = apart.run("json.tool", ["--help"], lambda: None)
    wrong = apart.run("json.tool", ["--nothing"], lambda: None)

    assert done.returncode == 0 and "usage:" in done.stdout
    assert wrong.returncode == 2 and "--nothing" in wrong.stderr


def test_what_is_raised_meanwhile_ends_it_and_what_it_began():
    seen = []

    def meanwhile():
        seen[:] = sleepers()
        if len(seen) == 2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        apart.run("tests.sleeps", [], meanwhile)

    assert len(seen) == 2 and not psutil.wait_procs(seen, timeout=5)[1]
