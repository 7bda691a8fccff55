"""Texts that came with recordings: whole, in cues with times, or one script."""

from __future__ import annotations

import numpy as np
import pytest

from finetune import given
from finetune.given import (
    Given,
    lay_by_sound,
    lay_over,
    needs_words,
    problems_by_sound,
    read_texts,
)
from finetune.hearings import Heard
from finetune.settings import CutSettings
from finetune.texts.records import Line
from finetune.words import Word
from tests.stores import add_recording

SETTINGS = CutSettings()
NOTHING = Heard((), (), np.zeros(0, np.float32))
SPEAKS = Heard(((0.5, 2.0), (2.4, 4.0)), (), np.zeros(0, np.float32))


def test_each_line_finds_its_recording_and_what_does_not_is_told(project, tmp_path):
    first = add_recording(project.store, "r1", "wavs/one.wav")
    add_recording(project.store, "r2", "wavs/two.wav")
    table = tmp_path / "metadata.csv"
    table.write_text("one|Eins.|Eins.\nthree|Drei.|Drei.\n", encoding="utf-8")

    texts = read_texts(table, project.recordings.all())

    assert [line.text for line in texts.by_recording[first.id].lines] == ["Eins."]
    assert set(texts.by_recording) == {"r1"}
    told = {(problem.number, problem.sentence) for problem in texts.problems}
    assert any(number == 2 and "three" in sentence for number, sentence in told)
    assert any("It has no text." in sentence for _, sentence in told)


def test_a_whole_text_keeps_every_sign_and_gets_the_span_in_which_somebody_speaks():
    text = Given((Line(4, "one", "Eins  | «zwei» = 2"),))

    words, problems = lay_over(text, SPEAKS, 4.5, SETTINGS)

    assert words == [Word("Eins  | «zwei» = 2", 0.5, 4.0)]
    assert problems == ()


def test_cues_bring_their_own_times():
    text = Given((Line(1, "", "One.", start=0.4, end=1.9), Line(4, "", "Two.", start=2.3, end=4.1)))

    words, _ = lay_over(text, NOTHING, 200.0, SETTINGS)

    assert not needs_words(text, 200.0, SETTINGS)
    assert words == [Word("One.", 0.4, 1.9), Word("Two.", 2.3, 4.1)]


@pytest.mark.parametrize(
    ("lines", "seconds", "needed"),
    [(("One.",), 8.0, False), (("One.",), 11.5, True), (("One.", "Two."), 8.0, True)],
)
def test_only_a_script_or_a_long_recording_needs_recognised_words(lines, seconds, needed):
    text = Given(tuple(Line(at, "", line) for at, line in enumerate(lines, 1)))

    assert needs_words(text, seconds, SETTINGS) is needed


def test_a_script_keeps_its_spelling_and_gets_the_times_of_what_was_heard():
    heard = Heard(
        ((0.4, 4.0),),
        (Word(" mister", 0.5, 0.9), Word(" brown", 1.0, 1.4), Word(" is", 1.5, 1.7),
         Word(" here.", 1.8, 2.2), Word(" and", 2.4, 2.6), Word(" gone.", 2.7, 3.2)),
        np.zeros(0, np.float32),
    )  # fmt: skip
    text = Given((Line(1, "", "Mr. Brown is here"), Line(2, "", "— and gone!")))

    words, _ = lay_over(text, heard, 4.5, SETTINGS)

    assert "".join(word.text for word in words).strip() == "Mr. Brown is here — and gone!"
    assert words[-1].end == 3.2


def test_a_text_for_silence_is_a_problem_with_its_line():
    words, problems = lay_over(
        Given((Line(7, "one", "Hello.", file="m.csv"),)), NOTHING, 4.0, SETTINGS
    )

    assert words == []
    assert (problems[0].number, problems[0].file) == (7, "m.csv")


def test_what_does_not_fit_by_its_sounds_is_told_with_its_file(tmp_path):
    text = Given((Line(7, "one", "Hello.", file="m.csv"), Line(8, "one", "Goodbye.", file="m.csv")))

    words, problems = lay_by_sound(text, tmp_path, (), lambda done, total: None, lambda: False)

    assert not words
    assert [(each.number, each.file) for each in problems] == [(7, "m.csv")]
    told = problems_by_sound(text, [Word(" Goodbye.", 1.0, 2.0)], [(1.0, 2.0)])
    assert [(each.number, each.file) for each in told] == [(7, "m.csv")]


def test_another_text_is_another_source():
    one = Given((Line(1, "a", "One.", file="m.csv"),))

    assert one.source == given.Given((Line(1, "a", "One.", file="m.csv"),)).source
    assert one.source != Given((Line(1, "a", "Two.", file="m.csv"),)).source
    assert one.source != Given((Line(1, "a", "One.", start=1.0, end=2.0, file="m.csv"),)).source
