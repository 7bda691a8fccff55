"""What is always in sight: the project, what is running, and where to stop it."""

from __future__ import annotations

from typing import Any

from app import views
from app.screen.calls import Call
from app.screen.desk import Desk
from finetune import projects
from finetune.jobs import queue
from finetune.jobs.queue import Job

_ENDED_SHOWN = 8


def now(desk: Desk) -> dict[str, Any]:
    """What there is and what is going on, as every place shows it."""
    return {
        "projects": [item_facts(each) for each in projects.shelf(desk.workspace).all()],
        "jobs": [job_facts(job) for job in queue.jobs(desk.workspace, ended=_ENDED_SHOWN)],
    }


def item_facts(item: Any) -> dict[str, Any]:
    """A named thing: a project or a voice."""
    return {"id": item.id, "name": item.name, "made": item.created_at}


def job_facts(job: Job) -> dict[str, Any]:
    """A job with its state in words; what can be done about it follows from `state`."""
    facts = views.job_facts(job)
    told = facts["progress"] or {}
    facts.pop("folder")
    return {
        **facts,
        "words": views.state(job),
        "line": views.how_far(job),
        "share": told["done"] / told["total"] if told.get("total") else None,
    }


def stop(desk: Desk, job: str) -> None:
    """Ask a job to save and end."""
    queue.stop(desk.workspace, job)


def move(desk: Desk, job: str, direction: queue.Direction) -> None:
    """Let a waiting job come earlier or later."""
    queue.move(desk.workspace, job, direction)


CALLS: dict[str, Call] = {"now": now, "jobs.stop": stop, "jobs.move": move}
