"""What several tests need."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from voices.workspace import Workspace, open_workspace

# Threads of torch that wait by turning round and round take the cores from those that work.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

ROOT = Path(__file__).parents[1]


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    opened = open_workspace(tmp_path / "workspace")
    yield opened
    opened.close()


@pytest.fixture
def python() -> str:
    return sys.executable
