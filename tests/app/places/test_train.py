"""What the page asks of Train, with an engine that learns in no time and forecasts that are made up."""

from __future__ import annotations

import json
import shutil
import sys
import time
from dataclasses import asdict

import pytest
import soundfile

import engines
from app import places
from app.screen.calls import answer, bound
from app.screen.desk import Desk
from engines.errors import JobError, NameProblem, NotFoundError, SettingsError
from finetune import beginning, forecasts, gpu, projects, replanning, runs, submitting
from finetune.fitting import choice, remembered
from finetune.fitting.budget import of_card
from finetune.fitting.choice import Candidate, Task, Way
from finetune.fitting.peaks import Held, Point
from finetune.fitting.remembered import Remembered
from finetune.fitting.report import option_facts, room_facts
from finetune.forecasts import ForecastWish
from finetune.jobs import queue
from finetune.jobs.events import Chosen, Measured, Planned, Said, Sampled
from finetune.jobs.folder import JobFolder, Request
from finetune.jobs.outcome import Outcome
from finetune.monitor.machine import Machine
from finetune.monitor.sampler import Sampler
from finetune.planning import Wished
from finetune.runs import Plan
from finetune.wishes import REPORT
from tests import trainee
from tests.trainee import base_in, step_event, write_history
from voices import files, names

SLOW = {"steps": 2000, "pause_ms": 20}
GB = 10**9


@pytest.fixture(autouse=True)
def stand_in(monkeypatch):
    """The trainee in place of every engine, its training in place of the loop."""
    monkeypatch.setattr(engines, "ENGINES", {"trainee": "tests.trainee"})
    python = (sys.executable, "-m", "tests.trainee")
    monkeypatch.setattr(submitting, "training_argv", lambda run: (*python, "train", str(run.path)))


@pytest.fixture
def desk(workspace):
    return Desk(workspace, Sampler(gpu.DRIVER, Machine(workspace.root)), None)


@pytest.fixture
def ask(desk):
    """Ask as the page does: through the checks, and as JSON."""

    def ask(name, /, **given):
        call = places.CALLS[name]
        return json.loads(answer(call(desk, **bound(call, given))))["data"]

    return ask


@pytest.fixture
def ada(workspace, tmp_path):
    """A project with a dataset, and a base in place of a download."""
    base_in(tmp_path / "base")
    item = projects.create(workspace, "Ada")
    with projects.open_project(projects.folder_of(workspace, item)) as project:
        trainee.freeze(project, (2.0, 3.0, 4.0, 3.0))
    return item.id


@pytest.fixture
def wish(tmp_path):
    return {"engine": "trainee", "base": str(tmp_path / "base")}


def ended(workspace, run):
    job = runs.find(workspace, run).job
    list(job.folder.follow(0.05, lambda: queue.advance(workspace)))
    return runs.find(workspace, run)


def failed(workspace, ask, ada, wish, cause):
    """A run whose job ended for that cause."""
    begun = ask("train.start", project=ada, wish={**wish, "own": {"steps": 1}})
    run = ended(workspace, begun["run"])
    shutil.rmtree(run.folder.voice)
    run.job.folder.write_outcome(Outcome(cause, "So it ended.", "Do that."))
    return runs.find(workspace, run.id)


# ---- Before a training ----


def test_a_project_shows_its_dataset_and_the_name_of_the_next_run(ask, ada):
    shown = ask("train", project=ada)

    [version] = shown["versions"]
    assert (version["clips"], version["checked"], version["seconds"]) == (4, 1, 12.0)
    assert shown["name"] == "Ada" and shown["runs"] == []
    assert shown["sentences"][0] == "Good morning, everyone!"


def test_an_engine_is_told_with_its_licence_and_whether_its_base_is_here(ask, ada):
    [engine] = ask("train.engines", project=ada)["engines"]

    assert engine["problem"] is None and engine["languages"]
    first, second = engine["bases"]
    assert first["licence"] == "Learner's Licence" and not first["here"]
    assert first["download_mb"] == 12 and second["download_mb"] == 0
    assert {each["name"] for each in engine["fields"]} >= {"steps", "lora_rank"}


def test_an_engine_that_does_not_fit_the_dataset_says_why(ask, workspace, ada):
    item = projects.shelf(workspace).find(ada)
    with projects.open_project(projects.folder_of(workspace, item)) as project:
        trainee.freeze(project, (2.0, 11.5, 3.0))

    [engine] = ask("train.engines", project=ada)["engines"]

    assert "11.5 s" in engine["problem"]["what"]


def test_a_base_is_not_downloaded_before_its_licence_is_agreed_to(ask, ada):
    with pytest.raises(SettingsError, match="Learner's Licence"):
        ask("train.download", base="trainee", agreed=False)


def test_whose_voice_it_is_is_kept_for_the_project_and_given_to_the_run(ask, workspace, ada, wish):
    owner = {"whose": "Ada Lovelace", "agreed": "yes"}
    ask("train.owner", project=ada, **owner)
    assert ask("train", project=ada)["owner"] == owner

    begun = ask("train.start", project=ada, wish={**wish, **owner})

    plan = ended(workspace, begun["run"]).plan
    assert (plan.whose, plan.agreed) == ("Ada Lovelace", True)


@pytest.mark.parametrize(
    "wrong",
    [
        {"gib": "much"},
        {"gib": [1]},
        {"version": "newest"},
        {"train": [1]},
        {"own": "x"},
        {"mix": "Bea"},
        {"agreed": "perhaps"},
        {"devices": {}},
    ],
)
@pytest.mark.parametrize("name", ["train.plan", "train.start"])
def test_a_wish_that_no_page_sends_is_refused_in_words(ask, ada, wish, name, wrong):
    with pytest.raises(SettingsError, match="wish cannot be"):
        ask(name, project=ada, wish={**wish, **wrong})


def test_what_cannot_be_planned_is_said_in_place_of_the_plan(ask, ada, wish):
    told = ask("train.plan", project=ada, wish={"engine": "trainee"})

    assert told["state"] == "refused" and "is not on this computer" in told["problem"]["what"]
    with pytest.raises(SettingsError, match="no setting 'batsch'"):
        ask("train.start", project=ada, wish={**wish, "train": {"batsch": 3}})


# ---- Plans ----

HELD = Held(GB, GB, 2 * GB)
POINTS = tuple(
    Point("model", stage, clips, length, 4 * GB + clips * length * GB // 400, 0.1 * clips)
    for clips in (1, 4)
    for length in (100, 200)
    for stage in ("first", "more", "change")
)


def forecast(workspace, ada, wish, room=None):
    """Let a forecast of a wish have been made, as its job does it."""
    item = projects.shelf(workspace).find(ada)
    own = asdict(trainee.ENGINE.settings())
    wished = Wished(base=wish["base"], engine_settings=own)
    plan, _ = beginning.planned(workspace, item, trainee.ENGINE, wished)
    asked = replanning.open_wish(ForecastWish(str(workspace.root), plan))
    room = room or of_card(12 * GB, 11 * GB, context=0, fragmented=1.0)
    known, way = Remembered(HELD, POINTS, 1.0), Way("bf16")
    facts = {"engine": "trainee", "settings": plan.engine_settings, "optimizer": "adamw"}
    facts |= {"precision": "bf16", "recompute": False, "lora_rank": 0}
    remembered.keep(workspace.cache / "fits", "f", known, facts)
    candidate, task = Candidate(way, known.fit), Task(2, 200, 150)
    chosen = choice.best_or_nearest([candidate], task, room)
    told = workspace.root / "wish.json"
    forecasts.write_wish(asked, told)
    job = JobFolder(workspace.jobs / names.new_id())
    job.write_request(Request("plan", "Plan Ada", ("python", "-m", "forecast", str(told))))
    job.write_outcome(Outcome("finished", "Done."))
    with workspace.store.change() as store:
        store.execute("INSERT INTO jobs VALUES (?, 1, '', '', 'ended', '', '')", (job.id,))
    report = {
        "engine": "trainee", "estimate": False, "fits": chosen.fits, "batch": 2, "devices": 1,
        "longest": 200, "typical": 150, "room": room_facts(room), "alternatives": [],
        "chosen": option_facts(chosen), "reasons": ["So."], "steps": 2, "epochs": 1,
        "seconds": 9.0, "learning_rate": 1e-5, "rates": [],
    }  # fmt: skip
    files.write_json(job.path / REPORT, report)
    return report


@pytest.fixture
def advised(monkeypatch):
    monkeypatch.setattr(
        trainee.Trainee, "advised", {"epochs": 1.0, "batch": 8, "learning_rate": 1e-5}
    )


def test_a_slider_is_answered_at_once_from_what_a_forecast_measured(
    ask, workspace, ada, wish, advised
):
    forecast(workspace, ada, wish)
    ask("train.plan", project=ada, wish=wish)

    took = []
    for _ in range(5):
        begun = time.perf_counter()
        told = ask("train.plan", project=ada, wish={**wish, "train": {"batch": 16}})
        took.append(time.perf_counter() - begun)

    assert told["state"] == "ready" and told["at_once"] and told["batch"] == 16
    # 4 GB lie there, 0.5 GB each clip of the longest; 0.5 GiB and 4 % of the card are left.
    by_size = {each["micro_batch"]: each for each in told["options"]}
    assert by_size[16]["taken_mb"] == pytest.approx(12_000, rel=0.01)
    assert by_size[16]["over_mb"] == pytest.approx(12_000 - told["room"]["budget_mb"], abs=60)
    assert not by_size[16]["fits"] and by_size[8]["fits"]
    assert told["chosen"]["fits"]
    assert sum(told["parts_mb"].values()) == pytest.approx(told["chosen"]["taken_mb"], abs=0.5)
    assert any("clips at once" in each for each in told["reasons"])
    assert min(took) < 0.1


def test_clips_at_once_that_a_person_chose_are_told_even_when_they_do_not_fit(
    ask, workspace, ada, wish, advised
):
    forecast(workspace, ada, wish)

    told = ask("train.plan", project=ada, wish={**wish, "train": {"batch": 16, "micro_batch": 16}})

    assert told["chosen"]["micro_batch"] == 16 and told["chosen"]["over_mb"] > 1000


def test_what_a_forecast_did_not_measure_is_asked_for_anew(ask, workspace, ada, wish, advised):
    forecast(workspace, ada, wish)

    other = {**wish, "train": {"precision": "fp32"}}
    assert ask("train.plan", project=ada, wish=other)["state"] == "none"
    again = {**wish, "train": {"recompute": "yes"}}
    assert ask("train.plan", project=ada, wish=again)["state"] == "none"
    asked = ask("train.plan", project=ada, wish=other, ask=True)

    assert asked["state"] == "working"
    queue.stop(workspace, asked["job"]["id"])


def test_measurements_that_are_gone_leave_what_the_forecast_told(
    ask, workspace, ada, wish, advised
):
    report = forecast(workspace, ada, wish)
    (workspace.cache / "fits" / "f.json").unlink()

    told = ask("train.plan", project=ada, wish=wish)

    assert told["state"] == "ready" and not told["at_once"]
    assert told["chosen"] == report["chosen"] and told["reasons"] == ["So."]


def test_another_project_is_learned_from_too(ask, workspace, ada, wish):
    other = projects.create(workspace, "Bea")
    with projects.open_project(projects.folder_of(workspace, other)) as project:
        trainee.freeze(project)
    assert ask("train", project=ada)["others"] == ["Bea"]

    begun = ask("train.start", project=ada, wish={**wish, "mix": ["Bea"]})

    assert ended(workspace, begun["run"]).plan.extra == ((other.id, 1),)


def test_the_next_run_starts_from_the_best_of_another(ask, workspace, ada, wish):
    first = ask("train.start", project=ada, wish=wish)["run"]
    ended(workspace, first)

    after = {"engine": "trainee", "continues": first}
    begun = ask("train.start", project=ada, wish=after)
    ended(workspace, begun["run"])

    told = ask("train.run", run=begun["run"])
    assert told["continues"] == "Ada" and told["name"] == "Ada 2"


def test_the_command_does_the_same_as_the_button(ask, ada, wish):
    own = {**wish, "name": "Ada two", "whose": "Ada", "agreed": "no", "own": {"steps": 5}}

    told = ask("train.plan", project=ada, wish={**own, "train": {"batch": 4}})

    assert told["command"].startswith("launch.py train --project Ada --engine trainee --base ")
    assert "--name 'Ada two' --whose Ada --not-agreed" in told["command"]
    assert told["command"].endswith("--set batch=4 --set steps=5")


# ---- A training ----


def test_a_training_is_begun_and_told_to_its_end(ask, workspace, ada, wish):
    begun = ask("train.start", project=ada, wish=wish)
    ended(workspace, begun["run"])

    told = ask("train.run", run=begun["run"])

    assert told["name"] == "Ada" and told["state"] == "finished" and told["voice"]
    assert [point[0] for point in told["curve"]] == [1, 2, 3]
    [sentence] = told["samples"]
    assert sentence["text"] == "Hello." and sentence["heard"][0]["similarity"] == 0.8
    assert told["best"] == {"step": 3, "why": "Best so far: sounds most like the voice (0.80)."}
    assert told["ways"] == ["speak", "continue"] and "tests.trainee" in told["command"]


def test_a_name_that_a_run_has_is_refused_and_nothing_is_begun(ask, workspace, ada, wish):
    ask("train.start", project=ada, wish={**wish, "name": "Hers"})

    with pytest.raises(NameProblem):
        ask("train.start", project=ada, wish={**wish, "name": "hers"})

    assert len(ask("train", project=ada)["runs"]) == 1


def test_a_training_is_asked_stopped_and_resumed_by_what_it_offers(ask, workspace, ada, wish):
    run = ask("train.start", project=ada, wish={**wish, "own": SLOW})["run"]
    deadline = time.monotonic() + 20
    while not ask("train.run", run=run)["curve"] and time.monotonic() < deadline:
        time.sleep(0.05)
    assert ask("train.run", run=run)["ways"] == ["stop", "sample", "save"]

    ask("train.ask", run=run, what="sample")
    while not ask("train.run", run=run)["checks"] and time.monotonic() < deadline:
        time.sleep(0.05)
    ask("train.stop", run=run)
    ended(workspace, run)
    stopped = ask("train.run", run=run)
    ask("train.resume", run=run)
    again = ask("train.run", run=run)

    assert stopped["checks"] and stopped["ways"] == ["resume"]
    assert stopped["ended"]["cause"] == "stopped"
    assert again["state"] in ("running", "waiting") and len(again["curve"]) >= len(stopped["curve"])
    with pytest.raises(JobError):
        ask("train.resume", run=run)
    ask("train.stop", run=run)
    ended(workspace, run)


def test_a_run_that_ran_out_of_memory_goes_on_with_fewer_clips_at_once(ask, workspace, ada, wish):
    run = failed(workspace, ask, ada, wish, "gpu-memory")
    write_history(run.folder, Planned(0, 6, 1, False, "bf16", {}, 1.0, 1.0, None, []))

    told = ask("train.run", run=run.id)
    ask("train.resume", run=run.id, lighter=True)

    assert told["ways"][:2] == ["lighter", "resume"] and told["smaller"] == 3
    assert runs.find(workspace, run.id).plan.train.micro_batch == 3
    ended(workspace, run.id)


def test_a_training_that_could_not_learn_leads_to_another_with_a_lower_rate(
    ask, workspace, ada, wish, advised
):
    wish = {**wish, "train": {"batch": 1, "learning_rate": 1.0}, "own": {"steps": 1}}
    begun = ask("train.start", project=ada, wish={**wish, "own": {"steps": 1, "mood": "glad"}})
    run = ended(workspace, begun["run"])
    shutil.rmtree(run.folder.voice)
    shutil.rmtree(run.folder.best)
    shutil.rmtree(run.folder.checkpoints)
    what, fix = "3 steps could not be learned from.", "Begin again."
    said = f"engines.errors.UnlearnableError: {what} {fix}"
    run.job.folder.write_outcome(Outcome("not-learning", what, fix, said))

    told = ask("train.run", run=run.id)
    again = ask("train.plan", project=ada, wish=told["wish"])

    assert told["ways"] == ["anew"] and told["words"] == "could not learn"
    assert told["wish"]["train"] == {"batch": 1}  # the rate is as advised
    assert told["wish"]["own"] == {"steps": 1, "mood": "glad"} and told["wish"]["base"]
    assert again["state"] == "none"  # it can be planned
    assert told["ended"]["what"] == what and told["ended"]["first_cause"] == ""


def test_a_rate_that_was_low_and_broke_all_the_same_is_halved(ask, workspace, ada, wish, advised):
    wish = {**wish, "train": {"learning_rate": 8e-6}}
    run = failed(workspace, ask, ada, wish, "not-learning")

    assert ask("train.run", run=run.id)["wish"]["train"] == {"learning_rate": 4e-6}


def test_what_could_not_learn_goes_on_only_from_a_checkpoint_and_then_not_first(
    ask, workspace, ada, wish
):
    run = failed(workspace, ask, ada, wish, "not-learning")
    shutil.rmtree(run.folder.checkpoints)
    run.folder.checkpoints.mkdir()
    without = ask("train.run", run=run.id)["ways"]
    with files.new_folder(run.folder.checkpoints / "step-000007"):
        pass

    assert ask("train.run", run=run.id)["ways"][:2] == ["anew", "resume"]
    assert without[0] == "anew" and "resume" not in without


def test_an_error_that_is_another_than_what_is_said_is_shown_as_the_first(
    ask, workspace, ada, wish
):
    run = failed(workspace, ask, ada, wish, "gpu-memory")
    said = "OutOfMemoryError: CUDA out of memory."
    run.job.folder.write_outcome(Outcome("gpu-memory", "It was not enough.", "Less.", said))

    assert ask("train.run", run=run.id)["ended"]["first_cause"] == said


def test_a_full_disk_leads_to_where_room_is_made(ask, workspace, ada, wish):
    run = failed(workspace, ask, ada, wish, "disk-full")

    told = ask("train.run", run=run.id)

    assert told["state"] == "failed" and told["ways"][0] == "disk"
    assert told["ended"]["what"] == "So it ended." and told["ended"]["fix"] == "Do that."


def test_a_training_that_waits_says_its_place_and_can_be_moved(ask, workspace, ada, wish):
    first, second, third = (
        ask("train.start", project=ada, wish={**wish, "own": SLOW})["run"] for _ in range(3)
    )
    places_of = {each["id"]: each["place"] for each in ask("train", project=ada)["runs"]}
    ask("train.move", run=third, direction="up")
    moved = {each["id"]: each["place"] for each in ask("train", project=ada)["runs"]}

    assert (places_of[first], places_of[second], places_of[third]) == (None, 1, 2)
    assert (moved[second], moved[third]) == (2, 1)
    for run in (second, third, first):
        ask("train.stop", run=run)
    ended(workspace, first)


# ---- The list ----


def test_a_run_is_renamed_put_away_and_taken_back(ask, workspace, ada, wish):
    run = ask("train.start", project=ada, wish=wish)["run"]
    ended(workspace, run)

    ask("train.rename", run=run, name="Countess")
    assert ask("train", project=ada)["runs"][0]["name"] == "Countess"
    ask("train.trash", run=run)
    away = ask("train", project=ada)
    ask("train.restore", run=run)

    assert away["runs"] == [] and away["trashed"] == [{"id": run, "name": "Countess"}]
    assert ask("train", project=ada)["runs"][0]["name"] == "Countess"


def test_the_log_is_what_it_said_and_the_end_of_what_was_printed(ask, workspace, ada, wish):
    run = ask("train.start", project=ada, wish=wish)["run"]
    found = ended(workspace, run)
    write_history(found.folder, Said("Pocket is loaded."))
    found.job.folder.log_path.write_text("a warning of torch\n")

    told = ask("train.log", run=run)

    assert told["said"][-1] == "Pocket is loaded."
    assert told["log"] == "a warning of torch"


def test_runs_are_compared_by_curves_settings_and_best(ask, workspace, ada, wish):
    one = ask("train.start", project=ada, wish=wish)["run"]
    other = ask("train.start", project=ada, wish={**wish, "own": {"mood": "glad"}})["run"]
    for run in (one, other):
        ended(workspace, run)
    write_history(runs.find(workspace, other).folder, Measured(3, 0.25, {}))

    told = ask("train.compare", run=[one, other])

    assert told["differ"] == {"mood": ["calm", "glad"]}
    assert [len(each["curve"]) for each in told["runs"]] == [3, 3]
    assert told["runs"][1]["best"]["check_loss"] == 0.25


def test_a_setting_left_as_at_first_is_no_difference_from_the_same_said(ask, workspace, ada):
    given = [{}, {"mood": "calm"}, {"gone": 1}]
    left, said, other = (
        runs.create(workspace, Plan(name, ada, 1, "trainee", "/base", engine_settings=settings)).id
        for name, settings in zip("abc", given, strict=True)
    )

    assert ask("train.compare", run=[left, said])["differ"] == {}
    assert ask("train.compare", run=[left, other])["differ"]["gone"] == [None, 1]


def test_what_was_left_open_is_told_and_compared_as_it_was_settled(ask, workspace, ada, wish):
    one, other = (ask("train.start", project=ada, wish=wish)["run"] for _ in range(2))
    reason = "Batch 4: with 16 clips, more would be too few steps."
    for run, batch in ((one, 4), (other, 2)):
        write_history(ended(workspace, run).folder, Chosen(0, {"batch": batch}, [reason]))

    assert ask("train.compare", run=[one, other])["differ"]["batch"] == [4, 2]
    assert ask("train.run", run=one)["chosen"] == [reason]


# ---- Sounds ----


def test_a_sample_is_played_and_no_other_file(ask, desk, workspace, ada, wish):
    run = ask("train.start", project=ada, wish=wish)["run"]
    folder = ended(workspace, run).folder
    with files.new_folder(folder.samples / "step-000003") as new:
        soundfile.write(new / "00.flac", [0.0, 0.5], 16000)
    write_history(folder, Sampled(3, "Hello.", "samples/step-000003/00.flac", 1.0))

    served = places.FILES["train.sample"](desk, run, 3, "00.flac")

    assert soundfile.info(served.content).frames == 2 and served.kind == "audio/flac"
    for file in ("../../run.json", "01.flac", "samples.json"):
        with pytest.raises(NotFoundError):
            places.FILES["train.sample"](desk, run, 3, file)


def test_a_damaged_line_costs_no_other_point(ask, workspace, ada, wish):
    run = ask("train.start", project=ada, wish=wish)["run"]
    folder = ended(workspace, run).folder
    before = ask("train.run", run=run)["curve"]
    with folder.history_path.open("a") as file:
        file.write('{"kind": "Step", "st\n')
    write_history(folder, step_event(4, 4, 0.5))

    assert ask("train.run", run=run)["curve"] == [*before, [4, 0.5, 1e-05]]
