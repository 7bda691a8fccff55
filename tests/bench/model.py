"""
What a transcript must hold after a number of actions, kept by plain means to compare with.

Which action comes next follows from a seed and the actions so far, so that the process that
writes and the one that checks afterwards come to the same ones without talking.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from finetune.transcript import Clip, Edit, Transcript, Values

RECORDING = "a" * 12
Kind = Literal["edit", "undo", "redo"]
# Long enough for a row to cross a page of the database now and then.
_WORDS = ("Wort", "word", "слово", "言葉", "🎙️", "x" * 500)


@dataclass(frozen=True, slots=True)
class Wish:
    """One action somebody wants."""

    kind: Kind
    label: str = ""
    edits: tuple[Edit, ...] = ()
    new: tuple[Values, ...] = ()

    def carry_out(self, transcript: Transcript) -> None:
        if self.kind == "edit":
            transcript.edit(self.label, self.edits, self.new)
        elif self.kind == "undo":
            transcript.undo()
        else:
            transcript.redo()


@dataclass(slots=True)
class Done:
    """One action of the history: which clips it changed, from what to what."""

    label: str
    before: dict[int, Values]
    after: dict[int, Values]
    state: str = "done"


@dataclass(frozen=True, slots=True)
class State:
    """Everything a transcript tells of itself, but the time of day."""

    clips: dict[int, Clip]
    history: tuple[tuple[str, str], ...]


@dataclass
class Model:
    """The transcript as it must be after `count` actions."""

    seed: int
    count: int = 0
    clips: dict[int, Clip] = field(default_factory=dict)
    actions: list[Done] = field(default_factory=list)
    revision: int = 0

    def next_wish(self) -> Wish:
        luck = random.Random(f"{self.seed} {self.count}")
        kind = luck.choices(("edit", "new", "undo", "redo"), (6, 2, 2, 1))[0]
        shown = [clip for clip in self.clips.values() if not clip.values.gone]
        if kind in ("undo", "redo"):
            return Wish("undo" if kind == "undo" else "redo")
        label = f"action {self.count}"
        if kind == "new" or not shown:
            return Wish("edit", label, new=tuple(_values(luck) for _ in range(luck.randint(1, 3))))
        chosen = luck.sample(shown, min(len(shown), luck.choice((1, 1, 1, 2, 3))))
        edits = [Edit(clip.id, clip.revision, _changed(luck, clip.values)) for clip in chosen]
        return Wish("edit", label, tuple(edits))

    def follow(self, wish: Wish) -> None:
        """Take an action over, as the transcript does."""
        self.count += 1
        if wish.kind == "edit":
            self._edit(wish)
        elif wish.kind == "undo":
            done = [action for action in self.actions if action.state == "done"]
            self._turn(done[-1:], "undone")
        else:
            undone = [action for action in self.actions if action.state == "undone"]
            self._turn(undone[:1], "done")

    def state(self) -> State:
        listed = tuple((action.label, action.state) for action in reversed(self.actions))
        return State(dict(self.clips), listed)

    def _edit(self, wish: Wish) -> None:
        for action in self.actions:
            action.state = "passed" if action.state == "undone" else action.state
        after = {edit.clip_id: edit.values for edit in wish.edits}
        before = {clip_id: self.clips[clip_id].values for clip_id in after}
        for clip_id, values in enumerate(wish.new, len(self.clips) + 1):
            before[clip_id], after[clip_id] = replace(values, gone=True), values
        self.actions.append(Done(wish.label, before, after))
        for clip_id, values in after.items():
            self.revision += 1
            self.clips[clip_id] = Clip(clip_id, self.revision, values)

    def _turn(self, actions: list[Done], state: str) -> None:
        for action in actions:
            action.state = state
            self.revision = self.revision + 1
            for clip_id, values in (action.after if state == "done" else action.before).items():
                self.clips[clip_id] = Clip(clip_id, self.revision, values)


def states(seed: int) -> Iterator[Model]:
    """Yield the model after no action, after one, after two ..."""
    model = Model(seed)
    while True:
        yield model
        model.follow(model.next_wish())


def after(seed: int, count: int) -> Model:
    """The model after so many actions."""
    return next(model for model in states(seed) if model.count == count)


def read(transcript: Transcript) -> State:
    """What a transcript on disk holds."""
    clips = {clip.id: clip for clip in transcript.clips(since_revision=0)}
    history = tuple((action.label, action.state) for action in transcript.history())
    return State(clips, history)


def _values(luck: random.Random) -> Values:
    start = round(luck.uniform(0, 3000), 3)
    end = start + round(luck.uniform(1, 11), 3)
    return Values(RECORDING, start, end, _text(luck), luck.random() < 0.8, "too quiet")


def _changed(luck: random.Random, values: Values) -> Values:
    """Another text, trimmed, left out, or merged away."""
    return luck.choice(
        (
            replace(values, text=_text(luck)),
            replace(values, start=values.start + 0.1, end=values.end + luck.random()),
            replace(values, included=not values.included, reason="noise"),
            replace(values, gone=True),
        )
    )


def _text(luck: random.Random) -> str:
    return " ".join(luck.choices(_WORDS, k=luck.randint(1, 12))) + f" {luck.random()}"
