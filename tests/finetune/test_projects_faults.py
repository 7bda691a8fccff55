"""finetune/projects.py on a disk that fails at each of its operations, and that loses its power."""

from __future__ import annotations

from pathlib import Path

import pytest

from finetune import projects
from tests.faults import (
    Outcome,
    Scenario,
    acknowledge,
    assert_told,
    enumerate_faults,
    enumerate_power_loss,
    needs_linux,
)
from voices.workspace import Workspace, open_workspace

pytestmark = needs_linux


class CreateProject(Scenario):
    """A listed project is complete; one that is not listed can be made again."""

    def prepare(self, folder: Path) -> None:
        open_workspace(folder).close()

    def act(self, folder: Path) -> None:
        workspace = open_workspace(folder)
        projects.create(workspace, "Tim")
        acknowledge("Tim")
        workspace.close()

    def check(self, folder: Path, outcome: Outcome) -> None:
        assert_told(outcome)
        workspace = open_workspace(folder)
        if not projects.shelf(workspace).all():
            assert not outcome.acknowledged, "the project the user saw is gone"
            projects.create(workspace, "Tim")
        self.is_complete(workspace)
        assert len(projects.unlisted(workspace)) <= 1, "more than one unfinished try"
        workspace.close()

    def is_complete(self, workspace: Workspace) -> None:
        (project,) = projects.shelf(workspace).all()
        made = workspace.projects / project.id
        # SQLite's log may be there too: a fault while closing leaves it to the next opening.
        assert {path.name for path in made.iterdir()} >= {*("project.db", "recordings", "working")}
        with projects.open_project(made) as opened:
            assert opened.transcript.clips() == []


class CreateFirstProject(CreateProject):
    """The workspace is new as well."""

    def prepare(self, folder: Path) -> None:
        pass


def test_whatever_fails_and_whenever_a_listed_project_is_complete(tmp_path):
    enumerate_faults(CreateProject, tmp_path)


@pytest.mark.parametrize("scenario", [CreateProject, CreateFirstProject])
def test_whenever_the_power_goes_a_listed_project_is_complete(scenario, tmp_path):
    enumerate_power_loss(scenario, tmp_path)
