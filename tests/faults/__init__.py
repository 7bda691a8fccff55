"""A disk that fails on purpose: every write step of real code, broken one at a time.

A scenario says what is on disk before, what is done, and what must hold afterwards:

    class SaveNotes(Scenario):
        def prepare(self, folder): (folder / "notes").write_text("old")
        def act(self, folder): save(folder / "notes", "new")
        def check(self, folder, outcome):
            assert (folder / "notes").read_text() in ("new",) if outcome.done else ("old", "new")

    def test_saving_notes_survives_a_failing_disk(tmp_path):
        enumerate_faults(SaveNotes, tmp_path)
        enumerate_power_loss(SaveNotes, tmp_path)

harness.py is what tests call; driver.py is the process in which a scenario runs, once for each
operation and each way to fail; shim.c, loaded into it, fails that operation; disk.py knows what
a power loss leaves.
"""

from tests.faults.harness import enumerate_faults, enumerate_power_loss, needs_linux
from tests.faults.scenario import Outcome, Scenario, acknowledge, assert_told

__all__ = [
    "Outcome",
    "Scenario",
    "acknowledge",
    "assert_told",
    "enumerate_faults",
    "enumerate_power_loss",
    "needs_linux",
]
