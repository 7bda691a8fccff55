"""Transcript: a project that is open for one call, and its clips as short rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from app.screen.desk import Desk
from engines.errors import NotFoundError
from finetune import listing, projects
from finetune.editing import Proposal
from finetune.listing import Row
from finetune.overview import MARKS
from finetune.projects import Project
from finetune.transcript import Action, Clip, EditConflict
from voices.shelf import Item

Pair = tuple[int, int]
Seen = list[Pair]
"""Clips as [id, revision that the page saw]."""
INCLUDED, GONE, EDITED, DECIDED = 1, 2, 4, 8
"""What a row's flags mean; places/transcript/rows.js reads them."""


@dataclass(frozen=True)
class Opened:
    """A project that is open for one call."""

    item: Item
    project: Project

    @property
    def folder(self) -> Path:
        return self.project.folder

    def clip(self, clip_id: int, saw: int) -> Clip:
        """A clip as the page saw it: what was changed since is refused when it is written."""
        found = replace(self.project.transcript.clip(clip_id), revision=saw)
        if found.values.gone:
            raise EditConflict(found.values, self.project.transcript.clip(clip_id))
        return found

    def clips(self, seen: Iterable[Pair]) -> list[Clip]:
        known = {each.id: each for each in self.project.transcript.clips()}
        return [
            replace(known[clip_id], revision=saw) if clip_id in known else self.clip(clip_id, saw)
            for clip_id, saw in seen
        ]

    def do(self, proposal: Proposal, since: int) -> dict[str, Any]:
        """Do one undoable action; give what changed since the page looked."""
        if proposal.edits or proposal.new:
            self.project.transcript.edit(proposal.label, proposal.edits, proposal.new)
        return changed(self.project, since)

    def show_or_do(
        self, proposal: Proposal, seen: Sequence[Clip], since: int, do: bool
    ) -> dict[str, Any]:
        if do:
            return self.do(proposal, since)
        saw = {each.id: each for each in seen}
        return {
            "changes": [
                [
                    each.clip_id,
                    each.saw,
                    saw[each.clip_id].values.text,
                    each.values.text,
                ]
                for each in proposal.edits
            ]
        }

    def turned(self, action: Action | None, since: int) -> dict[str, Any]:
        """What an undo or redo did."""
        return {**changed(self.project, since), "label": action.label if action else None}


@contextmanager
def open_for(desk: Desk, project: str) -> Iterator[Opened]:
    item = item_of(desk, project)
    with projects.open_project(projects.folder_of(desk.workspace, item)) as opened:
        yield Opened(item, opened)


def item_of(desk: Desk, project: str) -> Item:
    item = projects.shelf(desk.workspace).find(project)
    if item.trashed:
        raise NotFoundError(f"The project {item.name} is in the trash.", "Take it back first.")
    return item


def changed(project: Project, since: int) -> dict[str, Any]:
    found = [*listing.rows(project, since)]
    newest = max((each.clip.revision for each in found), default=since)
    if not found and since >= 0:
        return {"revision": newest, "rows": []}
    recordings = [
        [each.id, each.name, each.seconds, each.language] for each in project.recordings.all()
    ]
    turns = {"undo": project.transcript.to_undo(), "redo": project.transcript.to_redo()}
    return {
        "revision": newest,
        "rows": [*map(_row, found)],
        "recordings": recordings,
        "turns": {name: each.label if each else "" for name, each in turns.items()},
    }


def _row(row: Row) -> list[Any]:
    """A clip in few bytes: there are thousands."""
    values = row.clip.values
    flags = (INCLUDED * values.included) | (GONE * values.gone)
    flags |= (EDITED * row.edited) | (DECIDED * row.decided)
    span = (round(values.start, 4), round(values.end, 4))
    shown = (values.recording, *span, values.text, flags)
    return [
        *(row.clip.id, row.clip.revision, *shown),
        *(MARKS.index(row.mark), row.reason, " ".join(row.against)),
    ]
