"""One tiny XTTS base for all tests here: making it takes two seconds and 300 MB."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from engines.xtts import ENGINE
from tests.engines.xtts.tiny import make_base


@pytest.fixture(scope="session")
def xtts_base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A base as its owner has it; nobody changes it."""
    folder = make_base(tmp_path_factory.mktemp("xtts-base"))
    yield folder
    shutil.rmtree(folder)  # pytest keeps its folders over three runs


@pytest.fixture(scope="session")
def xtts_converted(xtts_base: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The same base as `load` takes it; nobody changes it."""
    folder = tmp_path_factory.mktemp("xtts-converted")
    ENGINE.convert(xtts_base, folder)
    yield folder
    shutil.rmtree(folder)
