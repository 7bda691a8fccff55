"""Recordings, clips and datasets as words, tables and facts for programs. Nothing here draws."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from finetune import datasets, listing
from finetune.datasets import Dataset, Difference, Statistics
from finetune.editing import Proposal
from finetune.hearing import models
from finetune.jobs.queue import Job
from finetune.media.verdict import remarks, worst
from finetune.overview import UNCHECKED, Overview, Seen
from finetune.recordings import Recording
from finetune.transcript import Action, Clip
from finetune.versions import Version
from finetune.words import Word
from voices.shelf import Item

if TYPE_CHECKING:
    from finetune.checks import Finding

RECORDING_HEADS = ("Recording", "Length", "Language", "Verdict", "What there is to say")
CLIP_HEADS = ("Clip", "Recording", "From", "To", "Mark", "Text", "Heard there")
REASON_HEADS = ("Clip", "Mark", "Why", "Text")
VERSION_HEADS = ("Version", "Frozen", "Clips", "Minutes", "Note")
CHANGE_HEADS = ("Clip", "Before", "After")
EXAMPLE_HEADS = ("Clip", "For", "Length", "Text")
HISTORY_HEADS = ("When", "What", "State")
MODEL_HEADS = ("Whisper", "MB", "Licence", "Good for", "")
_STATES = {"done": "", "undone": "undone", "passed": "undone, then changed"}


# ---- Recordings ----


def recording_rows(recordings: Iterable[Recording]) -> list[tuple[str, ...]]:
    return [
        (
            *(each.name, clock(each.seconds), each.language or "?", _verdict(each)),
            " ".join(_sentences(each)),
        )
        for each in recordings
    ]


def recording_facts(recording: Recording) -> dict[str, Any]:
    return {
        "id": recording.id,
        "name": recording.name,
        "seconds": recording.seconds,
        "language": recording.language,
        "verdict": _verdict(recording),
        "said": _sentences(recording),
    }


def _verdict(recording: Recording) -> str:
    return worst(remarks(recording.decoded))


def _sentences(recording: Recording) -> list[str]:
    return [remark.sentence for remark in remarks(recording.decoded)]


# ---- Clips ----


def mark(seen: Seen) -> str:
    """Where a clip stands: its mark, or that it is left out whatever its mark."""
    return seen.mark if seen.clip.values.included else "left out"


def clip_rows(clips: Iterable[Seen]) -> list[tuple[str, ...]]:
    return [
        (
            *(str(each.clip.id), each.recording.name),
            *(clock(each.clip.values.start, 2), clock(each.clip.values.end, 2)),
            *(mark(each), each.clip.values.text, each.candidate),
        )
        for each in clips
    ]


def reason_rows(clips: Iterable[Seen]) -> list[tuple[str, ...]]:
    """Clips that are left out or to be looked at, and why."""
    return [
        (str(each.clip.id), mark(each), each.reason, each.clip.values.text)
        for each in clips
        if each.mark in ("look", "leave out") or not each.clip.values.included
    ]


def clip_facts(seen: Seen) -> dict[str, Any]:
    """A clip for programs."""
    return {
        "id": seen.clip.id,
        "revision": seen.clip.revision,
        **asdict(seen.clip.values),
        "recording_name": seen.recording.name,
        "mark": seen.mark,
        "reason": seen.reason,
        "findings": [asdict(finding) for finding in seen.findings],
        "heard": seen.heard,
        "differs": bool(seen.candidate),
    }


def against(seen: Seen) -> str:
    """What speaks against a clip, each with its number and its sentence."""
    values = seen.clip.values
    span = f"{clock(values.start, 2)} to {clock(values.end, 2)} of {seen.recording.name}"
    lines = [f"Clip {seen.clip.id} ({mark(seen)}), {span}: {values.text}"]
    lines += [_finding(each) for each in seen.findings if each.weight]
    return "\n".join(lines)


def clip_page(seen: Seen, words: Sequence[Word]) -> str:
    """Everything about one clip; its words are numbered, to split at one."""
    values = seen.clip.values
    lines = [
        f"Clip {seen.clip.id} of {seen.recording.name},"
        f" {clock(values.start, 2)} to {clock(values.end, 2)}"
        f" ({values.end - values.start:.1f} s): {mark(seen)}",
        values.text,
    ]
    lines += [f"Heard there: {seen.candidate}"] if seen.candidate else []
    lines += [f"Why: {seen.reason}"] if seen.reason else []
    lines += map(_finding, seen.findings)
    if words:
        numbered = (f"{number} {word.text.strip()}" for number, word in enumerate(words, 1))
        lines.append(f"Words: {' · '.join(numbered)}")
    return "\n".join(lines)


def _finding(finding: Finding) -> str:
    return f"  {finding.check} {finding.number:.3g}: {finding.sentence}"


def changed_facts(clips: Iterable[Clip]) -> list[dict[str, Any]]:
    """Clips as an edit left them, for programs."""
    return [{"id": each.id, "revision": each.revision, **asdict(each.values)} for each in clips]


def changed_lines(clips: Iterable[Clip]) -> Iterator[str]:
    """Clips as an edit left them."""
    for each in clips:
        values = each.values
        gone = "is gone" if values.gone else "" if values.included else f"left out. {values.reason}"
        span = f"{clock(values.start, 2)} to {clock(values.end, 2)}"
        yield f"{each.id}: {span}, {gone or values.text}"


def proposal_rows(proposal: Proposal, before: Iterable[Clip]) -> list[tuple[str, ...]]:
    """What texts would become."""
    texts = {clip.id: clip.values.text for clip in before}
    return [(str(edit.clip_id), texts[edit.clip_id], edit.values.text) for edit in proposal.edits]


def proposal_facts(proposal: Proposal, before: Iterable[Clip]) -> list[dict[str, Any]]:
    rows = proposal_rows(proposal, before)
    return [{"id": int(each[0]), "before": each[1], "after": each[2]} for each in rows]


def action_facts(action: Action) -> dict[str, Any]:
    return asdict(action)


def history_rows(actions: Iterable[Action]) -> list[tuple[str, ...]]:
    return [(each.at, each.label, _STATES[each.state]) for each in actions]


# ---- Datasets ----


def overview_page(item: Item, shown: Overview) -> str:
    """The state of a project's dataset in sentences."""
    statistics = shown.statistics
    marks = ", ".join(f"{count:,} {name}" for name, count in shown.marks.items())
    total = sum(shown.marks.values())
    lines = [f"{item.name} ({item.id})"]
    if total:
        lines.append(f"{_counted(total, 'clip')} ({marks}); {shown.left_out:,} left out.")
        lines += statistics_lines(statistics)
        if UNCHECKED in shown.marks:
            lines.append("What is not checked: `launch.py dataset check` does it.")
    else:
        lines.append("There are no clips yet.")
    lines.append(_since(shown))
    return "\n".join(lines)


def statistics_lines(statistics: Statistics) -> list[str]:
    rare = listing.rare_letters(statistics)
    lines = [
        f"In the dataset: {_counted(statistics.clips, 'clip')}, {_counted(statistics.words, 'word')},"
        f" from {statistics.shortest_seconds:.1f} to {statistics.longest_seconds:.1f} s long.",
        statistics.advice,
    ]
    if rare:
        lines.append(f"Letters that are hardly spoken: {' '.join(rare)}")
    return lines


def version_rows(versions: Iterable[Version]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for version in versions:
        statistics = datasets.statistics(version.dataset)
        numbers = (f"{statistics.clips:,}", f"{statistics.minutes:.1f}")
        rows.append((str(version.number), version.frozen_at, *numbers, version.note))
    return rows


def version_page(version: Version, before: Version | None) -> str:
    """One version, and what it changed."""
    dataset = version.dataset
    head = f"Version {version.number}, frozen {version.frozen_at}, seed {dataset.seed}"
    divided = f"{len(dataset.train):,} clips to learn from, {len(dataset.check):,} to check with."
    lines = [head + (f": {version.note}" if version.note else "."), divided]
    lines += statistics_lines(datasets.statistics(dataset))
    if before:
        said = difference(datasets.compare(before.dataset, dataset)) or "nothing"
        lines.append(f"Since version {before.number}: {said}.")
    return "\n".join(lines)


def version_facts(version: Version) -> dict[str, Any]:
    dataset = version.dataset
    return {
        "version": version.number,
        "frozen_at": version.frozen_at,
        "note": version.note,
        "seed": dataset.seed,
        "train": len(dataset.train),
        "check": len(dataset.check),
        "statistics": asdict(datasets.statistics(dataset)),
    }


def example_facts(dataset: Dataset) -> list[dict[str, Any]]:
    """Its examples, each with the side it is on."""
    parts = (("train", dataset.train), ("check", dataset.check))
    return [{**asdict(each), "part": part} for part, examples in parts for each in examples]


def example_rows(dataset: Dataset) -> list[tuple[str, ...]]:
    return [
        (str(each["clip_id"]), each["part"], f"{each['end'] - each['start']:.1f} s", each["text"])
        for each in example_facts(dataset)
    ]


def overview_facts(item: Item, shown: Overview) -> dict[str, Any]:
    """The state of a project's dataset for programs."""
    return {
        "project": project_facts(item),
        "recordings": [recording_facts(each) for each in shown.recordings],
        "marks": dict(shown.marks),
        "left_out": shown.left_out,
        "statistics": asdict(shown.statistics),
        "advice": shown.statistics.advice,
        "versions": [version_facts(each) for each in shown.versions],
        "changed": asdict(shown.changed) if shown.changed else None,
    }


def difference(changed: Difference) -> str:
    """What changed between two versions: "2 added, 1 removed"; nothing when nothing did."""
    counts = ((len(each), what) for what, each in asdict(changed).items())
    return ", ".join(f"{count:,} {what}" for count, what in counts if count)


def _since(shown: Overview) -> str:
    if shown.changed is None:
        return "No version is frozen yet."
    said = difference(shown.changed) or "nothing has changed"
    return f"Since version {shown.versions[-1].number}: {said}."


# ---- Jobs and models ----


def project_facts(item: Item) -> dict[str, Any]:
    return {"id": item.id, "name": item.name}


def work_facts(
    item: Item, job: Job, report: dict[str, Any], about: str = "project"
) -> dict[str, Any]:
    """What a work came to, for programs: how it ended, and everything it reports."""
    facts: dict[str, Any] = {"job": job.id, "state": job.state, about: project_facts(item)}
    outcome = job.outcome
    if outcome is not None:
        facts["cause"], facts["what"] = outcome.cause, outcome.what
        if outcome.cause != "finished":
            facts["error"] = {"what": outcome.what, "fix": outcome.fix}
    return {**facts, **report}


def model_rows(here: dict[str, models.Found], advised: str) -> list[tuple[str, ...]]:
    return [
        (each.name, f"{each.size_mb:,}", each.licence, each.good_for, _about(each, here, advised))
        for each in models.CATALOGUE
    ]


def model_facts(here: dict[str, models.Found], advised: str) -> list[dict[str, Any]]:
    return [
        {
            **asdict(each),
            "folder": str(here[each.name].folder) if each.name in here else None,
            "advised": each.name == advised,
        }
        for each in models.CATALOGUE
    ]


def _about(model: models.Model, here: dict[str, models.Found], advised: str) -> str:
    said = ["is here"] * (model.name in here) + ["advised"] * (model.name == advised)
    return ", ".join(said)


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def clock(seconds: float, decimals: int = 0) -> str:
    """A place in a recording, or a length: "0:07.25", "1:02:03"."""
    unit = 10**decimals
    whole, part = divmod(round(seconds * unit), unit)
    minutes, left = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    rest = f"{left:02d}" + (f".{part:0{decimals}d}" if decimals else "")
    return f"{hours}:{minutes:02d}:{rest}" if hours else f"{minutes}:{rest}"
