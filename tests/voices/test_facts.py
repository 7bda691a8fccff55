"""What a voice tells of itself: whatever a stranger wrote there, it is of the kind that is shown."""

from __future__ import annotations

import copy
import json

import pytest

from voices import facts

WRITTEN = {
    "v": 1,
    **{"name": "Ada", "engine": "xtts", "language": "en", "why": "best so far", "made": "2026"},
    "licence": {"code": "MPL-2.0", "base": ["CPML"]},
    "from": {
        **{"project": "p3", "version": 2, "extra": [["p4", 1]], "base_fingerprint": "c0ffee"},
        **{"continues": "", "run": "r7", "step": 300},
    },
    "scores": {"check_loss": 2.31, "similarity": 0.87, "character_errors": None},
    "settings": {"train": {"batch": 8, "decay": "cosine"}, "engine": {"freeze": ["gpt"]}},
    **{"sample_text": "Good morning.", "sample_similarity": 0.9, "reference_text": "It rains."},
}
ODD = [
    *(None, True, 1, -1.5, 10**400, float("nan"), float("inf"), "", "x", "<b>", [], [1], [[{}]]),
    *({}, {"a": 1}, {"code": []}, {"run": [1]}, {"similarity": "x"}, {"train": 3}),
]  # fmt: skip


def fields(value, before=()):
    for name, each in value.items():
        yield (*before, name)
        if isinstance(each, dict):
            yield from fields(each, (*before, name))


def changed(field, value):
    made = copy.deepcopy(WRITTEN)
    inner = made
    for name in field[:-1]:
        inner = inner[name]
    inner[field[-1]] = value
    return made


def kinds(value):
    """What can be done with it."""
    assert isinstance(value.get("name", ""), str) and isinstance(value.get("why", ""), str)
    licence, came, settings = (value.get(each, {}) for each in ("licence", "from", "settings"))
    assert all(isinstance(each, str) for each in licence.get("base", []))
    assert isinstance(licence.get("code", ""), str) and isinstance(came.get("run", ""), str)
    assert isinstance({**settings.get("train", {}), **settings.get("engine", {})}, dict)
    for each in (*value.get("scores", {}).values(), came.get("step"), came.get("version")):
        assert each is None or abs(each) < 1e15
    similarity = value.get("sample_similarity")
    assert similarity is None or similarity + 1 > similarity


def test_what_timbre_writes_is_read_as_it_stands():
    assert facts.well_formed(WRITTEN) == WRITTEN


@pytest.mark.parametrize("field", list(fields(WRITTEN)), ids=".".join)
def test_whatever_stands_in_a_field_it_can_be_shown(field):
    for value in ODD:
        kinds(facts.well_formed(changed(field, value)))


@pytest.mark.parametrize("content", [b"", b"[1]", b"\xff", b"{", b"null", b"[" * 100_000])
def test_a_file_that_cannot_be_read_tells_nothing(tmp_path, content):
    path = tmp_path / "voice.json"
    path.write_bytes(content)

    assert facts.read(path) == facts.read(tmp_path / "missing.json") == {}


def test_a_file_is_read_with_all_its_fields(tmp_path):
    path = tmp_path / "voice.json"
    path.write_text(json.dumps(WRITTEN))

    assert facts.read(path) == WRITTEN
