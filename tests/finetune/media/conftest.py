"""What these tests share."""

from __future__ import annotations

import pytest

from tests.finetune.media.making import Reused


@pytest.fixture(scope="module")
def decoder(tmp_path_factory):
    reused = Reused(tmp_path_factory.mktemp("copies"))
    yield reused
    reused.close()
