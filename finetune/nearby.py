"""What lies around one clip: its words with their times, what was heard, and the sound's outline."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from engines.errors import EditError
from finetune import editing
from finetune.checks import Finding
from finetune.editing import Proposal
from finetune.hearings import Hearing, Kind
from finetune.media import reading
from finetune.projects import Project
from finetune.transcript import Clip, Values
from finetune.words import Word, by_middle, join_words, put_in_order, within

if TYPE_CHECKING:
    from finetune.quiet import Levels

POINTS_PER_SECOND = 100
FULL = 100
"""The outline of a sound at full scale."""
# Words are put in order together with those around them.
_AROUND_SECONDS = 15.0
_LEAST_BESIDE_SECONDS = 1.2
_BESIDE_SHARE = 0.35


@dataclass(frozen=True, slots=True)
class Outline:
    """How far the sound goes, from 0 to 100, for each hundredth of a second."""

    start: float
    end: float
    points: list[int]


def beside(values: Values, seconds: float) -> tuple[float, float]:
    """The span that is shown of a clip: its own, and room to move its ends."""
    room = max(_LEAST_BESIDE_SECONDS, (values.end - values.start) * _BESIDE_SHARE)
    return max(0.0, values.start - room), min(seconds, values.end + room)


def outline(project: Project, recording: str, start: float, end: float) -> Outline:
    """Read a span of a recording as it is drawn."""
    import numpy as np  # here, as in finetune.media.reading: most of the studio reads no sound

    sound = reading.read(project.working_of(recording), start, end)
    count = max(1, round(len(sound.samples) / sound.rate * POINTS_PER_SECOND))
    begins = np.arange(count) * len(sound.samples) // count
    loud = np.abs(sound.samples) if len(sound.samples) else np.zeros(1, np.float32)
    points = np.rint(np.maximum.reduceat(loud, begins) * FULL).clip(0, FULL).astype(int)
    return Outline(start, end, points.tolist())


def timed_words(project: Project, clip: Clip) -> list[Word]:
    """The words of a clip's text with the times of what was heard there; none where nothing was."""
    from finetune.texts.align import align

    said = _heard_words(project, clip.values, "whisper") or _heard_words(
        project, clip.values, "text"
    )
    if not said or not clip.values.text.strip():
        return []
    return [each.word for each in align([(1, clip.values.text)], said).words]


def heard(project: Project, values: Values) -> str:
    """What the newest going over the recording heard there; empty when there was none."""
    # By the words' middles, as finetune.overview.clips_of takes them.
    return join_words([word.text for word in _heard_words(project, values, "whisper", False)])


def heard_in(project: Project, clips: Iterable[Clip]) -> Iterator[tuple[Clip, str]]:
    """What was heard in each of many clips, where something was."""

    @cache
    def words_of(recording: str) -> Sequence[Word]:
        hearing = project.hearings.newest(recording, "whisper")
        return by_middle(project.hearings.heard(hearing).words) if hearing else ()

    for clip in clips:
        values = clip.values
        said = within(words_of(values.recording), values.start, values.end)
        if said:
            yield clip, join_words([word.text for word in said])


def findings(project: Project, clip: Clip) -> list[Finding]:
    """What the last checks found in a clip; nothing when it was changed since."""
    row = project.store.row("SELECT * FROM checks WHERE clip = ?", clip.id)
    values = clip.values
    seen = (row["text"], row["start"], row["end"]) if row else None
    if row is None or seen != (values.text, values.start, values.end):
        return []
    return [Finding(*each) for each in json.loads(row["findings"])]


def split_at_word(project: Project, clip: Clip, index: int) -> Proposal:
    """Cut a clip before a word, where it is quiet."""
    words = timed_words(project, clip)
    if not words:
        raise EditError(
            "When the words of this clip are spoken is not known.",
            "Put the cursor into the waveform and into the text, and split there.",
        )
    return editing.split_at_word(clip, words, index, _levels(project, clip.values.recording))


def _heard_words(
    project: Project, values: Values, kind: Kind, in_order: bool = True
) -> Sequence[Word]:
    hearing = project.hearings.newest(values.recording, kind)
    if hearing is None:
        return ()
    near = _words_near(project, hearing, values)
    seconds = project.recordings.find(values.recording).seconds
    ordered = put_in_order(near, seconds) if in_order else by_middle(near)
    return within(ordered, values.start, values.end)


def _words_near(project: Project, hearing: Hearing, values: Values) -> list[Word]:
    # An hour of speech has 10,000 words: to read and order all of them takes 70 ms.
    first, last = values.start - _AROUND_SECONDS, values.end + _AROUND_SECONDS
    found = project.store.rows(
        'SELECT words FROM stretches WHERE hearing = ? AND "end" > ? AND start < ? ORDER BY start',
        hearing.id,
        first,
        last,
    )
    words = (Word(*each) for row in found for each in json.loads(row["words"]))
    return [word for word in words if word.end > first and word.start < last]


def _levels(project: Project, recording: str) -> Levels | None:
    import numpy as np

    hearing = project.hearings.newest(recording, "whisper", "text")
    if hearing is None:
        return None
    found = project.store.rows(
        "SELECT levels FROM stretches WHERE hearing = ? ORDER BY start", hearing.id
    )
    return np.frombuffer(b"".join(row["levels"] for row in found), "<f2").astype(np.float32)
