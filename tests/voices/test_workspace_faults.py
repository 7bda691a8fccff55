"""voices/workspace.py and shelf.py on a disk that fails at each of its operations."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import (
    Outcome,
    Scenario,
    acknowledge,
    assert_told,
    enumerate_faults,
    enumerate_power_loss,
    needs_linux,
)
from voices.shelf import Shelf
from voices.workspace import open_workspace

pytestmark = needs_linux


class FirstStart(Scenario):
    """There is nothing yet; whatever happened, the next start has a whole workspace."""

    def act(self, folder: Path) -> None:
        open_workspace(folder / "home").close()

    def check(self, folder: Path, outcome: Outcome) -> None:
        assert_told(outcome)
        workspace = open_workspace(folder / "home")
        assert all(path.is_dir() for path in workspace.folders)
        assert Shelf(workspace, "voices", "voice").all() == []
        workspace.close()


class NamedThings(Scenario):
    """Adding, renaming, trashing and restoring, each told to the user when done."""

    # What is on the shelf and what in the trash, before the first step and after each.
    STATES = (
        ([], []),
        (["Ann"], []),
        (["Anna"], []),
        ([], ["Anna"]),
        (["Anna"], []),
    )

    def prepare(self, folder: Path) -> None:
        open_workspace(folder).close()

    def act(self, folder: Path) -> None:
        workspace = open_workspace(folder)
        shelf = Shelf(workspace, "voices", "voice")
        ann = shelf.add("Ann")
        acknowledge("added")
        shelf.rename(ann.id, "Anna")
        acknowledge("renamed")
        shelf.trash(ann.id)
        acknowledge("trashed")
        shelf.restore(ann.id)
        acknowledge("restored")
        workspace.close()

    def check(self, folder: Path, outcome: Outcome) -> None:
        assert_told(outcome)
        workspace = open_workspace(folder)
        shelf = Shelf(workspace, "voices", "voice")
        kept = len(outcome.acknowledged)
        found = [item.name for item in shelf.all()], [item.name for item in shelf.all(trashed=True)]
        assert found in self.STATES[kept : kept + 2], f"{outcome.acknowledged}, but found {found}"
        workspace.close()


@pytest.mark.parametrize("scenario", [FirstStart, NamedThings])
def test_whatever_fails_and_whenever_the_workspace_opens_with_all_that_was_told(scenario, tmp_path):
    enumerate_faults(scenario, tmp_path)


@pytest.mark.parametrize("scenario", [FirstStart, NamedThings])
def test_whenever_the_power_goes_the_workspace_opens_with_all_that_was_told(scenario, tmp_path):
    enumerate_power_loss(scenario, tmp_path)
