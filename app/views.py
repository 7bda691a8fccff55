"""Records as words, for the terminal and the page alike. Nothing here draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from app.doctor import Check
from finetune.jobs.events import (
    Chosen,
    Event,
    Failed,
    Finished,
    Measured,
    Planned,
    Progress,
    Said,
    Sampled,
    Saved,
    Step,
    Stopped,
)
from finetune.jobs.queue import Job

CHECK_HEADS = ("", "Check", "Found", "What to do")
SIGNS = {"ok": "✓", "note": "·", "problem": "✗"}
JOB_HEADS = ("What", "State", "How far", "Job")
_STATES = {"waiting": "waiting", "running": "running", "stopping": "saving and stopping"}
_CAUSES = {
    "finished": "finished",
    "stopped": "stopped",
    "gpu-memory": "out of GPU memory",
    "memory": "out of memory (RAM)",
    "disk-full": "disk full",
    "bad-input": "cannot work with this",
    "not-learning": "could not learn",
    "interrupted": "cut off",
    "bug": "failed",
}


def check_rows(found: Sequence[Check]) -> list[tuple[str, ...]]:
    return [
        (SIGNS[check.verdict], check.name, check.found, "" if check.verdict == "ok" else check.fix)
        for check in found
    ]


def job_rows(found: Sequence[Job]) -> list[tuple[str, ...]]:
    return [(job.request.title, state(job), how_far(job), job.id) for job in found]


def state(job: Job) -> str:
    """A job's state in words."""
    if job.outcome is not None:
        return _CAUSES.get(job.outcome.cause, "failed")
    if job.silent:
        return "does not answer"
    return _STATES[job.state]


def how_far(job: Job) -> str:
    """How far a job is, or else what it does; or how it ended."""
    if job.outcome is not None:
        what = job.outcome.what
        ended = what if what.endswith((".", "!", "?", "…")) else f"{what}."
        return f"{ended} {job.outcome.fix}".strip()
    if job.state == "waiting":
        return ""
    if progress := job.progress():
        return event_line(progress)
    word = job.folder.last_word()
    return word.text if isinstance(word, Said) else ""


def event_line(event: Event) -> str:
    """One thing a job said."""
    match event:
        case Progress(done, total, unit, seconds_left, per_second):
            rate = f", {_number(per_second)} a second" if per_second is not None else ""
            left = f", {duration(seconds_left)} left" if seconds_left is not None else ""
            return f"{_number(done)} of {_number(total)} {unit}{rate}{left}"
        case Step(step, total, _, loss, parts, seconds_left=seconds_left) as told:
            rate = f", {_number(round(told.clips_per_second, 1))} clips a second"
            left = f", {duration(seconds_left)} left" if seconds_left is not None else ""
            return f"step {step:,} of {total:,}, {_loss(loss, parts)}{rate}{left}"
        case Planned(reasons=reasons) | Chosen(reasons=reasons):
            return " ".join(reasons)
        case Measured(step, loss, parts):
            return f"Step {step:,}, on clips it never learned from: {_loss(loss, parts)}"
        case Sampled():
            return _sampled(event)
        case Saved(step, _, mb, seconds, best):
            said = f"Saved after step {step:,} ({mb:,.0f} MB in {seconds:.1f} s)."
            return f"{said} {best}" if best else said
        case Said(text) | Finished(text) | Stopped(text):
            return text
        case Failed(_, what, fix):
            return f"{what} {fix}"


def _loss(loss: float, parts: Mapping[str, float]) -> str:
    """A loss, and what it is made of where that is more than one thing."""
    named = ", ".join(f"{name} {value:.3g}" for name, value in parts.items())
    return f"loss {loss:.3f}" + (f" ({named})" if len(parts) > 1 else "")


def _sampled(event: Sampled) -> str:
    voice, heard = event.similarity, event.character_errors
    said = [f"{event.seconds:.1f} s"]
    said += [f"{voice:.2f} like the voice"] if voice is not None else []
    said += [f"{heard:.0%} misheard"] if heard is not None else []
    when = f"After step {event.step:,}" if event.step else "As the base speaks"
    return f"{when}: “{event.text}” ({', '.join(said)}) in {event.path}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


def duration(seconds: float) -> str:
    """A time to wait as people say it: "40 s", "6 min", "2 h 10 min"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


def job_facts(job: Job) -> dict[str, Any]:
    """A job for programs."""
    progress = job.progress()
    return {
        "id": job.id,
        "title": job.request.title,
        "kind": job.request.kind,
        "state": job.state,
        "queued_at": job.queued_at,
        "progress": asdict(progress) if progress else None,
        "outcome": asdict(job.outcome) if job.outcome else None,
        "folder": str(job.folder.path),
    }


def job_page(job: Job) -> str:
    """Everything about one job: the first cause first, the end of its log behind it."""
    lines = [f"{job.request.title} ({job.id}): {state(job)}", how_far(job)]
    if job.outcome and job.outcome.first_cause:
        lines.append(f"First error: {job.outcome.first_cause}")
    lines += ["", "Command:", job.folder.command()]
    log = job.outcome.log if job.outcome else job.folder.log_tail().splitlines()[-40:]
    if log:
        lines += ["End of the log:", *log]
    return "\n".join(lines)
