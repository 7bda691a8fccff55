"""What a person does to clips, decided before it is written, and undone as one."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from engines.errors import EditError
from finetune import editing
from finetune.editing import Search
from finetune.quiet import levels
from finetune.transcript import CHECKS, Clip, Edit, Values
from finetune.words import Word
from tests import speech
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
        lambda clips: editing.take_heard([(clips[0], "The cattle sang.")]),
        lambda clips: editing.normalise(clips, {"r1": "en", "r2": "en"}),
    ],
    ids=["retype", "trim", "split", "merge", "leave out", "replace", "take", "normalise"],
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


def test_saying_what_is_so_already_is_a_decision(transcript):
    """The checks have left a clip out; a person agrees, and they do not take it in again."""
    first, second = transcript.clips()[:2]
    [out] = transcript.edit(
        "sort", [Edit(first.id, first.revision, replace(first.values, included=False))], by=CHECKS
    )
    assert transcript.decided() == set()

    do(transcript, editing.leave_out([out], "I agree"))
    do(transcript, editing.take_in([second]))

    assert transcript.decided() == {first.id, second.id}


def test_correcting_a_text_decides_nothing_and_leaving_out_does(transcript):
    first, second = transcript.clips()[:2]
    do(transcript, editing.retype(first, "Another."))
    do(transcript, editing.leave_out([second], "noise"))

    assert transcript.decided() == {second.id}

    transcript.undo()

    assert transcript.decided() == set()


def test_left_out_clips_stay_with_their_reason_and_come_back(transcript):
    clips = transcript.clips()
    changed = do(transcript, editing.leave_out(clips[:2], "another voice speaks"))
    assert [c.values.reason for c in changed] == ["another voice speaks"] * 2
    back = do(transcript, editing.take_in(changed))

    assert [c.id for c in back] == [c.id for c in changed]
    assert all(c.values.included and not c.values.reason for c in transcript.clips())


# ---- At a word ----


def clip(text, start=0.0, end=10.0):
    return Clip(1, 1, Values("r1", start, end, text))


def words(text, start=0.0, each=1.0):
    spoken = text.split()
    return [
        Word(f" {word}", start + i * each, start + (i + 1) * each) for i, word in enumerate(spoken)
    ]


def as_heard(word):
    return Word(f" {word.text}", word.start, word.end)


def test_a_clip_is_split_before_a_word_and_both_texts_keep_their_spelling():
    text = "«Three  kettles», she said,\nsang."

    proposal = editing.split_at_word(clip(text), words(text), 2)

    [left], [right] = proposal.edits, proposal.new
    assert (left.values.text, right.text) == ("«Three  kettles»,", "she said,\nsang.")
    assert left.values.end == right.start == 2.0


def test_a_word_that_occurs_twice_is_split_at_the_right_one():
    text = "the cat and the cat and the dog"

    for index in range(1, 8):
        proposal = editing.split_at_word(clip(text), words(text), index)

        both = [proposal.edits[0].values.text, proposal.new[0].text]
        assert both == [" ".join(text.split()[:index]), " ".join(text.split()[index:])]


@pytest.mark.parametrize("index", [-1, 0, 3, 4])
def test_a_split_leaves_a_word_on_each_side(index):
    with pytest.raises(EditError, match="3 words"):
        editing.split_at_word(clip("one two three"), words("one two three"), index)


def test_words_that_are_not_the_clips_own_split_nothing():
    with pytest.raises(EditError, match="'four' is not in"):
        editing.split_at_word(clip("one two three"), words("one four three"), 2)


def test_a_split_stays_inside_the_clip_whatever_the_times_of_the_words_are():
    for start in (-5.0, 30.0):
        proposal = editing.split_at_word(clip("a b"), words("a b", start), 1)

        assert 0 < proposal.edits[0].values.end < 10


@pytest.mark.parametrize("stretched", ["left", "right", "neither"])
def test_a_split_is_in_the_silence_though_a_word_is_said_to_fill_it(stretched):
    samples, said = speech.joined(speech.bundled()[:4], gaps=[0.5, 0.9, 0.3], noise_db=30)
    heard = levels(samples, speech.RATE)
    for before, after in pairwise(said):
        left, right = as_heard(before.words[-1]), as_heard(after.words[0])
        if stretched == "left":
            left = replace(left, end=right.start)
        elif stretched == "right":
            right = replace(right, start=left.end)
        text = f"{left.text} {right.text}"

        proposal = editing.split_at_word(clip(text, end=60.0), [left, right], 1, heard)

        at = proposal.edits[0].values.end
        assert before.end + 0.05 < at < after.start - 0.05


def test_between_words_without_a_pause_the_split_is_near_where_one_ends():
    samples, [said] = speech.joined(speech.bundled()[:1], gaps=[1])
    heard, spoken = levels(samples, speech.RATE), [as_heard(word) for word in said.words]

    for index in range(1, len(spoken)):
        proposal = editing.split_at_word(clip(said.text, end=60.0), spoken, index, heard)

        left, right = spoken[index - 1 : index + 1]
        at = proposal.edits[0].values.end
        assert left.end - 0.15 < at < right.start + 0.15


def test_merged_texts_are_joined_as_their_script_is_written(transcript):
    [first, second] = do(
        transcript,
        editing.Proposal("add", new=(Values("r2", 5, 6, "你好，"), Values("r2", 6, 7, "世界"))),
    )

    [merged, _] = do(transcript, editing.merge(first, second))

    assert merged.values.text == "你好，世界"


def test_a_clip_that_was_merged_away_is_brought_back_as_it_was(transcript):
    first, second, *_ = transcript.clips()
    do(transcript, editing.merge(first, second))

    [back] = do(transcript, editing.restore([transcript.clip(second.id)]))

    assert back.values == second.values
    assert editing.restore(transcript.clips()).edits == ()


def test_numbers_are_written_out_in_the_language_of_each_recording(transcript):
    new = (Values("r1", 30, 31, "7"), Values("r2", 30, 31, "7"), Values("r1", 32, 33, "seven"))
    clips = do(transcript, editing.Proposal("add", new=new))

    proposal = editing.normalise(clips, {"r1": "en", "r2": "de"})

    assert [edit.values.text for edit in proposal.edits] == ["seven", "sieben"]
