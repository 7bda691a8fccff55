"""Transcript as the page asks for it: clips, every edit, datasets, texts in and out; all through its calls."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import pytest
import soundfile

from app.places import transcript, transcript_edits, transcript_rows
from app.screen.calls import answer, bound
from app.screen.desk import Desk
from app.screen.served import Served
from engines.errors import EditError, NotFoundError, SettingsError
from finetune import builds, editing, exports, given_texts, overview, projects
from finetune.jobs import queue
from finetune.jobs.folder import JobFolder
from finetune.jobs.worker import Job
from finetune.packed_exports import work
from finetune.transcript import EditConflict
from tests.bench import screen_project
from voices import names

CLIPS = 40


@pytest.fixture
def desk(workspace):
    return Desk(workspace, sampler=None, speaker=None)


@pytest.fixture
def item(workspace):
    return screen_project.make(workspace, "Ada", CLIPS)


@pytest.fixture
def opened(workspace, item):
    with projects.open_project(projects.folder_of(workspace, item)) as project:
        yield project


@pytest.fixture
def ask(desk, item):
    """Ask as the page does, about this project."""

    def ask(name, /, **given):
        call = {**transcript.CALLS, **transcript.FILES}[f"transcript.{name}"]
        result = call(desk, **bound(call, {"project": item.id, **given}))
        if not isinstance(result, Served):
            answer(result)
        return result

    return ask


def row(clip, rows):
    return next(each for each in rows if each[0] == clip)


def texts(ask):
    return {each[0]: each[5] for each in ask("clips")["rows"]}


def test_the_list_is_sent_once_and_then_only_what_changed(ask):
    whole = ask("clips")
    assert len(whole["rows"]) == CLIPS

    said = ask("text", clip=3, revision=3, text="The kettle sang.", since=whole["revision"])

    assert [each[0] for each in said["rows"]] == [3]
    assert said["rows"] == ask("clips", since=whole["revision"])["rows"]
    assert ask("clips", since=said["revision"])["rows"] == []


def test_an_edited_clip_says_so_and_waits_to_be_checked_again(ask):
    before = row(1, ask("clips")["rows"])

    after = ask("text", clip=1, revision=1, text="Something else.", since=CLIPS)["rows"][0]

    assert overview.MARKS[before[7]] == "look"
    assert before[9] == "speed"
    assert overview.MARKS[after[7]] == "not checked"
    assert after[6] == transcript_rows.INCLUDED | transcript_rows.EDITED


def test_a_clip_that_a_person_took_in_is_decided_and_keeps_its_mark(ask):
    after = ask("take_in", clips=[[1, 1]], since=CLIPS)["rows"][0]

    assert after[6] & transcript_rows.DECIDED
    assert overview.MARKS[after[7]] == "look"


def test_who_saw_an_older_revision_is_refused_with_both_texts(ask):
    ask("text", clip=3, revision=3, text="Theirs.", since=0)

    with pytest.raises(EditConflict) as caught:
        ask("text", clip=3, revision=3, text="Mine.", since=0)

    both = transcript_edits.conflict(caught.value)
    assert (both["yours"]["text"], both["theirs"]["values"]["text"]) == ("Mine.", "Theirs.")
    assert json.loads(json.dumps(both)) == both  # as routes.py sends it
    assert texts(ask)[3] == "Theirs."


def test_of_many_clips_one_that_was_changed_elsewhere_keeps_all_as_they_are(ask):
    ask("text", clip=3, revision=3, text="Theirs.", since=0)
    before = ask("clips")["rows"]

    with pytest.raises(EditConflict):
        ask("leave_out", clips=[[2, 2], [3, 3]], reason="a phone rings", since=0)

    assert ask("clips")["rows"] == before


def test_moving_one_end_leaves_the_other_exactly_where_it_was(ask, opened):
    before = opened.transcript.clip(5).values

    ask("trim", clip=5, revision=5, start=None, end=before.end + 0.1, since=0)

    after = opened.transcript.clip(5).values
    assert (after.start, after.end) == (before.start, before.end + 0.1)


def test_a_clip_is_split_at_a_word_merged_undone_and_redone(ask):
    before = texts(ask)
    words = before[4].split()

    ask("split", clip=4, revision=4, word=2, since=0)
    halves = [each for each in ask("clips")["rows"] if each[0] in (4, CLIPS + 1)]
    assert [each[5] for each in halves] == [" ".join(words[:2]), " ".join(words[2:])]
    assert halves[0][4] == halves[1][3]

    ask("merge", pair=[each[:2] for each in halves], since=0)
    assert texts(ask) == before

    assert ask("undo", since=0)["label"] == "merge"
    assert ask("undo", since=0)["label"] == "split"
    assert texts(ask) == before
    assert ask("redo", since=0)["label"] == "split"
    assert len(texts(ask)) == CLIPS + 1


def test_a_clip_is_split_between_the_words_that_its_picture_shows(ask):
    words = ask("clip", clip=4)["words"]

    ask("split", clip=4, revision=4, word=2, since=0)

    end = row(4, ask("clips")["rows"])[4]
    assert words[1][1] < end < words[2][2]


def test_where_nothing_was_heard_a_split_says_what_to_do(ask, opened):
    with opened.store.change() as store:
        store.execute("UPDATE hearings SET finished = 0")

    assert ask("clip", clip=4)["words"] == []
    with pytest.raises(EditError, match="cursor"):
        ask("split", clip=4, revision=4, word=2, since=0)


def test_the_words_of_one_clip_are_those_of_the_whole_recording(ask, opened):
    for clip in opened.transcript.clips()[::7]:
        words, _ = overview.timed_words(opened, clip)

        shown = ask("clip", clip=clip.id)["words"]

        assert shown == [[each.text.strip(), each.start, each.end] for each in words]


def test_the_outline_covers_the_clip_and_room_on_both_sides(ask, opened):
    values = opened.transcript.clip(10).values

    outline = ask("clip", clip=10)["outline"]

    assert outline.start < values.start < values.end < outline.end
    assert len(outline.points) == pytest.approx((outline.end - outline.start) * 100, abs=1)
    assert 0 <= min(outline.points) < max(outline.points) <= 100


def test_a_clip_sounds_exactly_as_long_as_it_is(ask, opened):
    served = ask("sound", recording=screen_project.RECORDING, start=10.0, end=11.5)

    samples, rate = soundfile.read(io.BytesIO(served.content), dtype="int16")
    with soundfile.SoundFile(opened.working_of(screen_project.RECORDING)) as whole:
        whole.seek(10 * rate)
        expected = whole.read(round(1.5 * rate), dtype="int16")
    assert np.array_equal(samples, expected)


def test_replacing_shows_what_would_change_and_is_one_undo(ask):
    before, clips = texts(ask), [each[:2] for each in ask("clips")["rows"]]
    wish = {"find": "kettle", "by": "pot", "match_case": False, "whole_words": True, "since": 0}

    changes = ask("replace", clips=clips, do=False, **wish)["changes"]
    assert texts(ask) == before
    ask("replace", clips=[each[:2] for each in changes], do=True, **wish)

    after = texts(ask)
    assert {each[0]: each[3] for each in changes} == {
        clip: said for clip, said in after.items() if said != before[clip]
    }
    assert len(changes) > 1
    assert not any("kettle" in said.lower() for said in after.values())
    ask("undo", since=0)
    assert texts(ask) == before


def test_what_can_be_undone_and_redone_comes_with_every_change(ask):
    nothing = ask("clips")["turns"]
    typed = ask("text", clip=2, revision=2, text="Else.", since=0)
    back = ask("undo", since=typed["revision"])

    assert nothing == {"undo": "", "redo": ""}
    assert typed["turns"] == {"undo": "change the text", "redo": ""}
    assert back["turns"] == {"undo": "", "redo": "change the text"}
    assert ask("clips", since=typed["revision"])["turns"] == back["turns"]


def test_numbers_are_written_as_they_are_said(ask):
    ask("text", clip=2, revision=2, text="It costs 25 dollars.", since=0)
    clips = [each[:2] for each in ask("clips")["rows"]]

    [change] = ask("normalise", clips=clips, do=False, since=0)["changes"]
    ask("normalise", clips=[change[:2]], do=True, since=0)

    assert texts(ask)[2] == "It costs twenty-five dollars."


def test_what_was_heard_is_taken_for_many_clips_at_once(ask):
    heard = ask("clip", clip=2)["heard"]
    revision = ask("text", clip=2, revision=2, text="Nonsense.", since=0)["revision"]

    ask("take_heard", clips=[[2, revision]], since=0)

    assert texts(ask)[2] == heard


def test_a_dataset_is_frozen_once_and_the_next_says_what_changed(ask):
    assert ask("freeze") == {"number": 1, "new": True}
    assert ask("freeze") == {"number": 1, "new": False}
    ask("leave_out", clips=[[2, 2]], reason="a phone rings", since=0)

    ask("freeze")

    newest, first = ask("summary")["versions"]
    assert (newest["number"], newest["changed"]) == (2, "1 removed")
    assert first["train"] + first["check"] == CLIPS
    assert ask("summary")["since"] == ""


def test_a_packed_dataset_can_be_taken_along(ask, desk, item, workspace, tmp_path):
    ask("freeze")
    job = queue.find(workspace, ask("export", version=1, format="ljspeech", audio="flac")["job"])
    wish = exports.read_export_wish(next((workspace.cache / "exports").rglob("wish.json")))

    work(Job(JobFolder(_folder(tmp_path))), wish)

    [ready] = ask("summary")["ready"]
    served = ask("download", id=ready["id"])
    with zipfile.ZipFile(served.content) as packed:
        files = [name for name in packed.namelist() if name.endswith(".flac")]
        assert packed.testzip() is None
    assert len(files) == CLIPS == ready["clips"]
    assert served.download == "Ada-1-ljspeech.zip"
    assert ask("export", version=1, format="ljspeech", audio="flac")["job"] is None
    queue.stop(workspace, job.id)


def _folder(tmp_path):
    folder = tmp_path / "job"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("id", ["..", "../..", "", "1-ljspeech-wav-0-0/../..", "nothing"])
def test_nothing_but_a_packed_dataset_is_handed_out(ask, id, workspace, item):
    place = workspace.cache / "exports" / item.id / "1-ljspeech-wav-0-0"
    place.mkdir(parents=True)
    facts = {"version": 1, "format": "ljspeech", "audio": "wav", "clips": 1, "bytes": 1}
    (place / "export.json").write_text(json.dumps({**facts, "file": "Ada.zip"}))
    (place / "Ada.zip").write_bytes(b"PK")
    assert ask("download", id=place.name).content.name == "Ada.zip"

    with pytest.raises(NotFoundError):
        ask("download", id=id)


@pytest.mark.parametrize(
    ("format", "audio"), [("../../x", "wav"), ("ljspeech", "exe"), ("", "wav")]
)
def test_an_export_that_cannot_be_is_refused_before_anything_is_made(ask, workspace, format, audio):
    ask("freeze")

    with pytest.raises(SettingsError):
        ask("export", version=1, format=format, audio=audio)

    assert not (workspace.cache / "exports").exists()


def test_a_text_that_was_sent_is_kept_with_the_project_and_laid_over(ask, desk, opened, workspace):
    place = desk.uploads / names.new_id()
    place.mkdir(parents=True)
    (place / "script.txt").write_text("The kettle sang.")

    job = queue.find(workspace, ask("bring_text", upload=place.name)["job"])

    [kept] = (opened.folder / "texts").rglob("script.txt")
    assert kept.read_text() == "The kettle sang."
    assert job.request.kind == "build"
    assert not place.exists()
    queue.stop(workspace, job.id)


def test_of_texts_that_came_by_two_places_the_last_is_built_with(desk, item, workspace, tmp_path):
    for number in range(4):  # ids do not sort by time
        text = tmp_path / f"{number}.txt"
        text.write_text("The kettle sang.")
        if number % 2:
            builds.keep_text(workspace, item, {text.name: text})
        else:
            queue.stop(workspace, given_texts.submit(workspace, item, text).id)

        assert builds.text_of(workspace, item).name == text.name


def test_a_project_in_the_trash_cannot_be_edited(ask, workspace, item):
    projects.shelf(workspace).trash(item.id)

    with pytest.raises(NotFoundError, match="trash"):
        ask("text", clip=3, revision=3, text="x", since=0)


def test_a_clip_that_is_gone_is_a_conflict_and_not_an_error(ask, opened):
    transcript_ = opened.transcript
    proposal = editing.merge(transcript_.clip(3), transcript_.clip(4))
    transcript_.edit(proposal.label, proposal.edits, proposal.new)

    with pytest.raises(EditConflict) as caught:
        ask("text", clip=4, revision=transcript_.revision(), text="Mine.", since=0)

    assert caught.value.theirs.values.gone
