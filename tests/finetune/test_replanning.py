"""Other wishes are answered from what a forecast measured, exactly as the forecast itself would."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from types import MappingProxyType

import pytest

from finetune import forecasts, replanning
from finetune.fitting import choice, remembered
from finetune.fitting.budget import FRAGMENTED, of_card, of_computer
from finetune.fitting.choice import Candidate, Task, Way
from finetune.fitting.peaks import Held, Point
from finetune.fitting.remembered import Remembered
from finetune.fitting.report import option_facts, room_facts
from finetune.forecasts import Card, ForecastWish
from finetune.jobs.folder import JobFolder, Request
from finetune.jobs.outcome import Outcome
from finetune.jobs.queue import Job
from finetune.runs import Plan
from finetune.settings import TrainSettings
from finetune.wishes import REPORT
from tests.silent import Silent
from voices import files, names

GB = 10**9
PLAN = Plan("Ada", "p1", 1, "xtts", "/base", engine_settings={"lora_rank": 0, "dropout": 0.1})


class Engine(Silent):
    """An engine as far as a plan asks."""

    advised = MappingProxyType({"epochs": 10.0, "batch": 8, "learning_rate": 5e-6})


def measured(clip_gb, floor_gb=4.0, seconds=0.1, speaking=0):
    """What was measured of a training that takes so much for each clip of 200."""
    held = Held(GB, GB, 2 * GB)
    points = tuple(
        Point("model", stage, n, 200, int((floor_gb + n * clip_gb) * GB), seconds * n)
        for n in (1, 4)
        for stage in ("first", "more", "change")
    )
    return Remembered(held, points, 1.1, None, speaking)


def ended(workspace, report, wish=None):
    """A forecast that is over, with its report."""
    folder = JobFolder(workspace.jobs / names.new_id())
    told = workspace.root / f"{folder.id}.json"
    forecasts.write_wish(wish or ForecastWish("w", PLAN), told)
    request = Request("plan", "Plan Ada", ("python", "-m", "forecast", str(told)))
    folder.write_request(request)
    files.write_json(folder.path / REPORT, report)
    folder.write_outcome(Outcome("finished", "Done."))
    with workspace.store.change() as store:
        store.execute("INSERT INTO jobs VALUES (?, 1, '', '', 'ended', '', '')", (folder.id,))
    return Job(folder, request, "ended", folder.outcome(), "")


def kept(workspace, way, known, **facts):
    """Keep a measurement as a forecast does."""
    about = {"engine": "xtts", "settings": PLAN.engine_settings, **asdict(way), **facts}
    remembered.keep(workspace.cache / "fits", remembered.fingerprint(about), known, about)


def report_of(candidates, room, batch=8, estimate=False):
    task = Task(batch, 200, 150)
    chosen = choice.best_or_nearest(candidates, task, room)
    others = [e for e in choice.best_of_each(candidates, task, room) if e != chosen]
    return {
        "estimate": estimate, "devices": 1, "longest": 200, "typical": 150,
        "room": room_facts(room), "chosen": option_facts(chosen),
        "alternatives": [option_facts(each) for each in others], "reasons": ["So."],
    }  # fmt: skip


def candidate(way, known):
    return Candidate(way, known.fit, known.ceiling, known.speaking)


@pytest.mark.parametrize("batch", [1, 3, 8, 16, 40])
def test_another_batch_is_told_as_the_forecast_itself_would(workspace, batch):
    room = of_card(24 * GB, 20 * GB, context=int(0.4 * GB), fragmented=1.1)
    ways = {Way("bf16"): measured(0.9, speaking=GB), Way("bf16", True): measured(0.3, seconds=0.14)}
    for way, known in ways.items():
        kept(workspace, way, known)
    candidates = [candidate(way, known) for way, known in ways.items()]
    job = ended(workspace, report_of(candidates, room))

    known = replanning.known_of(job, PLAN, workspace.cache)
    told = replanning.answer(known, Engine(), TrainSettings(batch=batch), clips=100)

    wanted = option_facts(choice.best_or_nearest(candidates, Task(batch, 200, 150), room))
    assert told["chosen"].pop("taken_mb") == pytest.approx(wanted.pop("taken_mb"), abs=0.3)
    assert told["chosen"].pop("over_mb") == pytest.approx(wanted.pop("over_mb"), abs=0.3)
    assert told["chosen"] == wanted


def test_a_measurement_of_something_else_is_never_taken(workspace):
    room, way = of_computer(24 * GB, 20 * GB, GB), Way("bf16")
    known = measured(0.9)
    job = ended(workspace, report_of([candidate(way, known)], room))
    kept(workspace, way, measured(0.8))
    kept(workspace, way, known, engine="other")
    kept(workspace, way, known, settings={"dropout": 0.2})
    kept(workspace, replace(way, precision="fp32"), known)

    assert replanning.known_of(job, PLAN, workspace.cache) is None

    kept(workspace, way, known)
    assert replanning.known_of(job, PLAN, workspace.cache) is not None


def test_an_optimizer_of_8_bits_that_was_estimated_is_known_again(workspace):
    room = of_card(5 * GB, 5 * GB)
    known = replace(measured(0.2, 4.0), fragmented=FRAGMENTED)
    kept(workspace, Way("bf16"), known)
    light = Candidate(Way("bf16", optimizer="adamw_8bit"), known.fit.lighter(int(1.5 * GB)))
    told = report_of([candidate(Way("bf16"), known), light], room, estimate=True)

    found = replanning.known_of(ended(workspace, told), PLAN, workspace.cache)

    assert {each.way.optimizer for each in found.candidates} == {"adamw", "adamw_8bit"}
    answer = replanning.answer(found, Engine(), TrainSettings(), clips=100)
    assert answer["chosen"]["optimizer"] == "adamw_8bit" and answer["chosen"]["fits"]


def test_activations_can_only_be_told_as_they_were_measured(workspace):
    way, known = Way("bf16"), measured(0.5)
    kept(workspace, way, known)
    job = ended(workspace, report_of([candidate(way, known)], of_card(24 * GB, 20 * GB)))

    found = replanning.known_of(job, PLAN, workspace.cache)

    assert replanning.can_answer(found, TrainSettings())
    assert replanning.can_answer(found, TrainSettings(recompute="no"))
    assert not replanning.can_answer(found, TrainSettings(recompute="yes"))


def test_what_does_not_change_the_measurement_asks_for_the_same_forecast(workspace):
    wish = ForecastWish("w", PLAN)
    longer = replace(PLAN, name="Other", whose="Ada", train=TrainSettings(epochs=9, batch=4))
    job = ended(workspace, {}, replanning.open_wish(wish))

    same = replanning.open_wish(replace(wish, plan=longer))
    others = [
        replace(wish, card=Card(12.0)),
        replace(wish, plan=replace(PLAN, train=TrainSettings(precision="fp32"))),
        replace(wish, plan=replace(PLAN, version=2)),
        replace(wish, plan=replace(PLAN, engine_settings={"lora_rank": 8, "dropout": 0.1})),
    ]

    assert replanning.newest(workspace, same).id == job.id
    assert [replanning.newest(workspace, replanning.open_wish(each)) for each in others] == [
        None
    ] * 4


def test_a_hundred_moves_of_a_slider_take_no_time(workspace):
    way, known = Way("bf16"), measured(0.5)
    kept(workspace, way, known)
    job = ended(workspace, report_of([candidate(way, known)], of_card(24 * GB, 20 * GB)))
    found = replanning.known_of(job, PLAN, workspace.cache)

    begun = time.perf_counter()
    for batch in range(1, 101):
        replanning.answer(found, Engine(), TrainSettings(batch=batch), clips=100)

    assert (time.perf_counter() - begun) / 100 < 0.05
