import json
from pathlib import Path

import pytest

from app.setup.environment import (
    Environment,
    Stamp,
    TorchFacts,
    key,
    read_stamp,
    stands,
    write_stamp,
)

FACTS = TorchFacts("2.11.0+cu130", "13.0", ("sm_75", "sm_90"), None)


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    made = Environment(tmp_path)
    made.scripts.mkdir(parents=True)
    made.python.touch()
    (tmp_path / "requirements").mkdir()
    for name in ("studio", "uv"):
        made.requirements(name).write_text(f"{name}==1\n")
    return made


def test_a_stamp_is_read_as_it_was_written(environment):
    stamp = Stamp(key(environment), "2026-11-20T10:00:00+00:00", FACTS)

    write_stamp(environment, stamp)

    assert read_stamp(environment.root) == stamp
    assert stands(environment)


def test_without_a_stamp_or_with_a_torn_one_nothing_stands(environment):
    assert not stands(environment)
    for torn in ("", "{", "[]", "{}", '{"key": "x", "date": "y", "torch": 3}'):
        environment.stamp.write_text(torn)

        assert read_stamp(environment.root) is None
        assert not stands(environment)


@pytest.mark.parametrize("name", ["studio", "uv"])
def test_other_requirements_ask_for_another_set_up(environment, name):
    write_stamp(environment, Stamp(key(environment), "", FACTS))

    environment.requirements(name).write_text("other==2\n")

    assert not stands(environment)


def test_a_python_that_went_away_asks_for_another_set_up(environment):
    write_stamp(environment, Stamp(key(environment), "", FACTS))

    environment.python.unlink()

    assert not stands(environment)


def test_the_stamp_is_json_that_other_programs_can_read(environment):
    write_stamp(environment, Stamp("k", "d", FACTS))

    assert json.loads(environment.stamp.read_text())["torch"]["architectures"] == ["sm_75", "sm_90"]
