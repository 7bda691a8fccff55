"""A run is what lies in its folder: its plan, its job, what it told, what came of it."""

from __future__ import annotations

import json
import shutil
import time

import pytest

from engines.errors import DamagedFolderError, NotFoundError
from finetune import runs, submitting
from finetune.jobs import queue
from finetune.jobs.events import Measured, Sampled, Saved, Step
from finetune.jobs.folder import JobFolder
from finetune.jobs.outcome import Outcome
from finetune.runs import Plan, RunFolder
from finetune.settings import TrainSettings
from tests import trainee
from tests.jobs_at_work import request
from tests.trainee import step_event, write_history
from voices import names

PLAN = Plan(
    "Ädä", "p1", 2, "trainee", "/base", ("Hello.", "Bye."), "tiny", "", (("p2", 3),), 0.3,
    TrainSettings(epochs=3, minutes=2.5), {"mood": "glad", "steps": 3},
)  # fmt: skip


@pytest.fixture
def folder(workspace):
    return runs.create(workspace, PLAN)


@pytest.fixture
def submitted(workspace, folder, monkeypatch):
    """A run whose job counts to a thousand, ten a second; it is stopped in the end."""
    counting = request("count", 1000, 0.1).argv
    monkeypatch.setattr(submitting, "training_argv", lambda run: counting)
    job = submitting.submit_training(workspace, folder)
    yield job
    if queue.find(workspace, job.id).state != "ended":
        queue.stop(workspace, job.id)
        list(job.folder.follow(poll_seconds=0.05))


def ended(workspace, folder, cause):
    """Let a run have had a job that ended so."""
    job = JobFolder(workspace.jobs / names.new_id())
    job.write_request(request("count", 1))
    job.write_outcome(Outcome(cause, "So it ended."))
    with workspace.store.change() as store:
        store.execute("INSERT INTO jobs VALUES (?, 1, '', '', 'ended', '', '')", (job.id,))
    folder.note_job(job.id)


# ---- Plans ----


def test_a_plan_is_read_back_as_it_was_written(tmp_path):
    runs.write_plan(PLAN, tmp_path / "run.json")

    assert runs.read_plan(tmp_path / "run.json") == PLAN


def test_what_only_a_newer_timbre_knows_of_a_plan_is_left_out(tmp_path):
    runs.write_plan(PLAN, tmp_path / "run.json")
    said = json.loads((tmp_path / "run.json").read_bytes())
    said |= {"v": 2, "mood": "good"}
    said["train"]["spell"] = "abracadabra"
    (tmp_path / "run.json").write_text(json.dumps(said))

    assert runs.read_plan(tmp_path / "run.json") == PLAN


def test_what_an_older_timbre_did_not_know_is_as_everybody_begins(tmp_path):
    (tmp_path / "run.json").write_text(
        '{"name": "A", "project": "p", "version": 1, "engine": "e", "base": "b"}'
    )

    assert runs.read_plan(tmp_path / "run.json") == Plan("A", "p", 1, "e", "b")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"name": 1}', '{"train": 3}'])
def test_a_plan_that_cannot_be_read_is_said_in_a_sentence(tmp_path, content):
    (tmp_path / "run.json").write_text(content)

    with pytest.raises(DamagedFolderError, match="is to do cannot be read"):
        runs.read_plan(tmp_path / "run.json")


# ---- The list ----


def test_runs_are_listed_the_newest_first(workspace):
    made = []
    for _ in range(3):
        made.append(runs.create(workspace, PLAN).id)
        time.sleep(0.002)

    assert [run.id for run in runs.all(workspace)] == made[::-1]


def test_a_run_is_found_by_id_name_and_beginning(workspace, folder):
    other = runs.create(workspace, Plan("Bea", "p1", 1, "trainee", "/base"))

    for named in (folder.id, "ädä", "ÄDÄ", folder.id[:6]):
        assert runs.find(workspace, named).id == folder.id
    assert runs.find(workspace, "Bea").id == other.id


def test_a_name_that_two_runs_have_is_answered_with_their_ids(workspace, folder):
    other = runs.create(workspace, PLAN)

    with pytest.raises(NotFoundError, match="more than one") as caught:
        runs.find(workspace, "Ädä")

    assert folder.id in caught.value.fix and other.id in caught.value.fix


@pytest.mark.parametrize("named", ["", "zzz", "../projects", "%"])
def test_a_run_that_is_not_there_is_not_another_one(workspace, folder, named):
    with pytest.raises(NotFoundError, match="runs list"):
        runs.find(workspace, named)


def test_a_run_whose_plan_is_damaged_spoils_no_list_and_says_so_when_asked_for(workspace, folder):
    broken = runs.create(workspace, PLAN)
    broken.plan_path.write_text("{")

    assert [run.id for run in runs.all(workspace)] == [folder.id]
    assert runs.damaged(workspace) == [broken]
    with pytest.raises(DamagedFolderError):
        runs.find(workspace, broken.id)


def test_a_folder_without_a_plan_is_no_run_and_is_laid_out_again(workspace, folder):
    folder.plan_path.unlink()
    assert runs.all(workspace) == []

    again = runs.create(workspace, PLAN, folder.id)

    assert again == folder and [run.id for run in runs.all(workspace)] == [folder.id]
    assert all(each.is_dir() for each in (folder.checkpoints, folder.best, folder.samples))


# ---- How it stands ----


def test_a_run_stands_as_its_job_does(workspace, folder, submitted):
    [busy] = [job for job in queue.jobs(workspace) if job.id == submitted.id]
    assert runs.find(workspace, folder.id).state == "running"
    other = runs.create(workspace, PLAN)
    submitting.submit_training(workspace, other)
    assert runs.find(workspace, other.id).state == "waiting"

    queue.stop(workspace, busy.id)
    assert runs.find(workspace, folder.id).state in ("stopping", "stopped")
    queue.stop(workspace, runs.find(workspace, other.id).job.id)
    list(busy.folder.follow(poll_seconds=0.05))

    assert runs.find(workspace, folder.id).state == "stopped"
    assert runs.find(workspace, folder.id).job.id == submitted.id


@pytest.mark.parametrize(
    ("cause", "state"),
    [
        ("stopped", "stopped"),
        ("interrupted", "interrupted"),
        ("gpu-memory", "failed"),
        ("bad-input", "failed"),
        ("bug", "failed"),
        ("finished", "interrupted"),
    ],
)
def test_a_run_that_ended_without_a_voice_says_how(workspace, folder, cause, state):
    ended(workspace, folder, cause)

    assert runs.find(workspace, folder.id).state == state


@pytest.mark.parametrize("cause", ["finished", "bug", "interrupted"])
def test_a_run_with_a_voice_is_finished_whatever_its_process_did_then(workspace, folder, cause):
    ended(workspace, folder, cause)
    trainee.finish(folder)

    assert runs.find(workspace, folder.id).state == "finished"


def test_a_run_that_was_never_queued_was_cut_off(workspace, folder):
    run = runs.find(workspace, folder.id)

    assert (run.state, run.job, run.step, run.total) == ("interrupted", None, 0, 0)


def test_the_newest_of_its_jobs_counts_also_one_that_did_more(workspace, folder):
    ended(workspace, folder, "bug")
    ended(workspace, folder, "stopped")

    assert runs.find(workspace, folder.id).state == "stopped"
    assert len(folder.job_ids()) == 2


def test_a_job_that_could_not_be_noted_any_more_is_still_its_job(workspace, folder, submitted):
    folder.jobs_path.unlink()

    assert runs.find(workspace, folder.id).job.id == submitted.id


def test_a_run_that_is_submitted_twice_is_one_job(workspace, folder, submitted):
    again = submitting.submit_training(workspace, folder)

    assert again.id == submitted.id and folder.job_ids() == [submitted.id]


def test_it_says_where_it_is_and_which_weights_are_the_best(workspace, folder):
    write_history(folder, *(step_event(step, 9) for step in range(1, 6)))
    trainee.keep_best(folder, 2, "An older one.")
    trainee.keep_best(folder, 4)
    trainee.keep_best(folder, 5)
    (folder.best / "best-000005" / "weights.safetensors").unlink()

    run = runs.find(workspace, folder.id)

    assert (run.step, run.total) == (5, 9)
    assert (run.best_step, run.why_best) == (4, "It sounds best.")


# ---- What it told ----


def test_a_step_done_again_after_a_resume_counts_once_and_as_it_was_done_last(folder):
    first = [step_event(step, 12, 1.0) for step in range(1, 11)]
    write_history(folder, *first, Measured(10, 1.0, {}), Saved(10, "a", 1, 1))
    again = [step_event(step, 12, 2.0) for step in range(8, 13)]
    write_history(folder, *again[:2], Saved(9, "b", 1, 1), again[2], Measured(10, 2.0, {}))
    write_history(folder, *again[3:])

    told = runs.history(folder)

    steps = [each for each in told if isinstance(each, Step)]
    assert [each.step for each in steps] == [*range(1, 13)]
    assert [each.loss for each in steps] == [1.0] * 7 + [2.0] * 5
    assert [each for each in told if isinstance(each, Measured)] == [Measured(10, 2.0, {})]
    assert [each.step for each in told] == sorted(each.step for each in told)
    assert {each.path for each in told if isinstance(each, Saved)} == {"a", "b"}


def test_every_sentence_of_a_step_counts(folder):
    samples = [Sampled(4, "Hello.", f"samples/step-000004/{n:02}.flac", 1.0) for n in range(3)]
    write_history(folder, *samples, samples[0])

    assert runs.history(folder) == samples


def test_a_torn_last_line_and_what_is_no_event_are_left_out(folder):
    write_history(folder, step_event(1, 9))
    with folder.history_path.open("a") as file:
        file.write('nonsense\n{"kind": "Step", "step": "two"}\n{"kind": "Mood"}\n[]\n')
        file.write('{"kind": "Saved", "step": 2, "path": "x", "mb": 1, "seconds": 1}')

    assert runs.history(folder) == [step_event(1, 9)]


def test_a_run_that_told_nothing_yet_has_no_history(folder):
    assert runs.history(folder) == []


def test_many_steps_are_read_in_little_more_than_the_time_to_parse_them(folder):
    line = json.dumps({
        "v": 1, "kind": "Step", "step": 0, "total": 100_000, "epoch": 1, "loss": 3.21,
        "parts": {"text": 0.03, "mel": 3.18}, "rate": 1e-5, "norm": 1.2, "clips_per_second": 33.3,
        "padding": 0.05, "memory_mb": {}, "seconds_left": 10.0,
        "ms": {"data": 1.2, "forward": 20.1, "backward": 30.2, "optimizer": 4.2},
    })  # fmt: skip
    lines = [line.replace(": 0,", f": {step},", 1) for step in range(10_000)]
    folder.history_path.write_text("\n".join(lines) + "\n")

    def seconds_of(act):
        began = time.process_time()
        act()
        return time.process_time() - began

    tries = [
        seconds_of(lambda: runs.history(folder)) / seconds_of(lambda: [*map(json.loads, lines)])
        for _ in range(3)
    ]

    assert len(runs.history(folder)) == 10_000
    # Parsing 100,000 takes 0.5 s on a quiet machine, which this one may not be.
    assert min(tries) < 2.5


def test_a_run_folder_that_was_moved_is_the_same_run(workspace, folder, tmp_path):
    shutil.move(folder.path, tmp_path / folder.id)

    assert runs.read_plan(RunFolder(tmp_path / folder.id).plan_path) == PLAN
