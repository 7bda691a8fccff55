"""Takes of prompts: each a recording and a clip whose text is known, level-checked, retakable."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from finetune import aligning
from finetune.editing import leave_out
from finetune.importing import Brought, Source, bring_in
from finetune.media import reading
from finetune.media.decode import Stop
from finetune.projects import Project
from finetune.texts.prompts import Prompt
from finetune.texts.takes import Take, check_take
from finetune.transcript import Clip, Values

RECORDED_AGAIN = "Recorded again."
# One word in five of a right text is doubted now and then: "the" and "a" most of all.
_HEARD, _MISSING_SHARE, _NAMED = 0.4, 0.25, 6


@dataclass(frozen=True, slots=True)
class Taken:
    """What came of a take: how it sounds, and its clip when it could be used at all."""

    problems: tuple[str, ...]
    take: Take | None = None
    clip: Clip | None = None

    @property
    def good(self) -> bool:
        return not self.problems


def add_take(
    project: Project, prompts: str, prompt: Prompt, sound: Path, stop: Stop, language: str = ""
) -> Taken:
    """
    Keep a take of a prompt. A good one replaces the takes before it, which stay, left out.

    `prompts` is what the set of prompts is called; a take with problems is left out and says why.
    Of English it is told, too, whether the prompt is what was read.
    """
    before = _takes(project, prompts, prompt)
    called = _called(prompts, prompt)
    name = f"{called}{1 + sum(each.name.startswith(called) for each in project.recordings.ever())}"
    brought = bring_in(project, Source(sound, name), lambda done, total: None, stop)
    if brought.recording is None or brought.known:
        return Taken(_refused(brought))
    heard = reading.read(project.working_of(brought.recording.id), 0.0, brought.recording.seconds)
    take = check_take(heard.samples, heard.rate)
    if take.good and language == "en":
        take = replace(take, problems=_misread(heard.samples, heard.rate, prompt.text))
    values = Values(
        *(brought.recording.id, take.start, take.end, prompt.text),
        included=take.good,
        reason=" ".join(take.problems),
    )
    replaced = leave_out(before if take.good else (), RECORDED_AGAIN)
    *_, clip = project.transcript.edit(f"record {name}", replaced.edits, (values,))
    return Taken(take.problems, take, clip)


def _takes(project: Project, prompts: str, prompt: Prompt) -> list[Clip]:
    """The clips of the takes so far."""
    called = _called(prompts, prompt)
    recordings = {each.id for each in project.recordings.all() if each.name.startswith(called)}
    return [clip for clip in project.transcript.clips() if clip.values.recording in recordings]


def _misread(samples: NDArray[np.float32], rate: int, text: str) -> tuple[str, ...]:
    """Which words of a prompt are not in its take."""
    heard = aligning.word_times(samples, rate, text)
    sure = {each.text.strip() for each in heard if each.probability >= _HEARD}
    words = [each.text.strip() for each in aligning.tokens_of([(1, text)])]
    missing = [word for word in words if word not in sure]
    if len(missing) <= _MISSING_SHARE * len(words):
        return ()
    named = " ".join(missing[:_NAMED]) + (" …" if len(missing) > _NAMED else "")
    return (f"This is not heard in it: “{named}”. Read it again, or correct the text.",)


def _called(prompts: str, prompt: Prompt) -> str:
    return f"{prompts} {prompt.number:03d}, take "


def _refused(brought: Brought) -> tuple[str, ...]:
    return (" ".join(brought.sentences),)
