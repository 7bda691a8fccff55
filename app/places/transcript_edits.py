"""Transcript: every edit of a clip or of many, each undone and redone."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from app.places.transcript_rows import Pair, Seen, open_for
from app.screen.calls import Call
from app.screen.desk import Desk
from finetune import editing, nearby
from finetune.editing import Search
from finetune.transcript import EditConflict

# ---- One clip is changed ----


def text(
    desk: Desk, project: str, clip: int, revision: int, text: str, since: int
) -> dict[str, Any]:
    """Say what is spoken in a clip."""
    with open_for(desk, project) as opened:
        return opened.do(editing.retype(opened.clip(clip, revision), text), since)


def trim(
    desk: Desk,
    project: str,
    clip: int,
    revision: int,
    start: float | None,
    end: float | None,
    since: int,
) -> dict[str, Any]:
    """Move the ends that are named."""
    with open_for(desk, project) as opened:
        found = opened.clip(clip, revision)
        seconds = opened.project.recordings.find(found.values.recording).seconds
        start = found.values.start if start is None else start
        end = found.values.end if end is None else end
        return opened.do(editing.trim(found, start, end, seconds), since)


def split(
    desk: Desk, project: str, clip: int, revision: int, word: int, since: int
) -> dict[str, Any]:
    """Make two clips of one, before a word, where it is quiet."""
    with open_for(desk, project) as opened:
        found = opened.clip(clip, revision)
        return opened.do(nearby.split_at_word(opened.project, found, word), since)


def split_at(
    desk: Desk,
    project: str,
    clip: int,
    revision: int,
    at: float,
    left: str,
    right: str,
    since: int,
) -> dict[str, Any]:
    """Make two clips of one at a second, where no words are known."""
    with open_for(desk, project) as opened:
        return opened.do(editing.split(opened.clip(clip, revision), at, left, right), since)


def merge(desk: Desk, project: str, pair: tuple[Pair, Pair], since: int) -> dict[str, Any]:
    """Make one clip of two neighbours."""
    with open_for(desk, project) as opened:
        first, second = opened.clips(pair)
        return opened.do(editing.merge(first, second), since)


# ---- Many are changed ----


def leave_out(desk: Desk, project: str, clips: Seen, reason: str, since: int) -> dict[str, Any]:
    with open_for(desk, project) as opened:
        return opened.do(editing.leave_out(opened.clips(clips), reason), since)


def take_in(desk: Desk, project: str, clips: Seen, since: int) -> dict[str, Any]:
    with open_for(desk, project) as opened:
        return opened.do(editing.take_in(opened.clips(clips)), since)


def take_heard(
    desk: Desk, project: str, clips: Seen, since: int, do: bool = True
) -> dict[str, Any]:
    """Take what was heard for the texts, where something was; or show what that would change."""
    with open_for(desk, project) as opened:
        seen = opened.clips(clips)
        proposal = editing.take_heard(nearby.heard_in(opened.project, seen))
        return opened.show_or_do(proposal, seen, since, do)


def normalise(desk: Desk, project: str, clips: Seen, since: int, do: bool) -> dict[str, Any]:
    """Write numbers and abbreviations as they are said, or show what that would change."""
    with open_for(desk, project) as opened:
        seen = opened.clips(clips)
        languages = {each.id: each.language for each in opened.project.recordings.all()}
        return opened.show_or_do(editing.normalise(seen, languages), seen, since, do)


def replace_all(
    desk: Desk,
    project: str,
    clips: Seen,
    find: str,
    by: str,
    match_case: bool,
    whole_words: bool,
    since: int,
    do: bool,
) -> dict[str, Any]:
    """Replace something in the texts, or show what that would change."""
    with open_for(desk, project) as opened:
        seen = opened.clips(clips)
        proposal = editing.find_and_replace(seen, Search(find, match_case, whole_words), by)
        return opened.show_or_do(proposal, seen, since, do)


def undo(desk: Desk, project: str, since: int) -> dict[str, Any]:
    with open_for(desk, project) as opened:
        return opened.turned(opened.project.transcript.undo(), since)


def redo(desk: Desk, project: str, since: int) -> dict[str, Any]:
    with open_for(desk, project) as opened:
        return opened.turned(opened.project.transcript.redo(), since)


CALLS: dict[str, Call] = {
    "transcript.text": text,
    "transcript.trim": trim,
    "transcript.split": split,
    "transcript.split_at": split_at,
    "transcript.merge": merge,
    "transcript.leave_out": leave_out,
    "transcript.take_in": take_in,
    "transcript.take_heard": take_heard,
    "transcript.normalise": normalise,
    "transcript.replace": replace_all,
    "transcript.undo": undo,
    "transcript.redo": redo,
}


def conflict(error: EditConflict) -> dict[str, Any]:
    """What another editor made of a clip, beside what was to be saved."""
    return {"yours": asdict(error.yours), "theirs": asdict(error.theirs)}
