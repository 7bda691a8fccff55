"""System: GPUs and the computer, what takes the room, downloads, jobs, checks, settings."""

from __future__ import annotations

import platform
import threading
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from app import ROOT, diagnostics, doctor, monitor_commands, views
from app.doctor import Check
from app.screen.calls import Call
from app.screen.desk import Desk
from app.screen.served import Served
from app.setup.environment import read_stamp
from app.version import timbre_version
from finetune import fetching, https, room
from finetune.jobs import process, queue
from finetune.looking import Looked, Looking
from finetune.monitor.cards import Card, pcie_limit_mb_s
from finetune.monitor.sampler import Reading
from finetune.monitor.whose import shares
from finetune.room import Freed, Room
from finetune.spills import Spills
from voices.workspace import Workspace

# To look for the processes of jobs takes longer than to read the GPUs.
_FAMILY_SECONDS = 5.0
_POINTS = 120
_LOG_LINES = 200
_KEPT_OF_A_CARD = (
    *("index", "name", "total_mib", "free_mib", "used_mib", "reserved_mib", "busy_percent"),
    *("temperature_c", "watts", "watts_limit", "clock_mhz", "memory_clock_mhz"),
    *("pcie_generation", "pcie_lanes", "received_mb_s", "sent_mb_s"),
    *("driver_model", "shares_memory", "problem", "notes"),
)

Family = tuple[frozenset[int], frozenset[int]]
"""The processes of our jobs; those of the studio and its speaker."""
Point = tuple[int, float | None]


class _Background:
    """What is found out beside the page, for one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.family: Looking[Family] = Looking(lambda: _family(workspace.root), "processes")
        self.room: Looking[Room] = Looking(lambda: room.measure(workspace), "room")
        self.checks: Looking[list[Check]] = Looking(lambda: _examined(workspace), "checks")
        self.spills = Spills()


@cache
def _at(root: Path) -> list[_Background]:
    return []


def _background(desk: Desk) -> _Background:
    """That of the open workspace; another desk over the same folder has another store."""
    kept = _at(desk.workspace.root)
    if not kept or kept[0].workspace is not desk.workspace:
        kept[:] = [_Background(desk.workspace)]
    return kept[0]


def _family(root: Path) -> Family:
    own = process.descendants(process.this())
    return frozenset(monitor_commands.our_pids(root)), frozenset(each.pid for each in own)


def _examined(workspace: Workspace) -> list[Check]:
    return list(doctor.examine(workspace.root, ROOT))


# ---- GPUs and the computer ----


def dashboard(desk: Desk) -> dict[str, Any]:
    """The newest reading, whose the memory is, and trainings whose memory spills over."""
    behind = _background(desk)
    behind.family.refresh(_FAMILY_SECONDS)
    reading = desk.sampler.latest()
    spills = behind.spills.now(queue.jobs(desk.workspace, ended=0))
    return {"spills": spills, **(_reading(reading, behind.family.known().found) if reading else {})}


def _reading(reading: Reading, family: Family | None) -> dict[str, Any]:
    cards = (*reading.gpus.cards, *reading.computer.cards)
    computer = asdict(reading.computer)
    del computer["cards"]
    return {
        "at": reading.at,
        "cards": [_card(card, family) for card in cards],
        "gone": [_card(card, None) for card in reading.gpus.gone],
        "problem": reading.gpus.problem,
        "driver": reading.gpus.driver,
        "cuda": reading.gpus.cuda,
        "computer": computer,
    }


def _card(card: Card, family: Family | None) -> dict[str, Any]:
    """One GPU; what is not known is None. Whose its memory is waits for the first look."""
    told = shares(card, *family) if family else None
    return {
        **{name: getattr(card, name) for name in _KEPT_OF_A_CARD},
        "pcie_limit_mb_s": pcie_limit_mb_s(card),
        "shares": asdict(told) if told else None,
    }


def history(desk: Desk) -> dict[str, Any]:
    """The last hour as lines: seconds before the newest reading, and the value there."""
    readings = desk.sampler.history(_POINTS)
    newest = readings[-1].at if readings else 0.0
    lines: dict[str, dict[str, list[Point]]] = {}
    for reading in readings:
        at = round(reading.at - newest)
        for card in (*reading.gpus.cards, *reading.computer.cards):
            line = lines.setdefault(str(card.index), {"used": [], "busy": []})
            line["used"].append((at, card.used_mib))
            line["busy"].append((at, card.busy_percent))
    return {"cards": lines, "computer": _computer_lines(readings, newest)}


def _computer_lines(readings: list[Reading], newest: float) -> dict[str, list[Point]]:
    told = [(round(each.at - newest), each.computer) for each in readings]
    return {
        "ram": [(at, _used(one.ram_mib, one.ram_free_mib)) for at, one in told],
        "cpu": [(at, one.cpu_percent) for at, one in told],
    }


def _used(total: int | None, left: int | None) -> int | None:
    return None if total is None or left is None else total - left


# ---- What takes the room ----


def disk(desk: Desk) -> dict[str, Any]:
    """What was measured; the first who asks lets it be measured."""
    looking = _background(desk).room
    looking.refresh(float("inf"))
    return _looked(looking.known())


def measure(desk: Desk) -> None:
    """Measure again."""
    _background(desk).room.begin()


def free(desk: Desk, kind: Freed, id: str = "") -> None:
    """Delete something for which somebody agreed; it is gone at once, the room comes after it."""
    aside = room.set_aside(desk.workspace, kind, id)
    behind = _background(desk)

    def delete() -> None:
        try:
            room.delete(aside)
        finally:
            behind.room.begin()

    threading.Thread(target=delete, name="delete", daemon=True).start()


# ---- Downloads ----


def models(desk: Desk) -> dict[str, Any]:
    """What can be downloaded and what is here."""
    return {"offline": https.is_offline(), "models": list(fetching.offers(desk.workspace))}


def download(desk: Desk, name: str, agreed: bool = False) -> dict[str, str]:
    return {"job": fetching.submit(desk.workspace, name, agreed).id}


# ---- Jobs ----


def jobs(desk: Desk) -> list[dict[str, Any]]:
    """All jobs: those at work, those that wait, then those that ended."""
    return [_job(each) for each in queue.jobs(desk.workspace)]


def job(desk: Desk, job: str) -> dict[str, Any]:
    """One job: its first cause, the command, the end of its log."""
    found = queue.find(desk.workspace, job)
    outcome = found.outcome
    log = outcome.log if outcome and outcome.log else found.folder.log_tail().splitlines()
    return {
        **_job(found),
        "first_cause": outcome.first_cause if outcome else "",
        "command": found.folder.command(),
        "folder": str(found.folder.path),
        "log": "\n".join(log[-_LOG_LINES:]),
    }


def _job(found: queue.Job) -> dict[str, Any]:
    told = found.progress() if found.state != "ended" else None
    return {
        "id": found.id,
        "title": found.request.title,
        "kind": found.request.kind,
        "state": found.state,
        "cause": found.cause,
        "words": views.state(found),
        "line": views.how_far(found),
        "share": told.done / told.total if told and told.total else None,
        "queued_at": found.queued_at,
    }


# ---- This computer, and Timbre itself ----


def check(desk: Desk) -> None:
    """Look at this computer, in a thread."""
    _background(desk).checks.begin()


def checked(desk: Desk) -> dict[str, Any]:
    """What was found, once it was looked for."""
    return _looked(_background(desk).checks.known())


def _looked(known: Looked[Any]) -> dict[str, Any]:
    at = None if known.at is None else known.at * 1000
    return {"busy": known.busy, "at": at, "found": known.found, "problem": known.problem}


def about(desk: Desk) -> dict[str, Any]:
    stamp = read_stamp(ROOT)
    return {
        "version": timbre_version(),
        "workspace": str(desk.workspace.root),
        "offline": https.is_offline(),
        "python": platform.python_version(),
        "system": platform.platform(terse=True),
        "torch": stamp.torch.version if stamp else None,
        "cuda": stamp.torch.cuda if stamp else None,
    }


def packed(desk: Desk) -> Served:
    """What helps to find a fault, without anything private."""
    known = _background(desk).checks.known().found
    checks = known if known is not None else _examined(desk.workspace)
    content = diagnostics.pack(desk.workspace, checks, desk.sampler.latest())
    return Served(content, "application/zip", diagnostics.NAME)


CALLS: dict[str, Call] = {
    "system": dashboard,
    "system.history": history,
    "system.disk": disk,
    "system.measure": measure,
    "system.free": free,
    "system.models": models,
    "system.download": download,
    "system.jobs": jobs,
    "system.job": job,
    "system.check": check,
    "system.checked": checked,
    "system.about": about,
}
FILES: dict[str, Call] = {"system.diagnostics": packed}
