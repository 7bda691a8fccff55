"""Two pages on one transcript, edited in turn and at once: nothing lost, nothing silently written over."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from finetune import projects
from tests.bench import screen_editor, screen_project
from tests.bench.progress import Progress
from tests.bench.record import Figure, Measured
from voices.shelf import Item
from voices.workspace import Workspace

EDITS = 500
CLASH_EVERY = 10
SEED = 3
PATIENCE_S = 10.0
FIGURES = (
    Figure("tab_edits", "typed in two pages, in turn and at once"),
    Figure("edits_lost", "texts that are neither saved nor were shown as a conflict", "== 0"),
    Figure("silent_overwrites", "texts saved over one that their page had not shown", "== 0"),
    Figure("clashes", "of them at once in one clip"),
    Figure("clashes_shown", "where one page showed both texts", "== clashes"),
    Figure("follow_s", "until the other page shows an edit, median"),
    Figure("follow_s_most", "the longest of these", "<= 2"),
)


@dataclass
class Typed:
    """What was typed, and the text that its page showed before."""

    clip: int
    before: str
    text: str


@dataclass
class Record:
    """What two people did."""

    typed: list[Typed] = field(default_factory=list)
    follow_s: list[float] = field(default_factory=list)
    clashes: int = 0
    clashes_shown: int = 0


def measure(workspace: Workspace, progress: Progress, edits: int = EDITS) -> Measured:
    """Edit a project of 2,000 clips from two pages of one browser."""
    project = screen_project.make(workspace)
    with screen_editor.running(workspace) as url, screen_editor.chromium() as browser:
        address = f"{url}#{project.id}/transcript"
        pages = [screen_editor.open_page(browser, address) for _ in range(2)]
        clips = range(1, screen_project.CLIPS + 1)
        record = edit_in_turn(pages, project.id, clips, progress.through(range(edits), "edits"))
    return Measured(figures(record, edited(workspace, project)))


def edit_in_turn(pages: Sequence[Any], project: str, clips: Sequence[int], rounds: Any) -> Record:
    """Type a text in one page, then in the other; every tenth time in both at once."""
    record, chance = Record(), Random(SEED)
    for number in rounds:
        clip = chance.choice(clips)
        one, other = pages if number % 2 else pages[::-1]
        if number % CLASH_EVERY == CLASH_EVERY - 1:
            _clash(record, one, other, project, clip, number)
        else:
            _edit(record, one, project, clip, f"Edit {number}.")
        _follow(record, other, project, clip, text_of(one, project, clip))
    return record


def figures(record: Record, saved: Sequence[Typed]) -> dict[str, float]:
    """Count what is missing in the history, and what was written over unseen."""
    by_text = {each.text: each for each in saved}
    kept = [by_text.get(each.text) for each in record.typed]
    pairs = zip(record.typed, kept, strict=True)
    return {
        "tab_edits": len(record.typed),
        "edits_lost": sum(each is None for each in kept),
        "silent_overwrites": sum(
            each is not None and each.before != typed.before for typed, each in pairs
        ),
        "clashes": record.clashes,
        "clashes_shown": record.clashes_shown,
        "follow_s": statistics.median(record.follow_s),
        "follow_s_most": max(record.follow_s),
    }


def edited(workspace: Workspace, project: Item) -> list[Typed]:
    """Every text that is in the history, with the one it took the place of."""
    with projects.open_project(projects.folder_of(workspace, project)) as opened:
        rows = opened.store.rows("SELECT clip, before, after FROM edits")
    found = [(row["clip"], json.loads(row["before"]), json.loads(row["after"])) for row in rows]
    return [Typed(clip, before["text"], after["text"]) for clip, before, after in found]


# ---- What one person does ------------------------------------------------------------------------


def _edit(record: Record, page: Any, project: str, clip: int, text: str) -> None:
    record.typed.append(Typed(clip, text_of(page, project, clip), text))
    _type(page, project, clip, text)
    page.keyboard.press("Enter")
    _until(page, project, clip, text)


def _clash(record: Record, one: Any, other: Any, project: str, clip: int, number: int) -> None:
    """Both type in one clip before either is saved; whoever is told keeps what was typed."""
    mine, theirs = f"Edit {number}, here.", f"Edit {number}, there."
    before = text_of(one, project, clip)
    record.clashes += 1
    one.context.set_offline(True)  # so that neither is faster by chance
    _type(one, project, clip, mine)
    record.typed.append(Typed(clip, before, theirs))
    _type(other, project, clip, theirs)
    other.keyboard.press("Enter")
    _until(other, project, clip, theirs)
    one.context.set_offline(False)
    one.get_by_role("button", name="to decide").click()
    shown = one.locator(".conflict").inner_text()
    record.clashes_shown += mine in shown and theirs in shown
    # What is kept now takes the place of what this page has just shown.
    record.typed.append(Typed(clip, theirs, mine))
    one.get_by_role("button", name="Keep mine").click()
    for page in (one, other):
        _until(page, project, clip, mine)


def _type(page: Any, project: str, clip: int, text: str) -> None:
    page.evaluate(f"{_EDITOR} editor.select(clip, true); }}", [project, clip])
    box = page.locator(f"textarea[data-clip='{clip}']")
    box.fill(text)


# ---- What a page shows ---------------------------------------------------------------------------

_EDITOR = """async ([project, clip]) => {
    const { editorOf } = await import('/timbre/assets/places/transcript/editor.js');
    const editor = editorOf(project);"""


def text_of(page: Any, project: str, clip: int) -> str:
    """What a page has for a clip, seen or not."""
    found: str = page.evaluate(f"{_EDITOR} return editor.clips.get(clip).text; }}", [project, clip])
    return found


def _until(page: Any, project: str, clip: int, text: str) -> float:
    """Wait until a page has a text; give the seconds."""
    began = time.monotonic()
    while text_of(page, project, clip) != text:
        if time.monotonic() > began + PATIENCE_S:
            return PATIENCE_S
        page.wait_for_timeout(10)
    return time.monotonic() - began


def _follow(record: Record, page: Any, project: str, clip: int, text: str) -> None:
    record.follow_s.append(_until(page, project, clip, text))
