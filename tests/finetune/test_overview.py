"""What a person sees of a project: clips with what was heard and found, by names people type."""

from __future__ import annotations

import numpy as np
import pytest

from engines.errors import EditError, NotFoundError
from finetune import editing, overview
from finetune.transcript import Values
from finetune.words import Word
from tests.stores import add_recording

SPOKEN = "The kettle sang. A cat sat."


def spoken(*texts):
    return [Word(f" {text}", 1.0 + i, 1.8 + i) for i, text in enumerate(texts)]


@pytest.fixture
def talk(project):
    """A project with a recording of 60 s in which Whisper heard six words, in two clips."""
    add_recording(project.store, "r1", "day 1/Talk.mp3")
    hearing = project.hearings.begin("r1", "whisper", "Whisper tiny", "en")
    words, levels = spoken(*SPOKEN.split()), np.full(6000, -60, np.float32)
    project.hearings.finish(project.hearings.add(hearing, 60.0, [(1, 7)], words, levels))
    clips = (Values("r1", 0.9, 4.0, "The kettle sang."), Values("r1", 4.0, 7.0, "A cat sat."))
    project.transcript.edit("cut", new=clips, by="whisper 1, cut")
    return project


def test_beside_each_clip_stands_what_was_heard_there(talk):
    first, second = overview.clips_of(talk)

    assert [first.heard, second.heard] == ["The kettle sang.", "A cat sat."]
    assert not first.candidate and first.mark == overview.UNCHECKED


def test_what_was_heard_is_a_candidate_once_the_text_is_another(talk):
    clip = talk.transcript.clips()[0]
    talk.transcript.edit("type", editing.retype(clip, "The  kettle\nsang.").edits)
    assert overview.clips_of(talk)[0].candidate == ""

    clip = talk.transcript.clips()[0]
    talk.transcript.edit("type", editing.retype(clip, "The cattle sang.").edits)

    assert overview.clips_of(talk)[0].candidate == "The kettle sang."


def test_a_project_is_summed_up_with_what_changed_since_its_newest_version(talk):
    seen = overview.clips_of(talk)
    before = overview.overview(talk, seen)
    talk.versions.freeze(overview.as_now(each.clip for each in seen))
    talk.transcript.edit("leave out", editing.leave_out([seen[0].clip], "noise").edits)

    after = overview.overview(talk, overview.clips_of(talk))

    assert before.changed is None and before.statistics.clips == 2
    assert after.changed.removed == (seen[0].clip.id,) and after.left_out == 1
    assert after.marks == {overview.UNCHECKED: 2}


def test_the_words_of_an_edited_text_have_the_times_of_what_was_heard(talk):
    clip = talk.transcript.clips()[0]
    [clip] = talk.transcript.edit("type", editing.retype(clip, "The old kettle sang!").edits)

    words, levels = overview.timed_words(talk, clip)

    assert [word.text.strip() for word in words] == ["The", "old", "kettle", "sang!"]
    assert (words[2].start, words[3].start) == (2.0, 3.0) and len(levels) == 6000
    proposal = editing.split_at_word(clip, words, 2)
    assert (proposal.edits[0].values.text, proposal.new[0].text) == ("The old", "kettle sang!")


def test_without_a_hearing_the_times_of_words_are_not_known(project):
    add_recording(project.store, "r1")
    [clip] = project.transcript.edit("add", new=[Values("r1", 0, 2, "Hello there.")])

    with pytest.raises(EditError, match="not known"):
        overview.timed_words(project, clip)


@pytest.mark.parametrize(
    ("typed", "found"),
    [("r2", "r2"), ("ONE.wav", "r1"), ("b/one", "r2"), ("two", "r3"), ("a/two.wav", "r3")],
)
def test_a_recording_is_found_by_its_id_its_name_or_a_part_of_it(project, typed, found):
    names = {"r1": "one.wav", "r2": "b/one.wav", "r3": "a/two.wav"}
    recordings = [add_recording(project.store, *each) for each in names.items()]

    assert overview.named(recordings, typed).id == found


@pytest.mark.parametrize(
    ("typed", "said"), [("one", "more than one"), ("three", "no recording"), ("", "more than one")]
)
def test_a_name_that_means_no_recording_or_several_says_what_there_is(project, typed, said):
    recordings = [add_recording(project.store, each, f"one {each}.wav") for each in ("r1", "r2")]

    with pytest.raises(NotFoundError, match=said) as caught:
        overview.named(recordings, typed)

    assert "one r1.wav" in caught.value.fix
