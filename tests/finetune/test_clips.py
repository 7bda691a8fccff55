"""Cutting a recording again leaves alone what a person did."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from finetune.clips import Spoken, cut_again
from finetune.hearings import Heard
from finetune.settings import CutSettings
from finetune.transcript import Edit, Values
from finetune.words import Word
from tests.stores import OpenTranscript

SETTINGS = CutSettings()
SECONDS = 60.0
WHISPER = "whisper 1, cut"


@pytest.fixture
def transcript(tmp_path):
    opened = OpenTranscript(tmp_path / "project.db")
    opened.add_recording("r", "evening.mp3", SECONDS)
    yield opened
    opened.close()


def sentences(*texts, every=5.0):
    """Sentences of half a second a word, one each few seconds, as Whisper gives them."""
    return [
        Word(f" {word}", start * every + 1 + at * 0.5, start * every + 1.4 + at * 0.5)
        for start, text in enumerate(texts)
        for at, word in enumerate(text.split())
    ]


def spoken(words, seconds=SECONDS):
    heard = Heard((), tuple(words), np.zeros(0, np.float32))
    return Spoken("r", "evening.mp3", seconds, "en", heard)


def cut_into(transcript, words, by=WHISPER, kind="whisper"):
    proposal = cut_again(spoken(words), transcript.clips(), transcript.touched("r", kind), SETTINGS)
    if proposal.edits or proposal.new:
        transcript.edit(proposal.label, proposal.edits, proposal.new, by)
    return transcript.clips()


def texts(clips):
    return [clip.values.text for clip in clips]


def test_the_words_become_clips_once(transcript):
    words = sentences("One is here.", "Two is here.", "Three is here.")

    first = cut_into(transcript, words)
    second = cut_into(transcript, words)

    assert " ".join(texts(first)) == "One is here. Two is here. Three is here."
    assert first == second


def test_clips_nobody_touched_are_replaced_and_one_undo_brings_them_back(transcript):
    before = cut_into(transcript, sentences("Won is hear.", "Two is here."))

    after = cut_into(transcript, sentences("One is here.", "Two is here."), by="whisper 2, cut")
    transcript.undo()

    assert " ".join(texts(after)) == "One is here. Two is here."
    assert [clip.values for clip in transcript.clips()] == [clip.values for clip in before]


def test_fifty_of_fifty_edits_are_there_after_transcribing_again(transcript):
    texts_before = [f"Sentence {number} hear." for number in range(60)]
    long = replace(spoken(sentences(*texts_before), 400.0))
    proposal = cut_again(long, [], {}, replace(SETTINGS, sentences=1, target_seconds=2.0))
    clips = transcript.edit(proposal.label, new=proposal.new, by=WHISPER)
    assert len(clips) == 60
    edited = []
    for at, clip in enumerate(clips[:50]):
        changes = (
            {"text": f"Edited {at}."},
            {"end": clip.values.end + 0.2},
            {"included": False, "reason": "I do not like it"},
        )[at % 3]
        edited += transcript.edit(
            "edit", [Edit(clip.id, clip.revision, replace(clip.values, **changes))]
        )

    better = spoken(sentences(*(text.replace("hear", "here") for text in texts_before)), 400.0)
    proposal = cut_again(better, transcript.clips(), transcript.touched("r"), SETTINGS)
    transcript.edit(proposal.label, proposal.edits, proposal.new, "whisper 2, cut")

    there = {clip.id: clip for clip in transcript.clips()}
    assert len(edited) == 50
    assert [there.get(clip.id) for clip in edited] == edited
    new = [clip for clip in transcript.clips() if clip.id not in {each.id for each in edited}]
    assert " ".join(texts(new)) == " ".join(f"Sentence {number} here." for number in range(50, 60))


def test_no_new_clip_takes_a_part_of_one_that_stays(transcript):
    clips = cut_into(
        transcript, sentences(*(f"Number {at} is here." for at in range(8)), every=2.6)
    )
    middle = clips[len(clips) // 2]
    wider = replace(middle.values, start=middle.values.start - 0.7, end=middle.values.end + 0.7)
    transcript.edit("trim", [Edit(middle.id, middle.revision, wider)])

    after = cut_into(
        transcript, sentences(*(f"Nummer {at} is here." for at in range(8)), every=2.6), "whisper 2"
    )

    spans = sorted((clip.values.start, clip.values.end) for clip in after)
    assert all(left[1] <= right[0] for left, right in itertools.pairwise(spans))
    assert (wider.start, wider.end) in spans


def test_a_whisper_leaves_the_clips_of_a_persons_text_and_a_newer_text_does_not(transcript):
    cut_into(transcript, [Word("Exactly  so — «this».", 1.0, 4.0)], by="text 1, cut", kind="text")

    after_whisper = cut_into(transcript, sentences("Exactly so this."), by="whisper 2, cut")
    after_text = cut_into(transcript, [Word("Newer.", 1.0, 4.0)], by="text 3, cut", kind="text")

    assert texts(after_whisper) == ["Exactly  so — «this»."]
    assert texts(after_text) == ["Newer."]


def test_undoing_an_edit_makes_a_clip_one_that_nobody_touched(transcript):
    [clip] = cut_into(transcript, sentences("Won is hear."))
    transcript.edit("type", [Edit(clip.id, clip.revision, replace(clip.values, text="Mine."))])
    assert set(transcript.touched("r")) == {clip.id}

    transcript.undo()

    assert transcript.touched("r") == {}


def test_a_clip_of_another_recording_stays(transcript):
    transcript.add_recording("other", "morning.mp3", 60.0)
    transcript.edit("add", new=[Values("other", 0.0, 2.0, "Elsewhere.")], by=WHISPER)

    clips = [clip for clip in transcript.clips() if clip.values.recording == "r"]
    proposal = cut_again(spoken(sentences("One is here.")), clips, {}, SETTINGS)

    assert all(edit.values.recording == "r" for edit in proposal.edits)


def test_what_a_person_trimmed_off_does_not_come_back(transcript):
    words = sentences("One two three four five six.", "And another.", every=6.0)
    first = cut_into(transcript, words)[0]
    shorter = replace(first.values, end=words[3].start - 0.05)
    transcript.edit("trim", [Edit(first.id, first.revision, shorter)])

    after = cut_into(transcript, words, by="whisper 2, cut")

    assert [clip.values for clip in after if clip.values.start < 5.0] == [shorter]


def test_many_words_are_cut_in_portions_and_none_is_lost(transcript):
    """A long recording tells how far it is."""
    texts_ = [f"Sentence number {number} is here now." for number in range(400)]
    told = []

    proposal = cut_again(
        spoken(sentences(*texts_, every=6.0), 2500.0), [], {}, SETTINGS, told.append
    )

    assert " ".join(values.text for values in proposal.new) == " ".join(texts_)
    assert len(told) >= 3 and told[-1] == 400 * 6
    spans = [(values.start, values.end) for values in proposal.new]
    assert all(left[1] <= right[0] for left, right in itertools.pairwise(spans))


def test_words_under_the_last_clip_that_stays_are_not_cut_again(transcript):
    words = sentences("One is here.", "Two is here.")
    clips = cut_into(transcript, words)
    last = clips[-1]
    wider = replace(last.values, end=SECONDS)
    transcript.edit("trim", [Edit(last.id, last.revision, wider)])

    after = cut_into(transcript, words, by="whisper 2, cut")

    assert " ".join(texts(after)) == "One is here. Two is here."
