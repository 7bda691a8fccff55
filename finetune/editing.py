"""What a person does to clips, as proposals: what would change, decided before anything is written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from engines.errors import EditError
from engines.texts.normalize import preview
from engines.texts.spacing import unspaced
from finetune.transcript import Clip, Edit, Values
from finetune.words import Word

if TYPE_CHECKING:
    from finetune.quiet import Levels

# Shorter than this a clip cannot be heard as a word.
SHORTEST_SECONDS = 0.05
# Without a silence the words' times are right to about this much.
_NEAR_SECONDS = 0.06
# Of a silence, each side keeps this much where there is room.
_ROOM_SECONDS = 0.1


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


def split_at_word(
    clip: Clip, words: Sequence[Word], index: int, heard: Levels | None = None
) -> Proposal:
    """
    Make two clips of one before a word, where it is quiet; texts keep their spelling.

    `words` are those of the clip's text with their times, `index` is the first of the second clip,
    counted from 0. Without the recording's levels, the cut is half-way between the two words.
    """
    if not 0 < index < len(words):
        raise EditError(
            f"It has {len(words)} words.", "Name the word that the second clip begins with."
        )
    left, right = _divided(clip.values.text, words, index)
    at = _quiet_place(words[index - 1], words[index], heard)
    first, last = clip.values.start + SHORTEST_SECONDS, clip.values.end - SHORTEST_SECONDS
    return split(clip, max(first, min(at, last)), left, right)


def merge(first: Clip, second: Clip, joint: str | None = None) -> Proposal:
    """
    Make one clip of two neighbours, with what lies between them.

    The joint between the texts is a space where their script has them, unless it is given.
    """
    if first.values.recording != second.values.recording:
        raise EditError(
            "These clips are of different recordings.", "Merge neighbours of one recording."
        )
    first, second = sorted((first, second), key=lambda clip: clip.values.start)
    texts = (first.values.text.strip(), second.values.text.strip())
    text = (_joint(*texts) if joint is None else joint).join(filter(None, texts))
    end = max(first.values.end, second.values.end)
    return Proposal("merge", (_edit(first, end=end, text=text), _edit(second, gone=True)))


def leave_out(clips: Iterable[Clip], reason: str) -> Proposal:
    """
    Keep clips out of the dataset; they stay in the list, with the reason.

    One that is out already is decided now: the checks do not take it in again.
    """
    edits = (_edit(clip, included=False, reason=reason) for clip in clips)
    return Proposal("leave out", tuple(edits))


def take_in(clips: Iterable[Clip]) -> Proposal:
    """Put clips into the dataset; the checks do not leave them out again."""
    edits = (_edit(clip, included=True, reason="") for clip in clips)
    return Proposal("take in", tuple(edits))


def restore(clips: Iterable[Clip]) -> Proposal:
    """Bring clips back that were merged into others or cut anew, as they were."""
    edits = (_edit(clip, gone=False) for clip in clips if clip.values.gone)
    return Proposal("bring back", tuple(edits))


def take_heard(heard: Iterable[tuple[Clip, str]]) -> Proposal:
    """Take what was heard for the clips' texts."""
    edits = (_edit(clip, text=text) for clip, text in heard if text != clip.values.text)
    return Proposal("take what was heard", tuple(edits))


def normalise(clips: Iterable[Clip], languages: Mapping[str, str]) -> Proposal:
    """Write numbers and abbreviations as they are said, in the language of each recording."""
    said = ((clip, preview(clip.values.text, languages[clip.values.recording])) for clip in clips)
    edits = (_edit(clip, text=change.after) for clip, change in said if change.spans)
    return Proposal("write out numbers and abbreviations", tuple(edits))


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


def _joint(left: str, right: str) -> str:
    return "" if unspaced(left[-1:] or " ") and unspaced(right[:1] or " ") else " "


def _divided(text: str, words: Sequence[Word], index: int) -> tuple[str, str]:
    """The text before and from a word on."""
    at = 0
    for word in words[:index]:
        said = word.text.strip()
        found = text.find(said, at)
        if found < 0:
            raise EditError(
                f"The word {said!r} is not in the clip's text.", "Cut at a second instead."
            )
        at = found + len(said)
    return text[:at].rstrip(), text[at:].lstrip()


def _quiet_place(left: Word, right: Word, heard: Levels | None) -> float:
    """
    Where to cut between two words: in the longest silence near the gap that their times leave.

    Whisper stretches words over the pauses beside them, so the silence is looked for between their
    middles; a short one far from the gap is the one before a "t" inside a word.
    """
    gap = sorted((left.end, right.start))
    if heard is None or not len(heard):
        return sum(gap) / 2
    from finetune.quiet import quiet_runs, quietest  # here: numpy, and most edits need none

    def likeness(run: tuple[float, float]) -> float:
        return run[1] - run[0] - max(run[0] - gap[1], gap[0] - run[1], 0.0)

    runs = quiet_runs(heard, left.centre, right.centre)
    best = max(runs, key=likeness, default=None)
    if best is None or likeness(best) < 0:
        low, high = (
            max(gap[0] - _NEAR_SECONDS, left.centre),
            min(gap[1] + _NEAR_SECONDS, right.centre),
        )
        return quietest(heard, low, high)
    room = min(_ROOM_SECONDS, (best[1] - best[0]) / 3)
    return quietest(heard, best[0] + room, best[1] - room)
