"""From recordings to a dataset by what a person types, with a real Whisper, small as it is."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import fields

import pytest
import soundfile
import typer
from typer.testing import CliRunner

from app import following
from app.commands import app
from app.options import Cut, Hear, with_settings
from engines.errors import EditError, NotDownloadedError, NotFoundError, SettingsError, TextError
from finetune import projects, submitting
from finetune.exporting import ExportSettings
from finetune.exports import ExportWish, read_export_wish, write_export_wish
from finetune.hearing import models
from finetune.jobs import queue
from finetune.jobs.events import Progress, Said
from finetune.settings import CutSettings, HearSettings
from tests import speech
from tests.app.test_commands import timbre
from tests.conftest import ROOT
from tests.whisper import hearing
from voices.workspace import open_workspace

WHISPER = ("--whisper", hearing.MODEL, "--window-seconds", 8)


def say(folder, name, first, last):
    """A recording of bundled sentences, and what is said in it."""
    samples, said = speech.joined(speech.bundled()[first:last], gaps=[0.6, 1.2], noise_db=30)
    soundfile.write(folder / name, samples, speech.RATE)
    return [sentence.text for sentence in said]


def run(home, *typed):
    """What a command answers; a problem is raised as it is."""
    done = CliRunner().invoke(app, ["--home", str(home), *map(str, typed)])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def facts(home, *typed):
    done = run(home, *typed, "--json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


@contextmanager
def opened(root):
    workspace = open_workspace(root)
    try:
        yield workspace
    finally:
        workspace.close()


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A workspace in which a dataset was built once, what the command said, and what was spoken."""
    folder = tmp_path_factory.mktemp("built")
    (folder / "in").mkdir()
    said = [*say(folder / "in", "one.flac", 0, 3), *say(folder / "in", "two.wav", 3, 6)]
    done = timbre(
        *("dataset", "build", folder / "in", "--name", "Ada", *WHISPER, "--json"),
        home=folder / "home",
    )
    return folder / "home", done, said


@pytest.fixture
def home(tmp_path, built):
    """A copy of that workspace; its jobs are long over."""
    shutil.copytree(built[0] / "projects", tmp_path / "home" / "projects")
    for path in built[0].glob("studio.db*"):
        shutil.copy(path, tmp_path / "home")
    return tmp_path / "home"


def clips(home, *filters):
    return facts(home, "clips", "list", "--project", "Ada", *filters)


# ---- From recordings to a dataset ----


def test_one_command_makes_a_dataset_of_recordings_and_answers_with_json_alone(built):
    home, done, said = built

    answer = json.loads(done.stdout)
    assert done.returncode == 0
    assert answer["project"]["name"] == "Ada" and answer["version"] == 1
    assert {each["verdict"] for each in answer["files"]} <= {"good", "look"}
    words = " ".join(clip["text"] for clip in clips(home)).split()
    wanted = " ".join(said).split()
    assert hearing.word_errors(wanted, words) <= 0.1 * len(wanted)
    assert "the language is en" in done.stderr


def test_a_project_is_made_once_and_found_by_its_name_or_its_id(tmp_path):
    say(tmp_path, "one.flac", 0, 1)

    first = facts(tmp_path / "ws", "import", tmp_path / "one.flac", "--project", "Ada")
    again = facts(tmp_path / "ws", "import", tmp_path / "one.flac", "--project", "ada")
    by_id = facts(
        tmp_path / "ws", "import", tmp_path / "one.flac", "--project", first["project"]["id"]
    )

    assert first["project"] == again["project"] == by_id["project"]
    assert [each["files"][0]["known"] for each in (first, again, by_id)] == [False, True, True]
    assert first["clips"] == 0


def test_a_text_beside_recordings_becomes_their_clips_without_a_whisper(tmp_path):
    [said] = say(tmp_path, "one.flac", 0, 1)
    (tmp_path / "metadata.csv").write_text(f"one|{said}!\nnine|Nobody.", encoding="utf-8")

    answer = facts(
        tmp_path / "ws",
        *("import", tmp_path / "one.flac", "--text", tmp_path / "metadata.csv"),
        *("--project", "Ada"),
    )

    assert [clip["text"] for clip in clips(tmp_path / "ws")] == [f"{said}!"]
    assert [problem["number"] for problem in answer["problems"]] == [2]


def test_what_a_job_says_is_told_and_its_closing_sentence_last(tmp_path):
    say(tmp_path, "one.flac", 0, 1)

    done = run(tmp_path / "ws", "import", tmp_path / "one.flac", "--project", "Ada")

    lines = done.stdout.splitlines()
    assert any(line.startswith("one.flac: ") for line in lines)
    assert lines[-1] == "1 recording brought in."


def test_in_the_background_it_answers_at_once_with_the_id_of_the_job(tmp_path):
    say(tmp_path, "one.flac", 0, 1)

    started = facts(
        tmp_path / "ws", "import", tmp_path / "one.flac", "--project", "Ada", "--background"
    )

    followed = timbre("jobs", "follow", started["job"], home=tmp_path / "ws")
    assert started["state"] in ("running", "waiting")
    assert "1 recording brought in." in followed.stdout


@pytest.mark.skipif(os.name == "nt", reason="Windows sends Ctrl-C to a console, not to a process")
def test_ctrl_c_leaves_and_the_job_goes_on(tmp_path):
    for first in (0, 3):
        say(tmp_path, f"{first}.flac", first, first + 3)
    sources = [tmp_path / "0.flac", tmp_path / "3.flac"]
    typed = ["dataset", "build", *sources, "--name", "Ada", *WHISPER, "--home", tmp_path / "ws"]
    watching = subprocess.Popen(
        [sys.executable, "-m", "app", *map(str, typed)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    watching.stdout.readline()

    watching.send_signal(signal.SIGINT)
    _, said = watching.communicate(timeout=30)

    assert watching.returncode == 130
    assert "goes on" in said and "jobs stop" in said and "Traceback" not in said
    with opened(tmp_path / "ws") as workspace:
        [job] = queue.jobs(workspace)
        list(job.folder.follow(poll_seconds=0.05))
        assert queue.find(workspace, job.id).outcome.cause == "finished"
    assert clips(tmp_path / "ws")


def test_a_job_that_fails_is_a_code_and_an_object_with_what_it_did(home):
    shutil.rmtree(next((home / "projects").iterdir()) / "recordings")
    shutil.rmtree(next((home / "projects").iterdir()) / "working")

    done = run(home, "transcribe", "--project", "Ada", *WHISPER, "--again", "--json")

    answer = json.loads(done.stdout)
    assert done.exit_code == 1
    assert answer["error"]["what"] and answer["files"] == []
    told = run(home, "transcribe", "--project", "Ada", *WHISPER, "--again")
    assert answer["error"]["what"] in told.stderr and "jobs show" in told.stderr


def test_transcribing_again_keeps_edits_and_shows_what_was_heard_beside_them(home):
    [first, *_] = clips(home)
    run(home, "clips", "text", first["id"], "Mine.", "--project", "Ada")

    facts(home, "transcribe", "--project", "Ada", "one", *WHISPER, "--again")

    [kept] = [clip for clip in clips(home) if clip["id"] == first["id"]]
    assert (kept["text"], kept["heard"], kept["differs"]) == ("Mine.", first["text"], True)
    assert [len(hearings) for hearings in _hearings(home)] == [2, 1]
    run(home, "clips", "take", first["id"], "--project", "Ada")
    assert clips(home)[0]["text"] == first["text"]


# ---- What is refused before a job begins ----


@pytest.mark.parametrize(
    ("typed", "problem", "said"),
    [
        (["import", "nowhere.wav", "--project", "A"], NotFoundError, "nothing at /"),
        (["import", ".", "--text", "no.srt", "--project", "A"], NotFoundError, "no.srt"),
        (["transcribe", "--project", "Nobody"], NotFoundError, "no project called 'Nobody'"),
        (["transcribe", "--project", "Ada", "three"], NotFoundError, "no recording called"),
        (["transcribe", "--project", "Ada", "--whisper", "huge"], NotFoundError, "huge"),
        (["transcribe", "--project", "Ada", "--whisper", "./no"], NotFoundError, "nothing at"),
        (["transcribe", "--project", "Ada"], NotDownloadedError, "Add --download"),
        (
            ["transcribe", "--project", "Ada", "--whisper", "tiny.en", "--language", "de"],
            SettingsError,
            "only English",
        ),
        (["dataset", "build", "--name", "Nobody", *WHISPER], NotFoundError, "Nobody"),
        (
            ["dataset", "build", ".", "--name", "A", *WHISPER, "--min-seconds", "99"],
            SettingsError,
            "min_seconds is 99",
        ),
        (["dataset", "show", "Ada", "--version", "7"], NotFoundError, "no version 7"),
        (["dataset", "export", "Ada", "no/where"], NotFoundError, "no folder"),
        (["dataset", "export", "Ada", "."], TextError, "there already"),
        (["dataset", "export", "Ada", "x", "--format", "odd"], SettingsError, "ljspeech"),
        (["clips", "list", "--project", "Ada", "--mark", "nice"], NotFoundError, "no mark"),
        (["clips", "show", "99", "--project", "Ada"], NotFoundError, "no clip 99"),
        (["clips", "trim", "1", "--project", "Ada"], EditError, "--start, --end"),
        (["clips", "split", "1", "--project", "Ada", "--at", "1"], EditError, "--left"),
        (["clips", "split", "1", "--project", "Ada", "--word", "1"], EditError, "words"),
        (["models", "download", "huge"], NotFoundError, "huge"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else "",
)
def test_what_cannot_be_is_refused_with_a_sentence_and_no_job(
    home, tmp_path, monkeypatch, typed, problem, said
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(models, "_in_cache", lambda *model: None)
    before = facts(home, "jobs", "list")

    with pytest.raises(problem) as caught:
        run(home, *typed)

    assert said in str(caught.value)
    assert facts(home, "jobs", "list") == before
    assert [each.name for each in _projects(home)] == ["Ada"]


def test_a_project_in_the_trash_is_not_imported_into(home, tmp_path):
    say(tmp_path, "three.wav", 6, 7)
    with opened(home) as workspace:
        [item] = projects.shelf(workspace).all()
        projects.shelf(workspace).trash(item.id)

    with pytest.raises(NotFoundError, match="in the trash"):
        run(home, "import", tmp_path / "three.wav", "--project", item.id)


def test_a_project_without_recordings_says_how_to_bring_some(tmp_path):
    with opened(tmp_path / "ws") as workspace:
        projects.create(workspace, "Empty")

    with pytest.raises(NotFoundError, match="Bring some in"):
        run(tmp_path / "ws", "transcribe", "--project", "Empty", *WHISPER)


def test_offline_a_download_is_refused(tmp_path):
    done = timbre("--offline", "models", "download", "tiny", home=tmp_path)

    assert done.returncode == 1 and "offline" in done.stderr


# ---- Datasets ----


def test_a_dataset_is_shown_with_what_changed_since_it_was_frozen(home):
    run(home, "clips", "text", 1, "Changed.", "--project", "Ada")
    run(home, "clips", "leave-out", 2, "--reason", "a phone rings", "--project", "Ada")

    shown = facts(home, "dataset", "show", "Ada", "--clips")

    assert [each["name"] for each in shown["recordings"]] == ["one.flac", "two.wav"]
    assert shown["changed"] == {"added": [], "removed": [2], "changed": [1]}
    assert len(shown["clips"]) == sum(shown["marks"].values())
    assert shown["marks"]["not checked"] == 1
    page = run(home, "dataset", "show", "Ada", "--clips").stdout
    for said in ("a phone rings", "Since version 1: 1 removed, 1 changed.", "minutes: at least"):
        assert said in page


def test_the_checks_run_again_and_list_what_is_to_be_looked_at(home):
    run(home, "clips", "text", 1, "nonsense " * 60, "--project", "Ada")

    checked = facts(home, "dataset", "check", "Ada")
    told = run(home, "dataset", "check", "Ada").stdout

    [worst] = [each for each in checked["to_look_at"] if each["id"] == 1]
    assert worst["mark"] == "leave out"
    assert any(finding["check"] == "repeats" for finding in worst["findings"])
    run(home, "clips", "leave-out", 1, "--project", "Ada")
    for mark in ("leave out", "left out"):
        assert [clip["id"] for clip in clips(home, "--mark", mark)] == [1]
    assert "Clip 1 (left out)" in told and "  repeats " in told


def test_a_version_is_frozen_once_and_compared_with_the_one_before(home):
    same = facts(home, "dataset", "freeze", "--name", "Ada")
    run(home, "clips", "text", 1, "Changed.", "--project", "Ada")

    second = facts(home, "dataset", "freeze", "--name", "Ada", "--note", "better")

    assert (same["version"], second["version"]) == (1, 2)
    shown = facts(home, "dataset", "show", "Ada", "--version", 2, "--clips")
    assert shown["note"] == "better" and shown["changed"]["changed"] == [1]
    assert {each["part"] for each in shown["clips"]} == {"train", "check"}
    page = run(home, "dataset", "show", "Ada", "--version", 2).stdout
    assert "Since version 1: 1 changed." in page


def test_what_is_exported_comes_back_with_every_text(home, tmp_path):
    out = tmp_path / "out"
    answer = facts(home, "dataset", "export", "Ada", out, "--audio", "flac", "--format", "piper")
    with (out / "metadata.csv").open("a", encoding="utf-8") as table:
        table.write("000099|Nobody.\n")

    back = facts(home, "dataset", "import", out, "--name", "Back")

    assert answer["clips"] == len(list((out / "wavs").iterdir()))
    texts = [clip["text"] for clip in facts(home, "clips", "list", "--project", "Back")]
    assert texts == [clip["text"] for clip in clips(home)]
    assert len(texts) + 1 in [each["number"] for each in back["problems"]]


def test_an_old_version_is_exported_as_it_was(home, tmp_path):
    before = [clip["text"] for clip in clips(home)]
    run(home, "clips", "replace", "the", "THE", "--yes", "--project", "Ada")
    facts(home, "dataset", "freeze", "--name", "Ada")

    facts(home, "dataset", "export", "Ada", tmp_path / "old", "--version", 1)

    rows = (tmp_path / "old" / "metadata.csv").read_text(encoding="utf-8").splitlines()
    assert sorted(row.split("|")[1] for row in rows) == sorted(before)


def test_an_export_before_anything_is_frozen_says_what_to_do(tmp_path):
    with opened(tmp_path / "ws") as workspace:
        projects.create(workspace, "Empty")

    with pytest.raises(NotFoundError, match="dataset freeze"):
        run(tmp_path / "ws", "dataset", "export", "Empty", tmp_path / "out")


def test_a_wish_to_export_is_read_back_as_it_was_written(tmp_path):
    wish = ExportWish("p", 3, "ü", ExportSettings(format="xtts", rate=22050))
    write_export_wish(wish, tmp_path / "wish.json")
    content = json.loads((tmp_path / "wish.json").read_text(encoding="utf-8"))
    (tmp_path / "newer.json").write_text(json.dumps({**content, "mood": 1}), encoding="utf-8")

    assert read_export_wish(tmp_path / "wish.json") == wish
    assert read_export_wish(tmp_path / "newer.json") == wish


# ---- Clips ----


def test_clips_are_filtered_by_what_they_say_and_where_they_are(home):
    every = clips(home)

    [one] = clips(home, "--find", every[0]["text"][:12].upper())
    assert one == every[0]
    two = clips(home, "--recording", "two")
    assert two and {each["recording_name"] for each in two} == {"two.wav"}
    good = clips(home, "--mark", "good")
    assert [each["id"] for each in every if each["mark"] == "good"] == [e["id"] for e in good]
    assert every[0]["text"].split()[0] in run(home, "clips", "list", "--project", "Ada").stdout


def test_a_recording_goes_into_the_trash_with_its_clips_and_comes_back(home):
    before = [(each["recording_name"], each["text"]) for each in clips(home)]
    there = facts(home, "recordings", "list", "--project", "Ada")
    assert [each["name"] for each in there] == ["one.flac", "two.wav"]

    said = run(home, "recordings", "trash", "ONE", "--project", "Ada").stdout

    assert said == "one.flac is in the trash.\n"
    assert {each["recording_name"] for each in clips(home)} == {"two.wav"}
    assert "two.wav" in run(home, "recordings", "list", "--project", "Ada").stdout
    [away] = facts(home, "recordings", "list", "--project", "Ada", "--trashed")
    assert away["name"] == "one.flac"
    with pytest.raises(NotFoundError, match="no recording called 'one'"):
        run(home, "recordings", "trash", "one", "--project", "Ada")

    facts(home, "recordings", "restore", away["id"], "--project", "Ada")

    assert [(each["recording_name"], each["text"]) for each in clips(home)] == before
    assert facts(home, "recordings", "list", "--project", "Ada") == there


def test_a_clip_is_split_at_a_word_between_its_words_and_merged_again(home):
    before = clips(home)[0]
    shown = facts(home, "clips", "show", 1, "--project", "Ada")
    third = shown["words"][2]

    left, right = facts(home, "clips", "split", 1, "--word", 3, "--project", "Ada")

    assert left["text"] == " ".join(before["text"].split()[:2])
    assert f"{left['text']} {right['text']}" == before["text"]
    assert left["end"] == right["start"] == pytest.approx(third["start"], abs=0.2)
    facts(home, "clips", "merge", left["id"], right["id"], "--project", "Ada")
    merged = clips(home)[0]
    assert [merged[name] for name in ("start", "end", "text")] == [
        before[name] for name in ("start", "end", "text")
    ]
    assert "3 " + third["text"] in run(home, "clips", "show", 1, "--project", "Ada").stdout


def test_a_merged_clip_is_only_brought_back(home):
    facts(home, "clips", "merge", 1, 2, "--project", "Ada")

    with pytest.raises(NotFoundError, match="restore"):
        run(home, "clips", "text", 2, "Mine.", "--project", "Ada")
    facts(home, "clips", "restore", 2, "--project", "Ada")

    assert 2 in [clip["id"] for clip in clips(home)]


def test_the_ends_of_a_clip_are_moved_one_by_one(home):
    before = clips(home)[0]

    facts(home, "clips", "trim", 1, "--start", before["start"] + 0.25, "--project", "Ada")

    after = clips(home)[0]
    assert (after["start"], after["end"]) == (before["start"] + 0.25, before["end"])


def test_leaving_out_and_taking_in_are_undone_and_redone(home):
    run(home, "clips", "leave-out", 1, 2, 1, "--reason", "noise", "--project", "Ada")
    assert [clip["included"] for clip in clips(home)[:2]] == [False, False]

    run(home, "clips", "take-in", 1, "--project", "Ada")
    assert "take in" in run(home, "clips", "undo", "--project", "Ada").stdout
    assert not clips(home)[0]["included"]
    run(home, "clips", "redo", "--project", "Ada")

    assert clips(home)[0]["included"]
    labels = [each["label"] for each in facts(home, "clips", "history", "--project", "Ada")]
    assert labels[:2] == ["take in", "leave out"]


@pytest.mark.parametrize("command", [["replace", "Birds", "owls"], ["normalise"]])
def test_what_changes_many_is_shown_first_and_done_when_it_is_wanted(home, command):
    run(home, "clips", "text", 1, "Dr. Who has 7 birds.", "--project", "Ada")
    wanted = {"replace": "Dr. Who has 7 owls.", "normalise": "Doctor Who has seven birds."}

    shown = run(home, "clips", *command, "--project", "Ada")
    preview = facts(home, "clips", *command, "--project", "Ada")
    untouched = clips(home)[0]["text"]
    run(home, "clips", *command, "--project", "Ada", "--yes")

    assert shown.exit_code == 1 and "Nothing was changed" in shown.stdout
    assert not preview["done"] and preview["changes"][0]["after"] == wanted[command[0]]
    assert untouched == "Dr. Who has 7 birds." and clips(home)[0]["text"] == wanted[command[0]]


# ---- What they are made of ----


def test_every_setting_is_an_option_and_what_was_typed_goes_over_what_was_chosen_before():
    made, stored = [], CutSettings(sentences=3)
    tool = typer.Typer()

    @tool.command()
    @with_settings
    def command(name: str, cut: Cut, hear: Hear) -> None:
        made.append((name, cut.over(stored), hear.alone))

    typed = ["x", "--min-seconds", "2", "--pause-ms", "300", "--hot-words", "Ada"]
    assert CliRunner().invoke(tool, typed).exit_code == 0
    said = CliRunner().invoke(tool, ["--help"]).stdout

    cut = CutSettings(min_seconds=2, pause_ms=300, sentences=3)
    hear = HearSettings(hot_words="Ada")
    assert made == [("x", cut, hear)]
    for each in (*fields(CutSettings), *fields(HearSettings)):
        assert f"--{each.name.replace('_', '-')}" in said


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_one_line_that_changes_on_a_terminal():
    stream = Terminal()
    lines = following.Lines(stream)

    for event in (Progress(1, 10, "clips"), Progress(10, 10, "clips"), Said("Done.")):
        lines.show(event)

    assert stream.getvalue().count("\n") == 1
    assert stream.getvalue().split("\r")[-1] == "Done.\n"


def test_progress_is_a_line_now_and_then_in_a_pipe():
    stream = io.StringIO()
    lines = following.Lines(stream)

    for done in range(100):
        lines.show(Progress(done, 100, "clips"))

    assert stream.getvalue() == "0 of 100 clips\n"


def test_the_same_wish_while_it_waits_is_the_same_job(home):
    with opened(home) as workspace:
        [item] = projects.shelf(workspace).all()
        wish = submitting.wish_for(workspace, item)
        jobs = [submitting.submit(workspace, item, wish, "Check") for _ in "ab"]
        list(jobs[0].folder.follow(poll_seconds=0.05))

    assert jobs[0].id == jobs[1].id


def test_models_are_listed_with_size_licence_and_what_is_advised(tmp_path):
    listed = {each["name"]: each for each in facts(tmp_path, "models", "list")}

    assert listed["turbo"]["licence"] == "MIT" and listed["turbo"]["size_mb"] == 1620
    assert sum(each["advised"] for each in listed.values()) == 1
    assert "Advised here:" in run(tmp_path, "models", "list").stdout


def _hearings(home):
    with opened(home) as workspace:
        [item] = projects.shelf(workspace).all()
        with projects.open_project(projects.folder_of(workspace, item)) as project:
            return [project.hearings.of(each.id) for each in project.recordings.all()]


def _projects(home):
    with opened(home) as workspace:
        return projects.shelf(workspace).all()
