"""Trainings by what a person types, with an engine that learns in no time."""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

import pytest
import soundfile

import engines
from app import following
from engines.errors import (
    DatasetError,
    EngineError,
    JobError,
    NameProblem,
    NotDownloadedError,
    NotFoundError,
    SettingsError,
    WorkspaceError,
)
from finetune import downloads, projects, runs, submitting
from finetune.hearing import models
from finetune.jobs import queue
from finetune.jobs.events import Measured, Sampled, Saved
from finetune.runs import Plan
from finetune.settings import TrainSettings
from tests import speech, trainee
from tests.app.test_data_commands import Terminal, facts, opened, run
from tests.trainee import base_in, step_event
from voices import files

SLOW = ("--set", "steps=2000", "--set", "pause_ms=50")


@pytest.fixture(autouse=True)
def stand_in(monkeypatch):
    """The trainee in place of every engine, its training in place of the loop."""
    monkeypatch.setattr(engines, "ENGINES", {"trainee": "tests.trainee"})
    python = (sys.executable, "-m", "tests.trainee")
    monkeypatch.setattr(submitting, "training_argv", lambda run: (*python, "train", str(run.path)))
    monkeypatch.setattr(submitting, "making_argv", lambda wish: (*python, "make", str(wish)))


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A workspace in which Ada has datasets, the second with a clip that is too long."""
    root = tmp_path_factory.mktemp("first")
    with opened(root) as workspace:
        for name in ("Ada", "Empty"):
            projects.create(workspace, name)
        with projects.open_project(workspace.projects / _id(workspace, "Ada")) as project:
            for seconds in ((2.0, 3.0, 4.0), (2.0, 11.5, 3.0), (2.0, 2.5, 3.0)):
                trainee.freeze(project, seconds)
    return root


@pytest.fixture
def home(tmp_path, first):
    """A copy of that workspace, and a base beside it."""
    base_in(tmp_path / "base")
    return Path(shutil.copytree(first, tmp_path / "home"))


@pytest.fixture
def typed(home, tmp_path):
    return ("train", "--project", "Ada", "--engine", "trainee", "--base", tmp_path / "base")


def _id(workspace, name):
    return projects.shelf(workspace).find(name).id


def laid_out(home, name="Ada", **how):
    """A run that nothing was done of."""
    with opened(home) as workspace:
        plan = Plan(name, _id(workspace, "Ada"), 1, "trainee", str(home.parent / "base"), **how)
        return runs.create(workspace, plan)


def wait_for(home, job_id):
    with opened(home) as workspace:
        job = queue.find(workspace, job_id)
        list(job.folder.follow(0.05, lambda: queue.advance(workspace)))


# ---- Training ----


def test_a_training_is_followed_to_its_voice(home, typed):
    done = run(home, *typed, "--sentence", "Hello.", "--epochs", 2, "--lora-rank", 8)

    lines = done.stdout.splitlines()
    assert done.exit_code == 0 and lines[-1] == "Ada is made."
    assert "Ada, Trainee, dataset version 3 (2 clips to learn from" in lines[0]
    assert any("It sounds best." in line for line in lines)
    assert any("“Hello.”" in line for line in lines)
    with opened(home) as workspace:
        [made] = runs.all(workspace)
        project = _id(workspace, "Ada")
    assert made.state == "finished" and made.plan.project == project
    assert made.plan.train == TrainSettings(epochs=2) and made.plan.sentences == ("Hello.",)
    assert made.plan.engine_settings["lora_rank"] == 8


def test_whose_voice_it_is_is_kept_with_the_run(home, typed):
    run(home, *typed, "--name", "Hers", "--whose", "Ada Lovelace", "--not-agreed")

    with opened(home) as workspace:
        [made] = runs.all(workspace)
    assert (made.plan.whose, made.plan.agreed) == ("Ada Lovelace", False)


def test_a_program_gets_the_run_as_an_object(home, typed):
    answer = facts(home, *typed, "--version", 1, "--name", "Älter")

    assert answer["run"]["name"] == "Älter" and answer["run"]["state"] == "finished"
    assert answer["run"]["step"] == answer["run"]["total"] == 3
    assert answer["cause"] == "finished" and answer["project"]["name"] == "Ada"
    [listed] = facts(home, "runs", "list")
    assert listed == answer["run"] and listed["plan"]["version"] == 1


def test_a_training_is_stopped_resumed_and_exported(home, typed, tmp_path):
    begun = facts(home, *typed, *SLOW, "--background")
    named = begun["run"]["id"]
    assert begun["run"]["state"] in ("running", "waiting")
    with pytest.raises(JobError, match="runs follow"):
        run(home, "runs", "resume", named)
    with pytest.raises(NotFoundError, match="no voice of it yet"):
        run(home, "runs", "export", named, tmp_path / "out")

    assert "stopp" in run(home, "runs", "stop", named).stdout
    wait_for(home, begun["job"])
    stopped = facts(home, "runs", "show", named)
    shorten(home, named)
    resumed = facts(home, "runs", "resume", named[:5])

    assert stopped["state"] == "stopped" and stopped["last"]["step"] >= 1
    assert resumed["run"]["state"] == "finished" and resumed["job"] != begun["job"]
    with pytest.raises(JobError, match="nothing to stop"):
        run(home, "runs", "stop", named)
    with pytest.raises(JobError, match="runs export"):
        run(home, "runs", "resume", named)
    exported = facts(home, "runs", "export", "ada", tmp_path / "out")
    assert exported == {"run": named, "folder": str(tmp_path / "out")}
    assert soundfile.info(tmp_path / "out" / "wavs" / "reference.wav").samplerate == 22050
    with pytest.raises(WorkspaceError, match="there already"):
        run(home, "runs", "export", "ada", tmp_path / "out")


def shorten(home, named):
    """Let a run be done with the next steps."""
    with opened(home) as workspace:
        found = runs.find(workspace, named)
        settings = {**found.plan.engine_settings, "steps": found.step + 2, "pause_ms": 0}
        plan = {**vars(found.plan), "engine_settings": settings}
        runs.write_plan(Plan(**plan), found.folder.plan_path)


def test_a_training_that_runs_is_asked_to_speak_and_to_save(home, typed):
    begun = facts(home, *typed, *SLOW, "--background")
    named = begun["run"]["id"]

    for what in ("sample", "save"):
        assert facts(home, "runs", what, named) == {"run": named, "asked": what}

    with opened(home) as workspace:
        folder = queue.find(workspace, begun["job"]).folder
        assert any(isinstance(event, Measured) for event in folder.follow(0.05))
    run(home, "runs", "stop", named)
    wait_for(home, begun["job"])
    with pytest.raises(JobError, match="Only a training that runs"):
        run(home, "runs", "sample", named)


def test_a_training_goes_on_from_the_best_weights_of_another(home, typed):
    folder = laid_out(home)
    trainee.keep_best(folder, 3)

    done = run(home, *typed[:-2], "--from", "Ada", "--name", "Ada again")

    assert f"best weights of run {folder.id}" in done.stdout.splitlines()[1]
    with opened(home) as workspace:
        assert runs.find(workspace, "Ada again").plan.continues == folder.id


# ---- What is refused before a run begins ----


@pytest.mark.parametrize(
    ("changed", "problem", "said"),
    [
        (("--project", "Nobody"), NotFoundError, "no project called 'Nobody'"),
        (("--project", "Empty"), NotFoundError, "dataset build RECORDINGS --name Empty"),
        (("--engine", "xttz"), EngineError, "no engine called 'xttz'"),
        (("--base", ""), NotDownloadedError, "models download trainee"),
        (("--base", "nowhere"), NotFoundError, "no folder"),
        (("--version", 9), NotFoundError, "no version 9"),
        (("--version", 2), DatasetError, "clip 2 (11.5 s)"),
        (("--epochs", -1), SettingsError, "epochs is -1"),
        (("--set", "spell=1"), SettingsError, "no setting 'spell'"),
        (("--lora-rank", 999), SettingsError, "lora_rank is 999"),
        (("--transcriber", "huge"), NotFoundError, "huge"),
        (("--from", "Nobody"), NotFoundError, "no run 'Nobody'"),
        (("--mix", "Ada"), SettingsError, "into itself"),
        (("--mix", "Empty"), NotFoundError, "no dataset of Empty"),
        (("--name", "a\nb"), NameProblem, "line break"),
    ],
    ids=str,
)
def test_what_cannot_be_trained_is_refused_with_a_sentence_and_no_run(
    home, typed, tmp_path, monkeypatch, changed, problem, said
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(models, "_in_cache", lambda *model: None)

    with pytest.raises(problem) as caught:
        run(home, *typed, *changed)

    assert said in str(caught.value)
    assert facts(home, "runs", "list") == [] and facts(home, "jobs", "list") == []


def test_an_engine_that_lacks_something_says_so_first(home, typed, monkeypatch):
    monkeypatch.setattr(trainee.ENGINE, "lacking", "coqui-tts is missing.", raising=False)

    with pytest.raises(EngineError, match="coqui-tts is missing"):
        run(home, *typed)


@pytest.mark.parametrize("command", ["show", "follow", "stop", "resume", "sample", "save"])
def test_a_run_that_is_not_there_is_said(home, command):
    with pytest.raises(NotFoundError, match="no run 'Nobody'"):
        run(home, "runs", command, "Nobody")


def test_a_run_that_was_never_started_says_how_to(home):
    folder = laid_out(home)

    with pytest.raises(JobError, match=f"runs resume {folder.id[:4]}"):
        run(home, "runs", "follow", folder.id)
    assert "cut off" in run(home, "runs", "list").stdout
    assert "runs resume" in run(home, "runs", "show", "Ada").stdout


# ---- From recordings to a voice ----


def test_recordings_become_a_voice_with_one_command(home, tmp_path):
    (tmp_path / "talks").mkdir()
    lines = [f"{at}|{_spoken(tmp_path / 'talks', at)}" for at in range(4)]
    (tmp_path / "metadata.csv").write_text("\n".join(lines), encoding="utf-8")
    typed = (
        *("make", "Grace Hopper", tmp_path / "talks", "--text", tmp_path / "metadata.csv"),
        *("--engine", "trainee", "--base", tmp_path / "base", "--language", "en"),
    )

    answer = facts(home, *typed)
    again = facts(home, *typed)

    assert answer["what"] == "Grace Hopper is made." and answer["version"] == 1
    assert answer["run"]["state"] == "finished" and answer["run"]["name"] == "Grace Hopper"
    assert answer["project"]["name"] == "Grace Hopper" and answer["clips"] >= 2
    assert again["run"]["id"] == answer["run"]["id"] and "just this before" in again["what"]


def _spoken(folder, at):
    """Record a sentence; what it says."""
    samples, [sentence] = speech.joined(speech.bundled()[at : at + 1], gaps=[0.6], noise_db=30)
    soundfile.write(folder / f"{at}.flac", samples, speech.RATE)
    return sentence.text


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        (("--language", "xx"), SettingsError),
        (("--base", "nowhere"), NotFoundError),
        (("--set", "spell=1"), SettingsError),
        (("--text", "no.csv"), NotFoundError),
    ],
)
def test_what_cannot_be_made_leaves_no_project(home, tmp_path, monkeypatch, changed, problem):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("One.")
    typed = ("make", "New", ".", "--engine", "trainee", "--base", "base", "--text", "a.txt")

    with pytest.raises(problem):
        run(home, *typed, *changed)

    with opened(home) as workspace:
        assert {each.name for each in projects.shelf(workspace).all()} == {"Ada", "Empty"}


# ---- Bases ----


def test_bases_are_listed_and_downloaded_once_the_licence_is_agreed_to(home, monkeypatch):
    def fetch(wanted, folder, progress, stop):
        progress(6_000_000, 12_000_000)
        with files.new_folder(folder) as new:
            base_in(new)

    listing = [downloads.Wanted("https://x/y", name) for name in trainee.ENGINE.base_files]
    monkeypatch.setattr(downloads, "hub_files", lambda *asked: listing)
    monkeypatch.setattr(downloads, "download", fetch)
    before = {each["name"]: each for each in facts(home, "models", "list")}
    with pytest.raises(NotDownloadedError, match="Learner's Licence"):
        run(home, "models", "download", "trainee")

    done = run(home, "models", "download", "trainee", "--agree")

    after = {each["name"]: each for each in facts(home, "models", "list")}
    folder = str(home / "models" / "trainee-first")
    assert "agreed to" in done.stdout and folder in done.stdout.replace("\n", "")
    assert (before["trainee"]["folder"], after["trainee"]["folder"]) == (None, folder)
    assert after["trainee"]["kind"] == "base" and after["turbo"]["kind"] == "whisper"
    assert "Learner's Licence" in run(home, "models", "list").stdout


def test_a_whisper_whose_folder_is_damaged_says_why(home):
    model = models.model_of("tiny")
    folder = models.folder_of(model, home / "models")
    with files.new_folder(folder) as new:
        (new / "model.bin").write_bytes(b"x")
    (folder / "model.bin").unlink()

    listed = {each["name"]: each for each in facts(home, "models", "list")}

    assert listed["tiny"]["folder"] is None and listed["tiny"]["problem"]
    assert listed["base"]["problem"] == ""
    assert "tiny cannot be used: " in run(home, "models", "list").stdout


# ---- What they are made of ----


def test_steps_are_one_line_that_changes_and_what_is_rarer_is_told_above_it():
    stream = Terminal()
    lines = following.Lines(stream)

    for event in (
        step_event(1, 9),
        step_event(2, 9),
        Measured(2, 1.5, {}),
        Sampled(2, "Hello.", "samples/00.flac", 1.0),
        Saved(2, "checkpoints/step-000002", 1, 1),
    ):
        lines.show(event)

    assert stream.getvalue().count("\n") == 3
    assert "\rstep 2 of 9" in stream.getvalue()


def test_steps_in_a_pipe_are_a_line_now_and_then():
    stream = io.StringIO()
    lines = following.Lines(stream)

    for step in range(1, 50):
        lines.show(step_event(step, 50))

    assert stream.getvalue().count("\n") == 1


def test_a_run_is_read_by_the_jobs_list_too(home, typed):
    answer = facts(home, *typed)

    [job] = facts(home, "jobs", "list")

    assert job["id"] == answer["job"] and job["progress"]["done"] == 3
