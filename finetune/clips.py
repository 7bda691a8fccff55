"""The words of a recording to clips of its transcript, around what a person did to them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from finetune.cutting import Piece, cut
from finetune.editing import Proposal
from finetune.hearings import Heard
from finetune.settings import CutSettings
from finetune.transcript import Clip, Edit, Span, Values
from finetune.words import Word

# More than any setting lets a clip bridge; some hundred words are cut in a twentieth of a second.
_LONG_SILENCE_S = 2.0
_PORTION_WORDS = 500


@dataclass(frozen=True, slots=True)
class Spoken:
    """A recording and what was heard in it: what clips are cut from."""

    recording: str
    name: str
    seconds: float
    language: str
    heard: Heard


def cut_again(
    spoken: Spoken,
    clips: Sequence[Clip],
    touched: Mapping[int, Span],
    settings: CutSettings,
    told: Callable[[int], None] = lambda words: None,
) -> Proposal:
    """
    Cut a recording into clips, in place of those that nobody has touched.

    A clip that a person made or changed stays exactly as it is, no other takes a part of it, and
    what was trimmed off does not come back. `told` gets the words that are done.
    """
    kept = [clip for clip in clips if clip.id in touched]
    new: list[Values] = []
    done = 0
    for words, room in _around([touched[clip.id] for clip in kept], spoken):
        new += _cut(words, room, spoken, settings)
        done += len(words)
        told(done)
    same = {clip.values for clip in clips} & {*new}
    gone = [clip for clip in clips if clip.id not in touched and clip.values not in same]
    return Proposal(
        f"cut {spoken.name} into clips",
        tuple(Edit(clip.id, clip.revision, replace(clip.values, gone=True)) for clip in gone),
        tuple(value for value in new if value not in same),
    )


@dataclass(frozen=True, slots=True)
class _Room:
    """Where clips may be: between two that stay."""

    start: float
    end: float


def _around(kept: Sequence[Span], spoken: Spoken) -> Iterator[tuple[list[Word], _Room]]:
    """The words outside of the spans that stay, run by run, and the room they have."""
    rooms = [*_rooms(kept, spoken.seconds)]
    begins = [room.start for room in rooms]
    runs: list[list[Word]] = [[] for _ in rooms]
    for word in spoken.heard.words:
        at = bisect_right(begins, word.centre) - 1
        # A word's middle may lie at the very end of the recording.
        if at >= 0 and (word.centre < rooms[at].end or rooms[at].end == spoken.seconds):
            runs[at].append(word)
    for words, room in zip(runs, rooms, strict=True):
        yield from _in_portions(words, room)


def _rooms(kept: Sequence[Span], seconds: float) -> Iterator[_Room]:
    begin = 0.0
    for start, end in sorted(kept):
        if start > begin:
            yield _Room(begin, start)
        begin = max(begin, end)
    if begin < seconds:
        yield _Room(begin, seconds)


def _in_portions(words: Sequence[Word], room: _Room) -> Iterator[tuple[list[Word], _Room]]:
    """Divide many words at long silences, so that it can be told how far the cutting is."""
    begin, portion = room.start, list[Word]()
    for word in words:
        gap = word.start - portion[-1].end if portion else 0.0
        if len(portion) >= _PORTION_WORDS and gap > _LONG_SILENCE_S:
            middle = (word.start + portion[-1].end) / 2
            yield portion, _Room(begin, middle)
            begin, portion = middle, []
        portion.append(word)
    if portion:
        yield portion, _Room(begin, room.end)


def _cut(
    words: Sequence[Word], room: _Room, spoken: Spoken, settings: CutSettings
) -> Iterator[Values]:
    for piece in cut(words, settings, spoken.heard.levels, spoken.seconds, spoken.language):
        start, end = max(piece.start, room.start), min(piece.end, room.end)
        if end > start:
            yield Values(spoken.recording, start, end, _text(piece))


def _text(piece: Piece) -> str:
    # A text that came whole, from a person's table, is one word here and stays as it was written.
    return piece.words[0].text.strip() if len(piece.words) == 1 else piece.text
