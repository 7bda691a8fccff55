"""The clips of a project as an editor lists them: all of them once, then only what changed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from finetune.datasets import Statistics
from finetune.overview import UNCHECKED
from finetune.projects import Project
from finetune.transcript import PERSON, Clip

HARDLY = 3
"""A letter that is spoken less often is rare."""


@dataclass(frozen=True, slots=True)
class Row:
    """A clip, what speaks against it, and what a person did to it."""

    clip: Clip
    mark: str
    reason: str
    """Why it has its mark, or why it is left out."""
    against: tuple[str, ...]
    """The checks that speak against it, by their names."""
    edited: bool
    """Whether a person changed what it says or where it ends."""
    decided: bool
    """Whether a person took it in or left it out."""


def rows(project: Project, since_revision: int = -1) -> Iterator[Row]:
    """Clips in spoken order; after a revision: what changed since, also what is gone."""
    clips = project.transcript.clips(since_revision)
    if not clips:
        return
    judged = _judged(project, since_revision)
    edited, decided = _edited(project, since_revision), project.transcript.decided()
    for clip in clips:
        mark, reason, against = judged.get(clip.id, (UNCHECKED, "", ()))
        yield Row(
            clip,
            mark,
            clip.values.reason or reason,
            against,
            clip.id in edited,
            clip.id in decided,
        )


def rare_letters(statistics: Statistics) -> list[str]:
    """Letters that are spoken once or twice, small and capital counted as one."""
    counts: Counter[str] = Counter()
    for sign, count in statistics.characters:
        counts[sign.lower()] += count if sign.isalpha() else 0
    return sorted(sign for sign, count in counts.items() if 0 < count < HARDLY)


def to_look_at(project: Project) -> int:
    """How many clips the last checks want a person to look at, and that are as they saw them."""
    [row] = project.store.rows(
        f"SELECT count(*) AS found FROM {_STILL_SO} WHERE checks.mark = 'look' AND NOT clips.gone"
        " AND clips.recording IN (SELECT id FROM recordings WHERE NOT trashed)"
    )
    return int(row["found"])


_STILL_SO = (
    "checks JOIN clips ON clips.id = checks.clip"
    ' AND clips.text = checks.text AND clips.start = checks.start AND clips."end" = checks."end"'
)
_Judged = tuple[str, str, tuple[str, ...]]


def _judged(project: Project, since: int) -> Mapping[int, _Judged]:
    """What the last checks said of clips that are still as they saw them."""
    # As finetune.checking.read does, for some clips only and without what listens to sound.
    found = project.store.rows(
        f"SELECT checks.* FROM {_STILL_SO} WHERE clips.revision > ? AND checks.mark != ''",
        since,
    )
    return {row["clip"]: (row["mark"], row["reason"], _against(row["findings"])) for row in found}


def _against(findings: str) -> tuple[str, ...]:
    return tuple(check for check, _, _, weight in json.loads(findings) if weight)


def _edited(project: Project, since: int) -> set[int]:
    changed = " OR ".join(
        f"json_extract(edits.before, '$.{name}') != json_extract(edits.after, '$.{name}')"
        for name in ("text", "start", "end", "gone")
    )
    found = project.store.rows(
        "SELECT DISTINCT edits.clip FROM edits JOIN actions ON actions.id = edits.action"
        " JOIN clips ON clips.id = edits.clip"
        f" WHERE clips.revision > ? AND actions.state = 'done' AND actions.by = ? AND ({changed})",
        since,
        PERSON,
    )
    return {row["clip"] for row in found}
