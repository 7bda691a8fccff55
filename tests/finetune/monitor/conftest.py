"""The stand-in driver, made once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import nvml


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        return nvml.build(tmp_path_factory.mktemp("nvml"))
    except nvml.NoCompilerError as why:
        pytest.skip(str(why))


@pytest.fixture
def stand_in(library: Path, tmp_path: Path) -> Iterator[nvml.StandIn]:
    with nvml.in_place_of_the_driver(library, tmp_path / "answers") as found:
        yield found
