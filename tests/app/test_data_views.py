"""Recordings, clips and datasets as words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app import data_views
from finetune import datasets, overview, projects
from finetune.checks import GOOD, LOOK, Finding
from finetune.datasets import Dataset, Difference, Example
from finetune.jobs import queue
from finetune.overview import Seen
from finetune.recordings import Recording
from finetune.transcript import Clip, Values
from finetune.versions import Version
from finetune.words import Word
from tests.jobs_at_work import request
from tests.stores import decoded
from voices.shelf import Item

RECORDING = Recording("r1", "evening.mp3", "", "", "r1.mp3", decoded(60.0), "en")
FINDINGS = (
    Finding("speed", 31.25, "It is spoken very fast.", LOOK),
    Finding("music", 0.0, "No music is heard.", GOOD),
)


@pytest.fixture
def project(workspace):
    item = projects.create(workspace, "Ada")
    with projects.open_project(projects.folder_of(workspace, item)) as opened:
        yield opened


def seen(text="The kettle sang.", heard="", mark="good", **changes):
    values = Values("r1", 7.25, 9.5, text, **changes)
    reason = values.reason or ("It is spoken very fast." if mark == "look" else "")
    return Seen(Clip(12, 3, values), RECORDING, mark, reason, FINDINGS, heard)


@pytest.mark.parametrize(
    ("seconds", "decimals", "said"),
    [
        *((0, 0, "0:00"), (59.6, 0, "1:00"), (3599.999, 2, "1:00:00.00"), (7.25, 2, "0:07.25")),
        *((3723.4, 0, "1:02:03"), (59.999, 2, "1:00.00"), (0.05, 2, "0:00.05")),
    ],
)
def test_a_place_in_a_recording_is_said_as_a_clock_does(seconds, decimals, said):
    assert data_views.clock(seconds, decimals) == said


def test_a_clip_is_a_row_with_what_was_heard_only_where_it_differs():
    [same] = data_views.clip_rows([seen(heard=" The  kettle sang.")])
    [other] = data_views.clip_rows([seen(heard="The cattle sang.")])

    assert same == (*("12", "evening.mp3", "0:07.25", "0:09.50", "good", "The kettle sang.", ""),)
    assert other[-1] == "The cattle sang."


def test_a_clip_that_is_left_out_says_so_whatever_its_mark():
    out = seen(included=False, reason="a phone rings")

    assert data_views.clip_rows([out])[0][4] == "left out"
    assert data_views.reason_rows([out, seen()]) == [
        ("12", "left out", "a phone rings", "The kettle sang.")
    ]


def test_all_about_a_clip_has_each_check_with_its_number_and_its_words_numbered():
    page = data_views.clip_page(
        seen(heard="The cattle sang.", mark="look"),
        [Word(" The", 7.3, 7.5), Word(" kettle", 7.5, 8)],
    )

    for said in (
        "(2.2 s): look",
        "Heard there: The cattle",
        "speed 31.2: It is",
        "1 The · 2 kettle",
    ):
        assert said in page
    assert "No music" in page and "No music" not in data_views.against(seen(mark="look"))


def test_what_an_edit_left_is_told_for_each_clip():
    clip = seen().clip
    gone = replace(clip, values=replace(clip.values, gone=True))
    out = replace(clip, values=replace(clip.values, included=False, reason="noise"))

    told = [*data_views.changed_lines([clip, gone, out])]

    assert [line.partition(", ")[2] for line in told] == [
        *("The kettle sang.", "is gone", "left out. noise"),
    ]


def example(clip_id, text="Xylophone and and and.", recording="r1"):
    return Example(clip_id, recording, clip_id * 9.0, clip_id * 9.0 + 6, text)


def test_letters_that_are_hardly_spoken_are_named_once():
    statistics = datasets.statistics(Dataset((example(1), example(2, "Zz! X?")), (), 0))

    [rare] = [line for line in data_views.statistics_lines(statistics) if "hardly" in line]

    assert rare.endswith(": e h l o p x y z")


def test_a_version_tells_how_it_is_divided_and_what_it_changed():
    old = Version(1, "then", "", Dataset((example(1), example(2)), (example(3),), 7))
    new = Version(2, "now", "better", Dataset((example(1),), (example(3, "Other."),), 7))

    page = data_views.version_page(new, old)

    assert "Version 2, frozen now, seed 7: better" in page
    assert "1 clips to learn from, 1 to check with." in page
    assert "Since version 1: 1 removed, 1 changed." in page


def test_nothing_changed_is_said_in_no_words():
    assert data_views.difference(Difference((), (), ())) == ""
    assert data_views.difference(Difference((1, 2), (), (3,))) == "2 added, 1 changed"


def test_a_project_without_clips_and_one_with_unchecked_ones_say_what_is_next(project):
    item = Item("0" * 12, "Ada", "", trashed=False)
    empty = overview.overview(project, [])
    some = overview.overview(project, [seen(mark=overview.UNCHECKED), seen()])

    assert "There are no clips yet." in data_views.overview_page(item, empty)
    page = data_views.overview_page(item, some)
    assert "2 clips (1 good, 1 not checked)" in page and "dataset check" in page
    assert "No version is frozen yet." in page


def test_a_work_that_failed_has_its_error_beside_what_it_did(workspace):
    job = queue.submit(workspace, request("die", "input"))
    list(job.folder.follow(poll_seconds=0.05))

    told = data_views.work_facts(
        Item("0" * 12, "Ada", "", trashed=False), queue.find(workspace, job.id), {"clips": 3}
    )

    assert told["cause"] == "bad-input" and told["clips"] == 3
    assert told["error"] == {"what": "The recording is empty.", "fix": "Choose another one."}
