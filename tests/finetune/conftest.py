"""What the tests of the way from recordings to a dataset share."""

from __future__ import annotations

import pytest

from finetune import projects
from voices.workspace import Workspace


@pytest.fixture
def project(workspace: Workspace):
    item = projects.create(workspace, "Tim")
    with projects.open_project(projects.folder_of(workspace, item)) as opened:
        yield opened
