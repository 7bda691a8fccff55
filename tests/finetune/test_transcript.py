"""Every edit is kept, can be undone, and never overwrites another one silently."""

from __future__ import annotations

import random
import threading
from dataclasses import replace

import pytest

from engines.errors import NotFoundError
from finetune.recordings import Recordings
from finetune.transcript import CHECKS, Edit, EditConflict, Values, on_conflict_again
from tests.stores import OpenTranscript


@pytest.fixture
def path(tmp_path):
    return tmp_path / "project.db"


@pytest.fixture
def transcript(path):
    opened = OpenTranscript(path)
    opened.add_recording("r1", "evening.mp3", 600.0)
    yield opened
    opened.close()


def add(transcript, *texts):
    spans = [Values("r1", i * 2.0, i * 2.0 + 1.5, text) for i, text in enumerate(texts)]
    return transcript.edit("add", new=spans)


def retype(transcript, clip, text):
    [changed] = transcript.edit("type", [edit(clip, text=text)])
    return changed


def edit(clip, **changes):
    return Edit(clip.id, clip.revision, replace(clip.values, **changes))


def texts(transcript):
    return [clip.values.text for clip in transcript.clips()]


def contents(transcript):
    return [(clip.id, clip.values) for clip in transcript.clips()]


def test_an_edit_is_there_after_a_restart(path, transcript):
    [clip] = add(transcript, "The ketle sang.")
    retype(transcript, clip, "The kettle sang.")
    transcript.close()

    assert texts(OpenTranscript(path)) == ["The kettle sang."]


def test_an_edit_that_saw_an_older_revision_gets_both_texts_and_changes_nothing(transcript):
    [clip] = add(transcript, "The ketle sang.")
    theirs = retype(transcript, clip, "The kettle sang.")

    with pytest.raises(EditConflict) as caught:
        retype(transcript, clip, "The cattle sang.")

    assert caught.value.yours.text == "The cattle sang."
    assert caught.value.theirs == theirs
    assert "The kettle sang." in caught.value.what and "The cattle sang." in caught.value.what
    assert texts(transcript) == ["The kettle sang."]


def test_one_stale_clip_keeps_the_whole_action_from_happening(transcript):
    first, second = add(transcript, "one", "two")
    retype(transcript, second, "zwei")

    with pytest.raises(EditConflict):
        transcript.edit("merge", [edit(first, text="one two"), edit(second, gone=True)])

    assert texts(transcript) == ["one", "zwei"]
    assert len(transcript.history()) == 2


def test_two_writers_never_overwrite_each_other_silently(path, transcript):
    [clip] = add(transcript, "0")
    kept, refused = [], []

    def write(name):
        own = OpenTranscript(path)
        for number in range(40):
            seen = own.clip(clip.id)
            try:
                kept.append(retype(own, seen, f"{seen.values.text},{name}{number}").values.text)
            except EditConflict:
                refused.append(number)
        own.close()

    writers = [threading.Thread(target=write, args=(name,)) for name in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert len(kept) + len(refused) == 80
    assert transcript.clip(clip.id).values.text.split(",")[1:] == [
        text.rpartition(",")[2] for text in sorted(kept, key=len)
    ]


def test_splitting_and_merging_are_one_undo_each(transcript):
    [clip] = add(transcript, "one two")
    rest = replace(clip.values, start=0.7, text="two")

    first, second = transcript.edit("split", [edit(clip, end=0.7, text="one")], new=[rest])
    assert texts(transcript) == ["one", "two"]
    transcript.edit("merge", [edit(first, end=1.5, text="one two"), edit(second, gone=True)])
    assert texts(transcript) == ["one two"]
    transcript.undo()
    assert texts(transcript) == ["one", "two"]
    transcript.undo()
    assert contents(transcript) == [(clip.id, clip.values)]


def test_undo_and_redo_cross_a_restart(path, transcript):
    [clip] = add(transcript, "one")
    retype(transcript, clip, "two")
    transcript.close()

    again = OpenTranscript(path)
    assert again.undo().label == "type"
    again.close()
    once_more = OpenTranscript(path)
    assert once_more.redo().label == "type"
    assert texts(once_more) == ["two"]


def test_what_would_be_undone_and_redone_is_told_beforehand(transcript):
    [clip] = add(transcript, "one")
    for text in ("two", "three"):
        clip = retype(transcript, clip, text)

    for turn in "uurururuuurrrr":
        told, act = {
            "u": (transcript.to_undo, transcript.undo),
            "r": (transcript.to_redo, transcript.redo),
        }[turn]
        before = told()
        done = act()
        assert (before and before.id) == (done and done.id)

    transcript.undo()
    retype(transcript, transcript.clip(clip.id), "four")
    assert transcript.to_undo().label == "type" and transcript.to_redo() is None


def test_with_nothing_to_undo_or_redo_nothing_happens(transcript):
    assert transcript.undo() is None
    assert transcript.redo() is None


def test_what_was_undone_stays_in_the_history_after_another_edit(transcript):
    [clip] = add(transcript, "one")
    retype(transcript, clip, "two")
    transcript.undo()

    retype(transcript, transcript.clip(clip.id), "three")

    assert transcript.redo() is None
    assert [action.state for action in transcript.history()] == ["done", "passed", "done"]


def test_an_undone_clip_refuses_the_revision_from_before(transcript):
    [clip] = add(transcript, "one")
    changed = retype(transcript, clip, "two")
    transcript.undo()

    for stale in (clip, changed):
        with pytest.raises(EditConflict):
            retype(transcript, stale, "three")


def test_another_tab_can_ask_what_changed_since_it_looked(transcript):
    first, second, third = add(transcript, "one", "two", "three")
    seen = transcript.revision()

    retype(transcript, second, "zwei")
    transcript.edit("leave out", [edit(third, included=False, reason="noise")])
    transcript.edit("drop", [edit(first, gone=True)])

    changed = {clip.id: clip.values for clip in transcript.clips(since_revision=seen)}
    assert set(changed) == {first.id, second.id, third.id}
    assert changed[first.id].gone and changed[third.id].reason == "noise"


def test_an_unknown_clip_is_said_in_a_sentence(transcript):
    with pytest.raises(NotFoundError, match="no clip 7"):
        transcript.edit("type", [Edit(7, 1, Values("r1", 0, 1, "x"))])


def random_action(rng, transcript):
    """Do something a person could do, in one action."""
    clips = transcript.clips()
    doing = (
        rng.choice(["add", "type", "trim", "leave out", "split", "merge"])
        if len(clips) > 1
        else "add"
    )
    one, two = rng.sample(clips, 2) if len(clips) > 1 else (None, None)
    if doing == "add":
        add(transcript, f"clip {rng.random():.4f}")
    elif doing == "type":
        retype(transcript, one, rng.choice(['a "b" c', "naïve – 你好\n", "", "|;=1+1"]))
    elif doing == "trim":
        transcript.edit("trim", [edit(one, start=one.values.start + rng.random())])
    elif doing == "leave out":
        transcript.edit("leave out", [edit(one, included=not one.values.included, reason="me")])
    elif doing == "split":
        transcript.edit("split", [edit(one, text="left")], new=[replace(one.values, text="right")])
    else:
        transcript.edit("merge", [edit(one, text="both"), edit(two, gone=True)])


def test_undoing_everything_and_redoing_everything_is_exact(path, transcript):
    rng = random.Random(11)
    seen = [contents(transcript)]
    for _ in range(120):
        random_action(rng, transcript)
        seen.append(contents(transcript))

    for expected in reversed(seen[:-1]):
        transcript.undo()
        assert contents(transcript) == expected
    for expected in seen[1:]:
        transcript.redo()
        assert contents(transcript) == expected


def test_undo_passes_over_what_the_checks_did_and_they_take_no_redo_away(transcript):
    clips = add(transcript, "One.", "Two.")
    retype(transcript, clips[0], "Eins.")
    second = transcript.clip(clips[1].id)
    out = replace(second.values, included=False, reason="noisy")
    transcript.edit("sort out", [Edit(second.id, second.revision, out)], by=CHECKS)

    undone = transcript.undo()
    third = transcript.clip(clips[1].id)
    transcript.edit(
        "sort out", [Edit(third.id, third.revision, replace(out, reason="very noisy"))], by=CHECKS
    )
    again = transcript.redo()

    assert (undone.label, again.label) == ("type", "type")
    assert texts(transcript) == ["Eins.", "Two."]
    assert transcript.clip(clips[1].id).values.reason == "very noisy"


def test_undo_passes_over_the_first_clips_of_a_recording_and_goes_on_before_them(transcript):
    transcript.edit("cut", new=[Values("r1", 0.0, 1.0, "One.")], by="whisper 1, cut a")
    [first] = transcript.clips()
    retype(transcript, first, "Eins.")
    transcript.edit("cut", new=[Values("r1", 5.0, 6.0, "Two.")], by="whisper 2, cut a")

    assert transcript.undo().label == "type"
    assert transcript.undo() is None
    assert texts(transcript) == ["One.", "Two."]
    assert transcript.redo().label == "type"
    assert texts(transcript) == ["Eins.", "Two."]


def test_whose_words_a_recording_was_cut_from_is_known_and_undone_cuts_do_not_count(transcript):
    assert transcript.cut_by("r1") == ""
    transcript.edit("cut", new=[Values("r1", 0.0, 1.0, "One.")], by="whisper 1, cut a")
    [clip] = transcript.clips()
    away = Edit(clip.id, clip.revision, replace(clip.values, gone=True))
    transcript.edit("cut", [away], [Values("r1", 2.0, 3.0, "Two.")], by="whisper 1, cut b")

    assert transcript.cut_by("r1") == "whisper 1, cut b"
    transcript.undo()
    assert transcript.cut_by("r1") == "whisper 1, cut a"


def test_what_meets_a_conflict_is_tried_again_with_what_is_there_now(transcript):
    [clip] = add(transcript, "One.")
    tries = []

    def attempt():
        seen = transcript.clip(clip.id)
        if not tries:
            retype(transcript, seen, "Somebody else's.")
        tries.append(seen)
        transcript.edit("mark", [edit(seen, reason="noisy")])

    on_conflict_again(attempt)

    values = transcript.clip(clip.id).values
    assert len(tries) == 2
    assert (values.text, values.reason) == ("Somebody else's.", "noisy")


def test_clips_go_with_their_recording_and_come_back_with_it_and_who_looks_sees_both(transcript):
    add(transcript, "One.", "Two.")
    before, seen = transcript.clips(), transcript.revision()
    recordings = Recordings(transcript.store)

    recordings.trash("r1")

    assert transcript.clips() == []
    away = transcript.clips(since_revision=seen)
    assert [(each.values.text, each.values.gone) for each in away] == [
        ("One.", True),
        ("Two.", True),
    ]
    seen = transcript.revision()
    recordings.trash("r1", False)
    assert [each.values for each in transcript.clips(since_revision=seen)] == [
        each.values for each in before
    ]
