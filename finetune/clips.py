"""The words of a recording to clips of its transcript, around what a person did to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from finetune.cutting import Piece, cut
from finetune.editing import Proposal
from finetune.hearings import Heard
from finetune.settings import CutSettings
from finetune.transcript import Clip, Edit, Values
from finetune.words import Word, join_words


@dataclass(frozen=True, slots=True)
class Spoken:
    """A recording and what was heard in it: what clips are cut from."""

    recording: str
    name: str
    seconds: float
    language: str
    heard: Heard


def cut_again(
    spoken: Spoken, clips: Sequence[Clip], touched: set[int], settings: CutSettings
) -> Proposal:
    """
    Cut a recording into clips, in place of those that nobody has touched.

    A clip that a person made or changed stays exactly as it is, and no other takes a part of it.
    """
    kept = [clip for clip in clips if clip.id in touched]
    new = [
        values
        for words, room in _around(kept, spoken)
        for values in _cut(words, room, spoken, settings)
    ]
    same = {clip.values for clip in clips} & {*new}
    gone = [clip for clip in clips if clip.id not in touched and clip.values not in same]
    return Proposal(
        f"cut {spoken.name} into clips",
        tuple(Edit(clip.id, clip.revision, replace(clip.values, gone=True)) for clip in gone),
        tuple(value for value in new if value not in same),
    )


def said_in(words: Sequence[Word], start: float, end: float) -> list[Word]:
    """The words spoken in a span, by their middles."""
    return [word for word in words if start <= word.centre < end]


def text_in(words: Sequence[Word], start: float, end: float) -> str:
    """What was heard in a span: the candidate beside a clip's own text."""
    return join_words([word.text for word in said_in(words, start, end)])


@dataclass(frozen=True, slots=True)
class _Room:
    """Where clips may be: between two that stay."""

    start: float
    end: float


def _around(kept: Sequence[Clip], spoken: Spoken) -> Iterator[tuple[list[Word], _Room]]:
    """The words outside of the clips that stay, run by run, and the room they have."""
    begin = 0.0
    for start, end in [*_spans(kept), (spoken.seconds, spoken.seconds)]:
        # A word's middle may lie at the very end of the recording.
        last = start if start < spoken.seconds else float("inf")
        if words := said_in(spoken.heard.words, begin, last):
            yield words, _Room(begin, start)
        begin = max(begin, end)


def _spans(clips: Sequence[Clip]) -> list[tuple[float, float]]:
    return sorted((clip.values.start, clip.values.end) for clip in clips)


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
