"""What was measured is found again by the next run, or is measured again; it never gets in the way."""

from __future__ import annotations

import errno
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from engines.errors import DiskFullError
from finetune.fitting import remembered
from finetune.fitting.peaks import Held, Point, Timed
from finetune.fitting.remembered import Remembered

FACTS = {"engine": "xtts", "trained": 520, "card": {"name": "RTX 4070", "total": "12 GB"}}
NAME = remembered.fingerprint(FACTS)
POINTS = tuple(
    Point("model", stage, clips, length, 10_000 + clips * length, 0.25)
    for clips in (1, 4)
    for length in (400, 100)
    for stage in ("first", "more", "change")
)
TIMED = (Timed(1, 200, 0.1), Timed(8, 200, 0.5))
WHAT = Remembered(Held(2000, 2000, 4000), POINTS, 1.07, 12_345, 678, TIMED)


@pytest.fixture
def known(tmp_path):
    """A file of what was measured."""
    remembered.keep(tmp_path, NAME, WHAT, FACTS)
    return tmp_path / f"{NAME}.json"


def changed(path, **changes):
    """The file with some of its values replaced."""
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def recalled(path):
    return remembered.recall(path.parent, NAME)


# ---- Kept and found again ----


@pytest.mark.parametrize("ran_out_at", [None, 12_345])
def test_what_is_kept_is_found_again_as_it_was(tmp_path, ran_out_at):
    what = replace(WHAT, ran_out_at=ran_out_at)

    remembered.keep(tmp_path / "cache" / "fits", NAME, what, FACTS)

    found = remembered.recall(tmp_path / "cache" / "fits", NAME)
    assert found == what
    assert found.fit == what.fit


def test_of_the_same_only_the_last_is_kept(known):
    later = replace(WHAT, fragmented=1.2)

    remembered.keep(known.parent, NAME, later, FACTS)

    assert recalled(known) == later
    assert list(known.parent.iterdir()) == [known]


def test_a_person_can_read_in_the_file_what_it_is_about(known):
    assert json.loads(known.read_text())["facts"] == FACTS


def test_facts_that_json_does_not_know_are_kept_as_words(tmp_path):
    facts = {"base": Path("models/xtts"), "seen": (1, 2)}

    remembered.keep(tmp_path, NAME, WHAT, facts)

    assert remembered.recall(tmp_path, NAME) == WHAT
    assert remembered.fingerprint(facts)


def test_what_was_never_kept_is_unknown(tmp_path):
    assert remembered.recall(tmp_path, NAME) is None
    assert remembered.recall(tmp_path / "nowhere", NAME) is None


# ---- Files that are no use ----


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"\xff\xfe\x00", b"null", b"7", b'"words"', b"[]", b"{}", b"[" * 100_000),
        b'{"version": 2}',
    ],
)
def test_a_damaged_or_foreign_file_is_unknown(known, content):
    known.write_bytes(content)

    assert recalled(known) is None


def test_a_file_cut_off_anywhere_is_unknown(known):
    content = known.read_bytes()

    for size in range(0, len(content), 7):
        known.write_bytes(content[:size])
        assert recalled(known) is None


@pytest.mark.parametrize("version", [1, 3])
def test_a_file_of_another_version_is_unknown(known, version):
    changed(known, version=version)

    assert recalled(known) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"points": []},
        {"points": [{"turn": "model"}]},
        {"points": [{**json.loads(json.dumps(FACTS))}]},
        {"points": None},
        {"held": {"weights": 1}},
        {"held": {"weights": "much", "gradients": 1, "optimizer": 1}},
        {"fragmented": None},
        {"fragmented": 0.0},
        {"fragmented": math.nan},
        {"speaking": "loud"},
        {"ran_out_at": "noon"},
    ],
)
def test_a_file_in_which_something_is_missing_or_senseless_is_unknown(known, changes):
    changed(known, **changes)

    assert recalled(known) is None


@pytest.mark.parametrize("bad", [0, -5, "many", None, math.nan])
def test_a_file_with_a_point_of_no_size_is_unknown(known, bad):
    points = json.loads(known.read_text())["points"]
    changed(known, points=[{**points[0], "bytes": bad}, *points[1:]])

    assert recalled(known) is None


def test_a_file_without_one_of_the_phases_is_unknown(known):
    points = json.loads(known.read_text())["points"]
    changed(known, points=[each for each in points if each["stage"] != "change"])

    assert recalled(known) is None


def test_a_folder_in_place_of_the_file_is_unknown(tmp_path):
    (tmp_path / f"{NAME}.json").mkdir()

    assert remembered.recall(tmp_path, NAME) is None


# ---- A disk that takes nothing ----


@pytest.mark.parametrize(
    "fault",
    [OSError(errno.ENOSPC, "No space left"), OSError(errno.EROFS, "Read-only"),
     DiskFullError("The disk is full.", "Free some space.")],
)  # fmt: skip
def test_a_disk_that_takes_nothing_is_no_reason_to_stop(known, monkeypatch, fault):
    def refuse(path, content):
        raise fault

    monkeypatch.setattr("voices.files.write_bytes", refuse)
    remembered.keep(known.parent, NAME, replace(WHAT, fragmented=2.0), FACTS)

    assert recalled(known) == WHAT


def test_a_cache_that_cannot_be_made_is_no_reason_to_stop(tmp_path):
    (tmp_path / "cache").write_text("a file, no folder")

    remembered.keep(tmp_path / "cache" / "fits", NAME, WHAT, FACTS)

    assert remembered.recall(tmp_path / "cache" / "fits", NAME) is None


# ---- Names ----


def test_a_fingerprint_does_not_depend_on_the_order_of_the_facts():
    backwards = dict(reversed(FACTS.items()))
    backwards["card"] = dict(reversed(FACTS["card"].items()))

    assert list(backwards) != list(FACTS)
    assert remembered.fingerprint(backwards) == NAME


def test_a_fingerprint_differs_when_any_fact_does():
    others = [
        *({**FACTS, fact: "another"} for fact in FACTS),
        *({each: FACTS[each] for each in FACTS if each != fact} for fact in FACTS),
        {**FACTS, "more": None},
        {**FACTS, "trained": "520"},
        {**FACTS, "card": {**FACTS["card"], "total": "8 GB"}},
        {"engine": "xtts", "trained": 520, **FACTS["card"]},
    ]

    names = {NAME, *map(remembered.fingerprint, others)}
    assert len(names) == len(others) + 1


def test_a_fingerprint_is_a_name_for_a_file():
    assert NAME.isalnum() and len(NAME) == 24


# ---- What is learned of running out ----


def test_after_running_out_less_is_taken_the_next_time_and_never_more_again():
    first = replace(WHAT, ran_out_at=None)

    once = first.after_running_out(1000)
    again = once.after_running_out(5000)

    assert first.ceiling == math.inf
    assert once.ceiling == again.ceiling == 970
    assert again.after_running_out(500).ceiling == 485


def test_one_number_of_clips_alone_is_rough():
    assert not WHAT.is_rough
    assert replace(WHAT, points=POINTS[:6]).is_rough
