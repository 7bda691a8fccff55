"""System, as the page asks for it: what is not known is said so, and nothing holds a call up."""

from __future__ import annotations

import io
import json
import time
import zipfile
from dataclasses import replace

import pytest

from app import doctor
from app.doctor import Check
from app.places import system
from app.screen.calls import answer, bound
from app.screen.desk import Desk
from engines.errors import NotFoundError, SettingsError
from finetune import projects
from finetune.jobs import queue
from finetune.monitor.cards import Card, Gpus
from finetune.monitor.machine import Computer
from finetune.monitor.sampler import Reading, thinned
from tests.jobs_at_work import request
from tests.nvml.situations import LOST, told

LONGEST_CALL_MS = 100


COMPUTER = Computer(ram_mib=16384, ram_free_mib=4096)


class Told:
    """A sampler that has read what the test says."""

    def __init__(self):
        self.readings = []

    def read(self, *cards, at=1.0, computer=COMPUTER, **others):
        self.readings.append(Reading(at, Gpus(cards, **others), computer))

    def latest(self):
        return self.readings[-1] if self.readings else None

    def history(self, points):
        return thinned(self.readings, points)


@pytest.fixture
def sampler():
    return Told()


@pytest.fixture
def desk(workspace, sampler):
    return Desk(workspace, sampler, None)


@pytest.fixture
def ask(desk):
    """Ask as the page does: JSON in, JSON out."""

    def ask(name, **given):
        call = system.CALLS[name]
        given = json.loads(json.dumps(given))
        return json.loads(answer(call(desk, **bound(call, given))))["data"]

    return ask


def until(look, seconds=10):
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return found


# ---- GPUs and the computer ----


def test_what_a_driver_does_not_tell_is_nothing_and_never_0(ask, sampler):
    dark = Card(0, name="Odd")
    sampler.read(dark, computer=Computer())

    shown = ask("system")

    [card] = shown["cards"]
    unknown = {key for key, value in card.items() if value is None}
    assert unknown == {
        *("total_mib", "free_mib", "used_mib", "reserved_mib", "busy_percent", "temperature_c"),
        *("watts", "watts_limit", "clock_mhz", "memory_clock_mhz", "pcie_generation", "pcie_lanes"),
        *("received_mb_s", "sent_mb_s", "driver_model", "pcie_limit_mb_s", "shares"),
    }
    assert set(shown["computer"].values()) == {None}


def test_whose_the_memory_is_is_told_once_the_processes_are_known(ask, sampler, monkeypatch):
    monkeypatch.setattr(system, "_family", lambda root: (frozenset({7}), frozenset({8})))
    sampler.read(told(held_mib={7: 1000, 8: 300, 9: 200}))

    ask("system")
    shares = until(lambda: ask("system")["cards"][0]["shares"])

    assert shares == {"ours": 1000, "helpers": 300, "others": 200, "unknown": 548}


def test_a_lost_gpu_is_listed_with_its_reason_beside_the_others(ask, sampler):
    gone = Card(2, "GPU-2", "Old", problem="The GPU is gone.")
    sampler.read(told(), Card(1, problem=LOST), gone=(gone,))

    shown = ask("system")

    assert [card["problem"] for card in shown["cards"]] == ["", LOST]
    assert [card["problem"] for card in shown["gone"]] == ["The GPU is gone."]


def test_before_the_first_reading_nothing_is_claimed(ask):
    assert ask("system") == {"spills": []}
    assert ask("system.history") == {"cards": {}, "computer": {"ram": [], "cpu": []}}


def test_an_hour_is_told_in_few_points_that_keep_the_peak_and_the_gaps(ask, sampler):
    for second in range(3600):
        used = None if second % 2 else (9000 if second == 1000 else 2000)
        sampler.read(replace(told(), used_mib=used), at=float(second))

    line = ask("system.history")["cards"]["0"]["used"]

    assert len(line) <= 120 and line[0][0] < -3500 and line[-1] == [0, None]
    assert 9000 in [value for _, value in line]


def test_a_training_that_spills_is_said_with_what_to_do(ask, desk, monkeypatch):
    from finetune.spills import Spill, Spills

    said = Spill("x", "Train Ada", "The training spills over. Choose a smaller batch.")
    monkeypatch.setattr(Spills, "now", lambda self, jobs: [said])

    assert ask("system")["spills"] == [
        {
            "job": "x",
            "title": "Train Ada",
            "text": "The training spills over. Choose a smaller batch.",
        }
    ]


# ---- What takes the room ----


def test_the_room_is_measured_beside_the_page_and_freed_when_asked(ask, workspace):
    item = projects.create(workspace, "Anna")
    projects.shelf(workspace).trash(item.id)
    (workspace.cache / "one").write_bytes(b"x" * 1000)
    ask("system.disk")
    found = until(lambda: ask("system.disk")["found"])
    offered = {each["kind"]: each for each in found["freeable"]}
    assert offered["cache"]["bytes"] == 1000 and offered["project"]["name"] == "Anna"

    ask("system.free", kind="cache")
    ask("system.free", kind="project", id=item.id)

    def is_freed():
        now = ask("system.disk")
        return not now["busy"] and [each["bytes"] for each in now["found"]["freeable"]] == [0]

    until(is_freed)
    until(lambda: not [*workspace.projects.iterdir(), *workspace.cache.iterdir()])


def test_only_kinds_that_can_be_freed_are_taken(ask):
    for kind in ("job", "recordings", "", "../x"):
        with pytest.raises(SettingsError):
            ask("system.free", kind=kind, id="x")


# ---- Jobs ----


def test_a_job_is_told_with_its_command_its_first_cause_and_the_end_of_its_log(ask, workspace):
    job = queue.submit(workspace, request("die", "bug"))
    list(job.folder.follow(poll_seconds=0.02))

    shown = ask("system.job", job=job.id)

    assert shown["first_cause"].startswith("ZeroDivisionError")
    assert "tests.jobs_at_work" in shown["command"]
    assert "Traceback" in shown["log"] and shown["state"] == "ended" and shown["cause"] == "bug"
    assert [each["id"] for each in ask("system.jobs")] == [job.id]


def test_a_job_that_runs_shows_its_log_so_far(ask, workspace):
    job = queue.submit(workspace, request("count", 100_000, "0.01", "1000"))
    try:
        until(lambda: "xxx" in ask("system.job", job=job.id)["log"])
        shown = until(lambda: [each for each in ask("system.jobs") if each["share"]])
    finally:
        queue.stop(workspace, job.id)

    assert 0 < shown[0]["share"] < 1 and "of 100,000 steps" in shown[0]["line"]


def test_a_job_that_is_not_there_is_said(ask):
    with pytest.raises(NotFoundError):
        ask("system.job", job="nothing")


# ---- This computer ----


def test_this_computer_is_checked_beside_the_page(ask, monkeypatch):
    found = [Check("Disk", "problem", "1 GB free", "Free some.")]
    monkeypatch.setattr(doctor, "examine", lambda root, installed: iter(found))
    assert ask("system.checked") == {"busy": False, "at": None, "found": None, "problem": ""}

    ask("system.check")
    shown = until(lambda: ask("system.checked")["found"])

    assert shown == [
        {"name": "Disk", "verdict": "problem", "found": "1 GB free", "fix": "Free some."}
    ]


def test_the_archive_for_help_is_a_download_of_what_was_found(desk, sampler):
    sampler.read(told())

    given = system.FILES["system.diagnostics"](desk)

    assert (given.kind, given.download) == ("application/zip", "timbre-diagnostics.zip")
    with zipfile.ZipFile(io.BytesIO(given.content)) as archive:
        names = {check["name"] for check in json.loads(archive.read("doctor.json"))}
    assert {"Python", "Disk", "torch"} <= names


def test_what_timbre_is_and_where_it_keeps_things_is_told(ask, workspace, monkeypatch):
    monkeypatch.setenv("TIMBRE_OFFLINE", "1")

    shown = ask("system.about")

    assert shown["workspace"] == str(workspace.root) and shown["offline"] is True
    assert shown["version"].count(".") == 2


@pytest.mark.parametrize(
    "name",
    ["system", "system.history", "system.disk", "system.models", "system.jobs", "system.checked"],
)
def test_no_call_holds_the_page_up(ask, sampler, name):
    for second in range(3600):
        sampler.read(*(told(index) for index in range(4)), at=float(second))
    ask(name)

    took = []
    for _ in range(5):
        before = time.perf_counter()
        ask(name)
        took.append(time.perf_counter() - before)

    assert 1000 * min(took) < LONGEST_CALL_MS
