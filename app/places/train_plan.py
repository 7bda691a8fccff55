"""Train: what a training as wished for would take, and the command that does the same."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from typing import Any, Literal, TypedDict

import engines
from app.places import train_runs
from app.places.train_engines import computes_with
from app.screen import forms
from app.screen.calls import Call
from app.screen.desk import Desk
from engines.base import Engine
from engines.errors import SettingsError, StudioError
from finetune import beginning, projects, replanning
from finetune import submitting as jobs
from finetune.beginning import Owner
from finetune.forecasts import Card, ForecastWish
from finetune.jobs.queue import Job
from finetune.planning import Wished
from finetune.settings import TrainSettings
from voices.shelf import Item


class TrainWish(TypedDict, total=False):
    """A training as the page wishes for it; what is left out is as advised."""

    engine: str
    base: str
    name: str
    version: int | None
    continues: str
    transcriber: str
    mix: list[str]
    sentences: list[str]
    train: dict[str, Any]
    own: dict[str, Any]
    whose: str
    agreed: Literal["", "yes", "no"]
    gib: float | None
    capability: str


def plan(desk: Desk, project: str, wish: TrainWish, ask: bool = False) -> dict[str, Any]:
    """
    What a training as wished for would take, or the forecast that is being made.

    With `ask` a forecast is begun where none is there; what cannot be is said, not raised.
    """
    item = projects.shelf(desk.workspace).find(project)
    try:
        engine, wished, number = wished_in(desk, wish)
        made, version = beginning.planned(desk.workspace, item, engine, wished, number)
        forecast = ForecastWish(str(desk.workspace.root), made, _card(wish))
    except StudioError as error:
        return {"state": "refused", "problem": {"what": error.what, "fix": error.fix}}
    command = _command(item, engine, wish)
    found = _forecast(desk, item, engine, forecast, len(version.dataset.train), ask)
    on_gpu = forecast.card or (made.train.device != "cpu" and computes_with())
    return {**found, "on": "gpu" if on_gpu else "computer", "command": command}


def _forecast(
    desk: Desk, item: Item, engine: Engine, wish: ForecastWish, clips: int, ask: bool
) -> dict[str, Any]:
    """Told from what was measured with the rest left open; else by a forecast of just this."""
    train, is_estimate = wish.plan.train, wish.card is not None
    told: dict[str, Any] = {}
    for asked in (replanning.open_wish(wish), replanning.open_wish(wish, train)):
        job = replanning.newest(desk.workspace, asked)
        if job is None or not _is_good(job):
            return _under_way(desk, item, asked, job, ask)
        known = _known(desk, job, wish)
        if known and replanning.can_answer(known, train):
            told = replanning.answer(known, engine, train, clips)
            break
        told = replanning.as_reported(jobs.report_of(job), train)
    return {"state": "ready", "estimate": is_estimate, **told}


def _under_way(
    desk: Desk, item: Item, wish: ForecastWish, job: Job | None, ask: bool
) -> dict[str, Any]:
    """How the making of a forecast stands; with `ask` it is begun."""
    if ask and (job is None or job.state == "ended"):
        job = jobs.submit_forecast(desk.workspace, item, wish)
    if job is None or (job.outcome and job.outcome.cause == "stopped"):
        return {"state": "none"}
    if job.outcome:
        return {"state": "failed", "problem": {"what": job.outcome.what, "fix": job.outcome.fix}}
    return {"state": "working", "job": train_runs.job_line(job)}


_MOST_KNOWN = 100
_KNOWN: dict[str, replanning.Known | None] = {}


def _known(desk: Desk, job: Job, wish: ForecastWish) -> replanning.Known | None:
    """What a forecast measured, read once."""
    if len(_KNOWN) > _MOST_KNOWN:
        _KNOWN.clear()
    if job.id not in _KNOWN:
        _KNOWN[job.id] = replanning.known_of(job, wish.plan, desk.workspace.cache)
    return _KNOWN[job.id]


def _is_good(job: Job) -> bool:
    return job.outcome is not None and job.outcome.cause == "finished"


def _card(wish: TrainWish) -> Card | None:
    gib = wish.get("gib")
    if not gib:
        return None
    if not 1 <= gib <= 1024:
        raise SettingsError(f"A GPU of {gib:g} GiB is not known.", "Choose 1 to 1024.")
    major, _, minor = (wish.get("capability") or "8.6").partition(".")
    if not (major.isdecimal() and (minor or "0").isdecimal()):
        raise SettingsError(
            f"{major}.{minor} is no compute capability.",
            "Write it as 8.6; NVIDIA lists them by card.",
        )
    return Card(gib, (int(major), int(minor or 0)))


def wished_in(desk: Desk, wish: TrainWish) -> tuple[Engine, Wished, int | None]:
    """What the page sent of a training, checked."""
    engine = engines.find(wish.get("engine", ""))
    listener, folder = wish.get("transcriber", ""), jobs.models_folder(desk.workspace)
    found = Wished(
        base=wish.get("base", "").strip(),
        name=wish.get("name", "").strip(),
        sentences=tuple(wish.get("sentences", ())),
        transcriber=jobs.which_whisper(listener, folder) if listener else "",
        continues=wish.get("continues", ""),
        mix=tuple(wish.get("mix", ())),
        whose=wish.get("whose", "").strip(),
        agreed=Owner(agreed=wish.get("agreed", "")).agrees,
        train=forms.changed(TrainSettings(), wish.get("train", {})),
        engine_settings=asdict(forms.changed(engine.settings(), wish.get("own", {}))),
    )
    return engine, found, wish.get("version")


def _command(item: Item, engine: Engine, wish: TrainWish) -> str:
    """The same, to be typed."""
    typed = ["launch.py", "train", "--project", item.name, "--engine", engine.name]
    given = {
        "--base": wish.get("base"),
        "--version": wish.get("version"),
        "--name": wish.get("name"),
        "--from": wish.get("continues"),
        "--transcriber": wish.get("transcriber"),
        "--whose": wish.get("whose"),
    }
    for option, value in given.items():
        typed += [option, str(value)] if value else []
    typed += {"yes": ["--agreed"], "no": ["--not-agreed"]}.get(wish.get("agreed", ""), [])
    for other in wish.get("mix", ()):
        typed += ["--mix", other]
    for sentence in wish.get("sentences", ()):
        typed += ["--sentence", sentence]
    for name, value in {**wish.get("train", {}), **wish.get("own", {})}.items():
        typed += ["--set", f"{name}={value}"]
    return shlex.join(typed)


CALLS: dict[str, Call] = {"train.plan": plan}
