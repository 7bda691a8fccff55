"""What a person sees of a project: its clips with what speaks for and against them, and its state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engines.errors import EditError, NotFoundError
from finetune import datasets
from finetune.datasets import Dataset, Difference, Example, Statistics
from finetune.projects import Project
from finetune.recordings import Recording
from finetune.transcript import Clip
from finetune.versions import Version
from finetune.words import Word, by_middle, join_words, put_in_order, within

if TYPE_CHECKING:
    from finetune.checks import Finding
    from finetune.quiet import Levels

UNCHECKED = "not checked"
"""The mark of a clip that was made or changed since the last checks."""
MARKS = ("good", "look", "leave out", UNCHECKED)


@dataclass(frozen=True, slots=True)
class Seen:
    """A clip and everything a person decides by."""

    clip: Clip
    recording: Recording
    mark: str
    reason: str
    """Why it has its mark, or why it is left out."""
    findings: tuple[Finding, ...]
    heard: str
    """What the newest going over the recording heard there; empty when there was none."""

    @property
    def candidate(self) -> str:
        """What was heard, where it is not what the clip says."""
        return self.heard if self.heard.split() != self.clip.values.text.split() else ""


@dataclass(frozen=True, slots=True)
class Overview:
    """A project's dataset as it is now."""

    recordings: tuple[Recording, ...]
    marks: Mapping[str, int]
    """How many clips have which mark."""
    left_out: int
    statistics: Statistics
    versions: tuple[Version, ...]
    changed: Difference | None
    """What is different from the newest version; None when there is none."""


def clips_of(project: Project) -> list[Seen]:
    """Every clip in spoken order."""
    # Here, because it brings what listens to sound: the studio shows much that needs none of it.
    from finetune import checking

    recordings = {each.id: each for each in project.recordings.all()}
    checked = checking.read(project)
    words = {each: _whisper_words(project, recordings[each]) for each in recordings}
    seen = []
    for clip in project.transcript.clips():
        found = checked.get(clip.id)
        said = within(words[clip.values.recording], clip.values.start, clip.values.end)
        seen.append(
            Seen(
                clip,
                recordings[clip.values.recording],
                found.mark if found else UNCHECKED,
                clip.values.reason or (found.reason if found else ""),
                found.findings if found else (),
                join_words([word.text for word in said]),
            )
        )
    return seen


def overview(project: Project, seen: Sequence[Seen]) -> Overview:
    """Sum a project up."""
    marks = Counter(each.mark for each in seen)
    now = as_now(each.clip for each in seen)
    versions = tuple(map(project.versions.find, project.versions.numbers()))
    return Overview(
        tuple(project.recordings.all()),
        {mark: marks[mark] for mark in MARKS if marks[mark]},
        sum(not each.clip.values.included for each in seen),
        datasets.statistics(now),
        versions,
        datasets.compare(versions[-1].dataset, now) if versions else None,
    )


def as_now(clips: Iterable[Clip]) -> Dataset:
    """The included clips as a dataset that is not divided yet."""
    values = ((clip.id, clip.values) for clip in clips if clip.values.included)
    examples = (
        Example(clip_id, each.recording, each.start, each.end, each.text)
        for clip_id, each in values
    )
    return Dataset(tuple(examples), (), 0)


def named(recordings: Sequence[Recording], typed: str) -> Recording:
    """A recording by its id, its name, or a part of its name that no other has."""
    wanted = typed.casefold()
    exact = [each for each in recordings if typed == each.id or wanted == each.name.casefold()]
    found = exact or [each for each in recordings if wanted in each.name.casefold()]
    if len(found) == 1 and wanted:
        return found[0]
    there = ", ".join(each.name for each in (found or recordings)[:5]) or "none yet"
    how_many = "more than one recording" if found else "no recording"
    raise NotFoundError(f"There is {how_many} called {typed!r}.", f"There is: {there}.")


def timed_words(project: Project, clip: Clip) -> tuple[list[Word], Levels]:
    """The words of a clip's text with the times of what was heard there, and the levels around."""
    from finetune.texts.align import align

    recording = project.recordings.find(clip.values.recording)
    hearing = project.hearings.newest(recording.id, "whisper") or project.hearings.newest(
        recording.id, "text"
    )
    heard = project.hearings.heard(hearing) if hearing else None
    said = (
        within(_in_order(heard.words, recording), clip.values.start, clip.values.end)
        if heard
        else []
    )
    if heard is None or not said:
        raise EditError(
            f"When the words of clip {clip.id} are spoken is not known.",
            "Cut at a second instead, with `--at`, or transcribe the recording first.",
        )
    laid = align([(1, clip.values.text)], said)
    return [each.word for each in laid.words], heard.levels


def _whisper_words(project: Project, recording: Recording) -> list[Word]:
    hearing = project.hearings.newest(recording.id, "whisper")
    return by_middle(project.hearings.heard(hearing).words) if hearing else []


def _in_order(words: Sequence[Word], recording: Recording) -> list[Word]:
    return put_in_order(words, recording.seconds)
