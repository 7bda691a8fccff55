"""The whole way from recordings to a dataset, with a real Whisper, and what may go wrong on it."""

from __future__ import annotations

import dataclasses
import itertools
import json

import pytest
import soundfile

from engines.errors import NotFoundError
from finetune import aligning, projects
from finetune.building import Build
from finetune.hearing import listening
from finetune.jobs.events import Progress, Said
from finetune.jobs.worker import StopWork
from finetune.settings import CutSettings, HearSettings
from finetune.transcript import Edit
from finetune.wishes import Wish, read_wish, write_wish
from tests import speech
from tests.whisper import hearing

HEAR = HearSettings(window_seconds=8)


@pytest.fixture(scope="module")
def talk():
    """Twelve sentences and the truth about them."""
    return speech.joined(speech.bundled()[:12], gaps=[0.6, 1.2, 0.9], noise_db=30)


@pytest.fixture
def recordings(tmp_path, talk):
    folder = tmp_path / "from the stick"
    folder.mkdir()
    soundfile.write(folder / "talk.wav", talk[0], speech.RATE)
    return folder


def wish(project, *sources, **changes):
    wished = Wish(
        str(project.folder),
        str(project.folder / "models"),
        tuple(map(str, sources)),
        whisper=str(hearing.MODEL),
        hear=HEAR,
    )
    return dataclasses.replace(wished, **changes)


def build(project, wished, stop=lambda: False):
    said = []
    report = Build(project, wished, said.append, stop).run()
    return report, said


def texts(project):
    return [clip.values.text for clip in project.transcript.clips()]


def heard_of(project):
    [recording] = project.recordings.all()
    return project.hearings.of(recording.id)


def test_recordings_become_a_dataset_whose_texts_are_what_was_said(project, recordings, talk):
    report, said = build(project, wish(project, recordings, freeze=True, note="first"))

    words = [word for text in texts(project) for word in text.split()]
    wanted = [word.text for sentence in talk[1] for word in sentence.words]
    assert hearing.word_errors(wanted, words) <= 0.05 * len(wanted)
    assert project.versions.newest().number == report.version == 1
    assert sum(report.marks.values()) == len(texts(project)) >= 4
    assert any(isinstance(event, Said) and "the language is en" in event.text for event in said)
    assert any(isinstance(event, Progress) for event in said)
    assert project.recordings.all()[0].language == "en"


def test_every_clip_lies_in_its_recording_and_none_overlaps_another(project, recordings):
    build(project, wish(project, recordings))

    spans = [(clip.values.start, clip.values.end) for clip in project.transcript.clips()]
    assert all(0 <= start < end <= project.recordings.all()[0].seconds for start, end in spans)
    assert all(left[1] <= right[0] for left, right in itertools.pairwise(spans))


def test_the_same_build_again_does_nothing_again(project, recordings):
    build(project, wish(project, recordings, freeze=True))
    before = project.transcript.clips()
    history = project.transcript.history()

    report, said = build(project, wish(project, recordings, freeze=True))

    assert report.files[0]["known"]
    assert project.transcript.clips() == before
    assert project.transcript.history() == history
    assert project.versions.numbers() == [1] and len(heard_of(project)) == 1
    assert not any("Whisper" in event.text for event in said if isinstance(event, Said))


def test_what_was_cut_off_goes_on_behind_the_last_stretch_and_comes_to_the_same(
    project, workspace, recordings, monkeypatch
):
    monkeypatch.setattr(listening, "ABOUT_SECONDS", {"cpu": 10.0})
    other = projects.create(workspace, "in one go")
    with projects.open_project(projects.folder_of(workspace, other)) as whole:
        build(whole, wish(whole, recordings))
        wanted = [
            dataclasses.replace(clip.values, recording="") for clip in whole.transcript.clips()
        ]

    with pytest.raises(StopWork):
        build(project, wish(project, recordings), stop=lambda: reached(project) > 15)
    at = reached(project)
    _, said = build(project, wish(project, recordings))

    assert 15 < at < project.recordings.all()[0].seconds
    first = next(e for e in said if isinstance(e, Progress) and "heard" in e.unit and e.done)
    assert first.done >= round(at, 1)
    found = [dataclasses.replace(clip.values, recording="") for clip in project.transcript.clips()]
    assert found == wanted


def reached(project):
    recordings = project.recordings.all()
    return max((each.reached for r in recordings for each in project.hearings.of(r.id)), default=0)


def test_a_bad_file_never_stops_the_good_ones(project, recordings):
    (recordings / "a broken one.mp3").write_bytes(b"\xff\xfb" + b"x" * 5000)

    report, _ = build(project, wish(project, recordings))

    verdicts = {each["name"]: each["verdict"] for each in report.files}
    assert verdicts["a broken one.mp3"] == "bad" and verdicts["talk.wav"] != "bad"
    assert len(texts(project)) >= 4


def test_transcribing_again_keeps_every_edit(project, recordings):
    build(project, wish(project, recordings))
    edited = []
    for clip in project.transcript.clips()[:3]:
        values = dataclasses.replace(clip.values, text=f"{clip.values.text} (edited)")
        edited += project.transcript.edit("type", [Edit(clip.id, clip.revision, values)])

    build(project, wish(project, again=True))

    assert len(heard_of(project)) == 2
    there = {clip.id: clip for clip in project.transcript.clips()}
    assert [there[clip.id] for clip in edited] == edited


def test_a_recording_in_which_nobody_speaks_gives_no_clips_and_stops_nobody(project, recordings):
    rng = speech.np.random.default_rng(0)
    soundfile.write(recordings / "a fan.wav", 0.01 * rng.standard_normal(80_000), 16000)

    build(project, wish(project, recordings))

    by_name = {each.name: each for each in project.recordings.all()}
    assert {clip.values.recording for clip in project.transcript.clips()} == {
        by_name["talk.wav"].id
    }
    assert by_name["a fan.wav"].language == ""


def test_texts_of_whole_recordings_need_no_whisper_and_keep_every_sign(project, tmp_path):
    folder = tmp_path / "LJ"
    (folder / "wavs").mkdir(parents=True)
    said = speech.bundled()[:4]
    rows = []
    for number, each in enumerate(said):
        soundfile.write(
            folder / "wavs" / f"s{number}.wav", speech.np.pad(each.samples, 12_000), 16000
        )
        rows.append(f"s{number}|«{each.text}»  & more|«{each.text}»  & more")
    (folder / "metadata.csv").write_text("\n".join([*rows, "s9|Nobody.|Nobody."]), encoding="utf-8")

    report, told = build(project, wish(project, folder, text=str(folder), whisper=""))

    assert texts(project) and sorted(texts(project)) == sorted(f"«{e.text}»  & more" for e in said)
    assert any(problem.number == 5 for problem in report.problems)
    assert any(each.text.startswith("Line 5") for each in told if isinstance(each, Said))
    for clip in project.transcript.clips():
        seconds = project.recordings.find(clip.values.recording).seconds
        assert 0.3 < clip.values.start < 0.8 and seconds - 0.9 < clip.values.end < seconds - 0.3


def test_a_script_keeps_its_spelling_over_the_recognised_words(project, recordings, talk, tmp_path):
    script = tmp_path / "script.txt"
    wanted = [sentence.text.upper() for sentence in talk[1]]
    script.write_text("\n".join(wanted), encoding="utf-8")

    build(project, wish(project, recordings, text=str(script)))

    assert " ".join(texts(project)).split() == " ".join(wanted).split()


def test_a_script_in_another_language_without_a_whisper_says_what_to_bring(
    project, recordings, tmp_path
):
    script = tmp_path / "script.txt"
    script.write_text("Eine Zeile aus dem Garten.\nUnd noch eine Zeile.", encoding="utf-8")

    report, said = build(project, wish(project, recordings, text=str(script), whisper=""))

    assert texts(project) == []
    [told] = [each for each in report.problems if "name a Whisper" in each.sentence]
    assert "English needs neither" in told.sentence
    where = f"Line {told.number} of {told.file}" if told.file else f"Line {told.number}"
    assert f"{where}: {told.sentence}" in [each.text for each in said if isinstance(each, Said)]


def english_script(talk, folder):
    """What is said, written otherwise than a Whisper would."""
    script = folder / "script.txt"
    wanted = [f"— {sentence.text}" for sentence in talk[1]]
    script.write_text("\n".join(wanted), encoding="utf-8")
    return script, wanted


def test_an_english_script_needs_no_whisper(project, recordings, talk, tmp_path):
    script, wanted = english_script(talk, tmp_path)

    report, said = build(project, wish(project, recordings, text=str(script), whisper=""))

    assert " ".join(texts(project)).split() == " ".join(wanted).split()
    assert report.problems == []
    assert any("reads as English" in event.text for event in said if isinstance(event, Said))
    assert project.recordings.all()[0].language == "en"
    *_, laid = heard_of(project)
    assert laid.kind == "text" and "aligned with Pocket's aligner" in laid.source
    for sentence in talk[1]:
        middle = (sentence.start + sentence.end) / 2
        [clip] = [c.values for c in project.transcript.clips()
                  if c.values.start <= middle < c.values.end]  # fmt: skip
        assert sentence.text in clip.text


def test_a_named_language_is_not_guessed_from_the_script(project, recordings, talk, tmp_path):
    script, _ = english_script(talk, tmp_path)
    german = wish(
        project, recordings, text=str(script), whisper="", hear=HearSettings(language="de")
    )

    report, _ = build(project, german)

    assert texts(project) == []
    assert any("name a Whisper" in problem.sentence for problem in report.problems)


def test_an_english_script_is_aligned_once_and_its_problems_are_told_again(
    project, recordings, talk, tmp_path, monkeypatch
):
    script, wanted = english_script(talk, tmp_path)
    more = "Nobody ever says this long sentence about a purple elephant and seven violins."
    script.write_text("\n".join([*wanted, more]), encoding="utf-8")
    wished = wish(project, recordings, text=str(script), whisper="")

    first, _ = build(project, wished)
    before = project.transcript.clips()
    monkeypatch.setattr(aligning, "words_of", None)
    again, _ = build(project, wished)

    assert [problem.number for problem in first.problems] == [len(wanted) + 1]
    assert again.problems == first.problems
    assert project.transcript.clips() == before


def test_aligning_that_was_stopped_is_done_again_and_another_script_keeps_every_edit(
    project, recordings, talk, tmp_path, monkeypatch
):
    script, wanted = english_script(talk, tmp_path)
    wished = wish(project, recordings, text=str(script), whisper="")
    whole = aligning.words_of

    def stopped(path, lines, speech, told, stop):
        return whole(path, lines, speech, told, lambda: True)

    monkeypatch.setattr(aligning, "words_of", stopped)
    with pytest.raises(StopWork):
        build(project, wished)
    assert texts(project) == []
    monkeypatch.setattr(aligning, "words_of", whole)
    build(project, wished)
    clip = project.transcript.clips()[1]
    values = dataclasses.replace(clip.values, text="Typed by hand.")
    [edited] = project.transcript.edit("type", [Edit(clip.id, clip.revision, values)])
    script.write_text("\n".join(line.upper() for line in wanted), encoding="utf-8")
    build(project, wished)

    assert project.transcript.clip(clip.id) == edited
    others = [text for text in texts(project) if text != "Typed by hand."]
    assert others and all(text == text.upper() for text in others)


def test_what_cannot_be_used_is_left_out_with_its_reason_and_a_person_has_the_last_word(
    project, recordings
):
    build(project, wish(project, recordings))
    clip = project.transcript.clips()[0]
    words = " ".join(["nonsense"] * 60)
    values = dataclasses.replace(clip.values, text=words)
    [clip] = project.transcript.edit(
        "machine", [Edit(clip.id, clip.revision, values)], by="whisper 9"
    )

    build(project, wish(project, whisper=""))
    left_out = project.transcript.clip(clip.id)
    taken_in = dataclasses.replace(left_out.values, included=True, reason="")
    project.transcript.edit("take in", [Edit(clip.id, left_out.revision, taken_in)])
    build(project, wish(project, whisper=""))

    assert not left_out.values.included and "nonsense" in left_out.values.reason
    assert project.transcript.clip(clip.id).values.included


def test_an_empty_folder_is_a_sentence(project, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()

    with pytest.raises(NotFoundError, match="no recordings in there"):
        build(project, wish(project, empty))


def test_a_wish_is_read_back_as_it_was_written(project, tmp_path):
    wished = wish(project, "a", "b", recordings=("r",), text="ü.csv", freeze=True)
    write_wish(wished, tmp_path / "wish.json")
    content = json.loads((tmp_path / "wish.json").read_text(encoding="utf-8"))
    (tmp_path / "newer.json").write_text(json.dumps({**content, "mood": "good"}), encoding="utf-8")

    assert read_wish(tmp_path / "wish.json") == wished == read_wish(tmp_path / "newer.json")


def test_going_back_to_other_settings_cuts_anew(project, recordings):
    build(project, wish(project, recordings))
    usual = texts(project)

    build(project, wish(project, cut=CutSettings(max_seconds=4, target_seconds=3)))
    short = texts(project)
    build(project, wish(project))

    assert len(short) > len(usual) and texts(project) == usual


def test_a_cut_that_was_undone_is_made_again_when_asked_for(project, recordings):
    short = wish(project, cut=CutSettings(max_seconds=4, target_seconds=3))
    build(project, wish(project, recordings))
    usual = texts(project)
    build(project, short)
    cut_short = texts(project)
    project.transcript.undo()
    assert texts(project) == usual

    build(project, short)

    assert texts(project) == cut_short != usual


def test_no_undo_takes_away_what_a_build_first_made(project, recordings):
    build(project, wish(project, recordings))
    before = texts(project)

    assert project.transcript.undo() is None
    assert texts(project) == before


def test_hearing_again_that_was_stopped_finishes_what_is_left_and_no_more(project, recordings):
    soundfile.write(recordings / "two.wav", speech.bundled()[20].samples, speech.RATE)
    build(project, wish(project, recordings))
    first, second = project.recordings.all()

    def after_the_first():
        return sum(each.finished for each in project.hearings.of(first.id)) == 2

    with pytest.raises(StopWork):
        build(project, wish(project, again=True), stop=after_the_first)
    build(project, wish(project, again=True))
    heard = [len(project.hearings.of(each.id)) for each in (first, second)]
    build(project, wish(project, again=True))

    assert heard == [2, 2]
    assert [len(project.hearings.of(each.id)) for each in (first, second)] == [3, 3]


def test_a_chosen_language_is_that_of_the_recording_also_without_a_whisper(project, tmp_path):
    folder = tmp_path / "LJ"
    folder.mkdir()
    soundfile.write(folder / "a.wav", speech.np.pad(speech.bundled()[0].samples, 9000), 16000)
    (folder / "a.txt").write_text("Guten Tag.", encoding="utf-8")

    build(
        project,
        wish(project, folder, text=str(folder), whisper="", hear=HearSettings(language="de")),
    )

    assert project.recordings.all()[0].language == "de"


def test_a_script_that_comes_later_uses_the_words_that_are_known(
    project, recordings, talk, tmp_path
):
    build(project, wish(project, recordings))
    script = tmp_path / "script.txt"
    wanted = [sentence.text.upper() for sentence in talk[1]]
    script.write_text("\n".join(wanted), encoding="utf-8")

    build(project, wish(project, text=str(script), whisper=""))

    assert " ".join(texts(project)).split() == " ".join(wanted).split()


def test_problems_of_a_text_are_told_again_when_it_is_laid_over_again(
    project, recordings, talk, tmp_path
):
    script = tmp_path / "script.txt"
    said = [sentence.text for sentence in talk[1]]
    more = "Nobody ever says this long sentence about a purple elephant and seven violins."
    script.write_text("\n".join([*said, more]), encoding="utf-8")

    first, _ = build(project, wish(project, recordings, text=str(script)))
    again, _ = build(project, wish(project, recordings, text=str(script)))

    assert first.problems and again.problems == first.problems


def test_a_corrected_text_brings_a_clip_back_that_was_left_out_for_it(project, recordings):
    build(project, wish(project, recordings))
    clip = project.transcript.clips()[0]
    nonsense = dataclasses.replace(clip.values, text=" ".join(["nonsense"] * 60))
    project.transcript.edit("cut", [Edit(clip.id, clip.revision, nonsense)], by="whisper 9")
    build(project, wish(project, whisper=""))
    left_out = project.transcript.clip(clip.id)

    corrected = dataclasses.replace(left_out.values, text=clip.values.text)
    project.transcript.edit("type", [Edit(clip.id, left_out.revision, corrected)])
    build(project, wish(project, whisper=""))

    assert not left_out.values.included
    assert project.transcript.clip(clip.id).values.included


def test_a_working_copy_that_is_gone_is_made_again_for_the_checks(project, recordings):
    build(project, wish(project, recordings))
    [recording] = project.recordings.all()
    project.working_of(recording.id).unlink()
    with project.store.change() as store:
        store.execute("DELETE FROM checks")

    report, _ = build(project, wish(project, whisper=""))

    assert sum(report.marks.values()) == len(texts(project))
