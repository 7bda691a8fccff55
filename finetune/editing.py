"""What a person does to clips, as proposals: what would change, decided before anything is written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from engines.errors import EditError
from finetune.transcript import Clip, Edit, Values

# Shorter than this a clip cannot be heard as a word.
SHORTEST_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Proposal:
    """One undoable action, ready to be shown as a preview or to be done."""

    label: str
    edits: tuple[Edit, ...] = ()
    new: tuple[Values, ...] = ()


def retype(clip: Clip, text: str) -> Proposal:
    """Say what is spoken in a clip."""
    return Proposal("change the text", (_edit(clip, text=text),))


def trim(clip: Clip, start: float, end: float, recording_seconds: float) -> Proposal:
    """Move the ends of a clip; audio outside is kept, so they can be moved back."""
    start, end = max(0.0, start), min(recording_seconds, end)
    if end - start < SHORTEST_SECONDS:
        raise EditError("The clip would be empty.", "Move the ends further apart.")
    return Proposal("move the ends", (_edit(clip, start=start, end=end),))


def split(clip: Clip, at: float, left_text: str, right_text: str) -> Proposal:
    """Make two clips of one; the texts are what is spoken before and after."""
    values = clip.values
    if not values.start + SHORTEST_SECONDS <= at <= values.end - SHORTEST_SECONDS:
        raise EditError("The cut is outside the clip.", "Choose a place inside it.")
    right = replace(values, start=at, text=right_text)
    return Proposal("split", (_edit(clip, end=at, text=left_text),), (right,))


def merge(first: Clip, second: Clip, joint: str = " ") -> Proposal:
    """Make one clip of two neighbours, with what lies between them."""
    if first.values.recording != second.values.recording:
        raise EditError(
            "These clips are of different recordings.", "Merge neighbours of one recording."
        )
    first, second = sorted((first, second), key=lambda clip: clip.values.start)
    texts = (first.values.text.strip(), second.values.text.strip())
    text = joint.join(filter(None, texts))
    end = max(first.values.end, second.values.end)
    return Proposal("merge", (_edit(first, end=end, text=text), _edit(second, gone=True)))


def leave_out(clips: Iterable[Clip], reason: str) -> Proposal:
    """Keep clips out of the dataset; they stay in the list, with the reason."""
    edits = (_edit(clip, included=False, reason=reason) for clip in clips if clip.values.included)
    return Proposal("leave out", tuple(edits))


def take_in(clips: Iterable[Clip]) -> Proposal:
    """Put clips into the dataset again."""
    edits = (_edit(clip, included=True, reason="") for clip in clips if not clip.values.included)
    return Proposal("take in", tuple(edits))


@dataclass(frozen=True, slots=True)
class Search:
    """What to look for in texts, as it was typed."""

    text: str
    match_case: bool = False
    whole_words: bool = False

    def pattern(self) -> re.Pattern[str]:
        if not self.text:
            raise EditError("There is nothing to look for.", "Type what to find.")
        escaped = re.escape(self.text)
        # \b would not do: what is looked for may begin or end with a sign of its own.
        found = rf"(?<!\w){escaped}(?!\w)" if self.whole_words else escaped
        return re.compile(found, 0 if self.match_case else re.IGNORECASE)


def find(clips: Sequence[Clip], search: Search) -> list[Clip]:
    """The clips whose text has it."""
    pattern = search.pattern()
    return [clip for clip in clips if pattern.search(clip.values.text)]


def find_and_replace(clips: Sequence[Clip], search: Search, by: str) -> Proposal:
    """Replace it everywhere: the edits are the preview, the proposal one undo."""
    pattern = search.pattern()
    changed = ((clip, pattern.sub(lambda _: by, clip.values.text)) for clip in clips)
    edits = (_edit(clip, text=text) for clip, text in changed if text != clip.values.text)
    return Proposal(f"replace {search.text!r} by {by!r}", tuple(edits))


def _edit(clip: Clip, **changes: Any) -> Edit:
    return Edit(clip.id, clip.revision, replace(clip.values, **changes))
