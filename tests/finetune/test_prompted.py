"""Recording by prompts: what was read becomes a clip with its known text."""

from __future__ import annotations

import numpy as np
import pytest
import soundfile

from finetune.prompted import RECORDED_AGAIN, add_take
from finetune.texts.prompts import Prompt
from tests.finetune.media.making import speech
from tests.speech import speak as speech_of

PROMPT = Prompt(12, "The kettle sang — twice.")


def take(project, tmp_path, name="take.wav", gain=2.0, silence=0.6, seed=0, prompt=PROMPT):
    rate = 16000
    sound = gain * speech(3.0, rate, noise=0.0002, seed=seed)
    room = 0.0002 * np.random.default_rng(seed).standard_normal(int(silence * rate))
    path = tmp_path / name
    soundfile.write(path, np.clip(np.concatenate((room, sound, room)), -1, 1), rate)
    return add_take(project, "english", prompt, path, lambda: False)


def included(project):
    return [clip.id for clip in project.transcript.clips() if clip.values.included]


def test_a_take_becomes_a_clip_with_its_text_trimmed_to_what_was_said(project, tmp_path):
    taken = take(project, tmp_path)

    assert taken.good and taken.clip.values.text == PROMPT.text
    assert 0.2 < taken.clip.values.start < 0.65
    assert taken.clip.values.end < project.recordings.all()[0].seconds
    assert project.recordings.all()[0].name == "english 012, take 1"


def test_a_better_take_replaces_the_one_before_and_undo_brings_it_back(project, tmp_path):
    first = take(project, tmp_path)
    second = take(project, tmp_path, seed=1)

    assert included(project) == [second.clip.id]
    assert project.transcript.clip(first.clip.id).values.reason == RECORDED_AGAIN

    project.transcript.undo()

    assert included(project) == [first.clip.id]


def test_no_take_has_the_name_of_one_in_the_trash(project, tmp_path):
    first = take(project, tmp_path)
    project.recordings.trash(first.clip.values.recording)

    take(project, tmp_path, seed=1)

    assert [each.name for each in project.recordings.ever()] == [
        "english 012, take 1",
        "english 012, take 2",
    ]


def test_a_take_with_problems_says_them_at_once_and_replaces_nothing(project, tmp_path):
    first = take(project, tmp_path)

    loud = take(project, tmp_path, gain=30.0, seed=1)

    assert not loud.good and "too loud" in loud.problems[0]
    assert included(project) == [first.clip.id]
    assert "too loud" in loud.clip.values.reason


def test_a_take_of_another_prompt_replaces_nothing(project, tmp_path):
    first = take(project, tmp_path)

    other = take(project, tmp_path, seed=1, prompt=Prompt(1, "Another one."))

    assert sorted(included(project)) == sorted([first.clip.id, other.clip.id])


@pytest.mark.parametrize("content", [b"", b"no sound"])
def test_what_is_no_sound_is_a_sentence_and_no_clip(content, project, tmp_path):
    path = tmp_path / "take.wav"
    path.write_bytes(content)

    taken = add_take(project, "english", PROMPT, path, lambda: False)

    assert not taken.good and taken.clip is None and taken.problems[0]
    assert project.transcript.clips() == []


def test_the_same_take_twice_is_kept_once(project, tmp_path):
    take(project, tmp_path)

    again = take(project, tmp_path)

    assert not again.good and "there already" in again.problems[0]
    assert len(project.transcript.clips()) == 1


# ---- Whether it is what was read ----


def read_aloud(project, tmp_path, said, prompt, voice="rms"):
    samples, _ = speech_of(said, voice)
    room = 0.0002 * np.random.default_rng(0).standard_normal(8000)
    soundfile.write(tmp_path / "take.wav", np.concatenate((room, 2 * samples, room)), 16000)
    return add_take(
        project, "english", Prompt(3, prompt), tmp_path / "take.wav", lambda: False, "en"
    )


@pytest.mark.parametrize("voice", ["rms", "slt", "awb"])
def test_a_prompt_that_was_read_is_heard_in_its_take(project, tmp_path, voice):
    taken = read_aloud(
        project, tmp_path, "glue the sheet to the dark blue background", "Glue the sheet to the dark"
        " blue background.", voice,
    )  # fmt: skip

    assert taken.good, taken.problems


def test_a_take_of_another_sentence_says_what_is_not_heard(project, tmp_path):
    taken = read_aloud(
        project,
        tmp_path,
        "glue the sheet to the dark blue background",
        "My uncle sings in a choir.",
    )

    assert not taken.good and "This is not heard in it" in taken.problems[0]
    assert "choir" in taken.problems[0] and not taken.clip.values.included


def test_dashes_in_a_prompt_are_not_missed_in_its_take(project, tmp_path):
    prompt = "Glue — the — sheet — to — the — dark — blue — background."

    taken = read_aloud(project, tmp_path, "glue the sheet to the dark blue background", prompt)

    assert taken.good, taken.problems
