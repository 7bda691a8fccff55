"""What a person does to clips, decided before it is written, and undone as one."""

from __future__ import annotations

import pytest

from engines.errors import EditError
from finetune import editing
from finetune.editing import Search
from finetune.transcript import Values
from tests.stores import OpenTranscript


@pytest.fixture
def transcript(tmp_path):
    opened = OpenTranscript(tmp_path / "project.db")
    opened.add_recording("r1", "evening.mp3", 60.0)
    opened.add_recording("r2", "morning.mp3", 60.0)
    texts = ["The kettle sang.", "the Kettles sing", "A cat (a.b)", "Dr. Cat"]
    opened.edit("add", new=[Values("r1", i * 3, i * 3 + 2, text) for i, text in enumerate(texts)])
    opened.edit("add", new=[Values("r2", 1, 2, "Morning.")])
    yield opened
    opened.close()


def do(transcript, proposal):
    return transcript.edit(proposal.label, proposal.edits, proposal.new)


def contents(transcript):
    return [(clip.id, clip.values) for clip in transcript.clips()]


def spans(transcript):
    return [(c.values.start, c.values.end, c.values.text) for c in transcript.clips()]


@pytest.mark.parametrize(
    "propose",
    [
        lambda clips: editing.retype(clips[0], "The kettle sang!"),
        lambda clips: editing.trim(clips[0], 0.5, 1.5, recording_seconds=60),
        lambda clips: editing.split(clips[0], 1.0, "The kettle", "sang."),
        lambda clips: editing.merge(clips[1], clips[2]),
        lambda clips: editing.leave_out(clips[:3], "noise"),
        lambda clips: editing.find_and_replace(clips, Search("cat"), "dog"),
    ],
    ids=["retype", "trim", "split", "merge", "leave out", "replace"],
)
def test_every_edit_is_one_undo(transcript, propose):
    before = contents(transcript)
    proposal = propose(transcript.clips())

    do(transcript, proposal)

    assert contents(transcript) != before
    assert transcript.undo().label == proposal.label
    assert contents(transcript) == before


def test_splitting_keeps_every_word_and_every_sample(transcript):
    first = transcript.clips()[0]

    left, right = do(transcript, editing.split(first, 1.2, "The kettle", "sang."))

    assert (left.values.start, left.values.end, left.values.text) == (0, 1.2, "The kettle")
    assert (right.values.start, right.values.end, right.values.text) == (1.2, 2, "sang.")


def test_merging_takes_what_lies_between_whichever_comes_first(transcript):
    first, second, *_ = transcript.clips()

    do(transcript, editing.merge(second, first))

    assert spans(transcript)[0] == (0, 5, "The kettle sang. the Kettles sing")


@pytest.mark.parametrize("at", [-1, 0, 0.01, 1.99, 2, 9])
def test_a_cut_outside_the_clip_is_refused(transcript, at):
    with pytest.raises(EditError, match="outside"):
        editing.split(transcript.clips()[0], at, "a", "b")


def test_clips_of_two_recordings_are_not_merged(transcript):
    clips = transcript.clips()

    with pytest.raises(EditError, match="different recordings"):
        editing.merge(clips[0], clips[-1])


def test_ends_stay_inside_the_recording_and_apart(transcript):
    first = transcript.clips()[0]

    [edit] = editing.trim(first, -5, 99, recording_seconds=60).edits
    assert (edit.values.start, edit.values.end) == (0, 60)
    with pytest.raises(EditError, match="empty"):
        editing.trim(first, 1.0, 1.0, recording_seconds=60)


@pytest.mark.parametrize(
    ("search", "found"),
    [
        (Search("kettle"), ["The kettle sang.", "the Kettles sing"]),
        (Search("Kettle", match_case=True), ["the Kettles sing"]),
        (Search("kettle", whole_words=True), ["The kettle sang."]),
        (Search("(a.b)", whole_words=True), ["A cat (a.b)"]),
        (Search("."), ["The kettle sang.", "A cat (a.b)", "Dr. Cat", "Morning."]),
        (Search("nothing"), []),
    ],
)
def test_what_was_typed_is_looked_for_and_nothing_else(transcript, search, found):
    assert [clip.values.text for clip in editing.find(transcript.clips(), search)] == found


def test_what_replaces_is_taken_as_it_was_typed(transcript):
    proposal = editing.find_and_replace(transcript.clips(), Search("cat"), r"\1 \g<0>")

    assert [edit.values.text for edit in proposal.edits] == [r"A \1 \g<0> (a.b)", r"Dr. \1 \g<0>"]


def test_an_empty_search_is_refused(transcript):
    with pytest.raises(EditError, match="nothing to look for"):
        editing.find(transcript.clips(), Search(""))


def test_left_out_clips_stay_with_their_reason_and_come_back(transcript):
    clips = transcript.clips()
    changed = do(transcript, editing.leave_out(clips[:2], "another voice speaks"))
    assert [c.values.reason for c in changed] == ["another voice speaks"] * 2
    assert editing.leave_out(changed, "again").edits == ()

    back = do(transcript, editing.take_in(transcript.clips()))

    assert [c.id for c in back] == [c.id for c in changed]
    assert all(c.values.included and not c.values.reason for c in transcript.clips())
