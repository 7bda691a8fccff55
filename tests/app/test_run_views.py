"""Runs as words."""

from __future__ import annotations

from dataclasses import replace

import pytest

import engines
from app import following, run_views, views
from finetune import bases, runs
from finetune.datasets import Dataset, Example
from finetune.jobs import queue
from finetune.jobs.events import Measured, Sampled, Saved, Step
from finetune.jobs.outcome import Outcome
from finetune.runs import Plan
from finetune.settings import TrainSettings
from tests import trainee
from tests.jobs_at_work import request
from tests.trainee import ENGINE, step_event, write_history

PLAN = Plan("Ada", "p1", 2, "trainee", "/base", train=TrainSettings(epochs=7),
            engine_settings={"mood": "glad"})  # fmt: skip


@pytest.fixture(autouse=True)
def table(monkeypatch):
    monkeypatch.setattr(engines, "ENGINES", {"trainee": "tests.trainee"})


@pytest.fixture
def run(workspace):
    return runs.find(workspace, runs.create(workspace, PLAN).id)


def test_a_run_is_a_row_that_says_where_it_is(workspace, run):
    write_history(run.folder, step_event(1200, 2000))
    trainee.keep_best(run.folder, 800)

    [row] = run_views.run_rows(runs.all(workspace))

    assert row[:5] == ("Ada", "cut off", "1,200 of 2,000", "step 800", "Trainee")
    assert row[6] == run.id and len(row) == len(run_views.RUN_HEADS)


@pytest.mark.parametrize("state", ["stopped", "finished", "interrupted", "failed", "running"])
def test_every_state_has_words_and_something_to_do_next(run, state):
    each = replace(run, state=state)

    assert run_views.state(each) and run.id[:4] in run_views.what_next(each)
    assert ("resume" in run_views.what_next(each)) == (
        state in ("stopped", "interrupted", "failed")
    )


def test_a_run_that_could_not_learn_is_not_said_to_go_on(workspace, run):
    job = queue.submit(workspace, request("count", 1, 0))
    list(job.folder.follow(0.05))
    failed = replace(queue.find(workspace, job.id), outcome=Outcome("not-learning", "So."))

    said = run_views.what_next(replace(run, state="failed", job=failed))

    assert "resume" not in said and "other settings" in said


@pytest.mark.parametrize(
    ("kind", "cause", "said"),
    [
        ("train", "stopped", "runs resume"),
        ("build", "stopped", "same command"),
        ("make", "stopped", "same command"),
        ("speak", "stopped", ""),
        ("train", "bug", ""),
    ],
)
def test_the_terminal_says_how_what_was_stopped_goes_on(workspace, kind, cause, said):
    job = queue.submit(workspace, replace(request("count", 1, 0), kind=kind))
    list(job.folder.follow(0.05))
    job = replace(queue.find(workspace, job.id), outcome=Outcome(cause, "So."))

    told = following.how_to_go_on(job)

    assert said in told and bool(said) == bool(told)


def test_a_page_tells_what_was_chosen_how_it_does_and_why_the_best_is_the_best(workspace, run):
    write_history(
        run.folder,
        step_event(800, 2000),
        Measured(800, 2.5, {"text": 0.1, "mel": 2.4}),
        Sampled(400, "Old.", "samples/step-000400/00.flac", 2.0),
        Sampled(800, "New.", "samples/step-000800/00.flac", 2.0),
    )
    trainee.keep_best(run.folder, 800)
    trainee.finish(run.folder)
    run = runs.find(workspace, run.id)

    page = run_views.run_page(run, runs.history(run.folder))

    for said in ("epochs 7, mood glad", "step 800 of 2,000", "never learned from: loss 2.500"):
        assert said in page
    assert "“New.”" in page and "Old." not in page
    assert "Best: step 800. It sounds best." in page
    assert str(run.folder.voice) in page and "runs export" in page
    facts = {**run_views.run_facts(run), **run_views.history_facts(runs.history(run.folder))}
    assert facts["voice"] == str(run.folder.voice) and facts["last"]["step"] == 800
    assert [each["step"] for each in facts["samples"]] == [400, 800]


def test_a_run_of_an_engine_that_is_gone_is_still_shown(workspace):
    runs.create(workspace, replace(PLAN, engine="gone"))

    [row] = run_views.run_rows(runs.all(workspace))

    assert row[4] == "gone"


def test_what_is_begun_says_what_it_starts_from_and_what_is_mixed_in():
    data = Dataset((Example(1, "r", 0, 90, "x"),), (Example(2, "r", 0, 30, "x"),), 0)
    plain = run_views.begun("12ab", PLAN, ENGINE, data)
    more = replace(PLAN, continues="34cd", extra=(("p2", 1),), extra_share=0.3)

    said = run_views.begun("12ab", more, ENGINE, data)

    assert plain == "Run 12ab: Ada, Trainee, dataset version 2 (1 clip to learn from, 1.5 minutes)."
    assert "best weights of run 34cd" in said and "begins anew" in said
    assert "30% of each epoch comes from another project" in said


def test_a_base_is_a_row_with_its_licence_and_whether_it_is_here(tmp_path):
    rows = run_views.base_rows(bases.listed(tmp_path))
    facts = run_views.base_facts(bases.listed(tmp_path))

    assert rows[0] == ("trainee", "12", "Learner's Licence", ENGINE.about, "")
    assert rows[1][0] == "trainee-second" and rows[1][1] == ""
    assert facts[0]["kind"] == "base" and facts[0]["folder"] is None


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (
            Step(1200, 2000, 3, 2.5, {"text": 0.1, "mel": 2.4}, 1e-5, 1, 33.31, 0, {}, {}, 130.0),
            "step 1,200 of 2,000, loss 2.500 (text 0.1, mel 2.4), 33.3 clips a second, 2 min left",
        ),
        (
            Step(1, 2, 1, 2.5, {"loss": 2.5}, 1e-5, 1, 33.0, 0, {}, {}),
            "step 1 of 2, loss 2.500, 33 clips a second",
        ),
        (Measured(5, 1.25, {}), "Step 5, on clips it never learned from: loss 1.250"),
        (
            Sampled(5, "Hello.", "samples/00.flac", 2.04, 0.812, 0.051),
            "After step 5: “Hello.” (2.0 s, 0.81 like the voice, 5% misheard) in samples/00.flac",
        ),
        (Sampled(0, "Hi.", "s/0.flac", 2.0), "As the base speaks: “Hi.” (2.0 s) in s/0.flac"),
        (Saved(5, "x", 5012.3, 3.14), "Saved after step 5 (5,012 MB in 3.1 s)."),
        (
            Saved(5, "x", 12.0, 3.0, "Most like the voice."),
            "Saved after step 5 (12 MB in 3.0 s). Most like the voice.",
        ),
    ],
)
def test_what_a_training_tells_is_a_line(event, words):
    assert views.event_line(event) == words
