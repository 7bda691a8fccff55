"""A dataset: a frozen selection of clips, divided into those to learn from and those to check with."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from engines.errors import DatasetError
from finetune.transcript import Clip

ADVISED_MINUTES = 2
GOOD_MINUTES = 3
# Neighbours share breath, room and sentence melody: they stay on one side, in blocks this long.
BLOCK_CLIPS = 4
# Clips closer than this may share audio through their pads.
TOUCHING_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class Example:
    """One clip as it was when the dataset was frozen."""

    clip_id: int
    recording: str
    start: float
    end: float
    text: str

    @property
    def seconds(self) -> float:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Dataset:
    """Examples to learn from and examples to check with, the same for the same seed."""

    train: tuple[Example, ...]
    check: tuple[Example, ...]
    seed: int

    @property
    def examples(self) -> tuple[Example, ...]:
        return self.train + self.check


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a person wants to know about a dataset."""

    clips: int
    minutes: float
    words: int
    shortest_seconds: float
    longest_seconds: float
    characters: tuple[tuple[str, int], ...]
    """Each character that is spoken of, with how often, the rarest last."""
    advice: str


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed between two versions, as clip ids."""

    added: tuple[int, ...]
    removed: tuple[int, ...]
    changed: tuple[int, ...]


def freeze(clips: Sequence[Clip], seed: int, check_share: float = 0.1) -> Dataset:
    """Divide the included clips; about `check_share` of their time is kept for checking."""
    if not 0.05 <= check_share <= 0.15:
        raise DatasetError(
            f"{check_share:.0%} for checking is not possible.", "Choose from 5 % to 15 %."
        )
    examples = [_example(clip) for clip in clips if clip.values.included and not clip.values.gone]
    blocks = _blocks(examples)
    if len(blocks) < 2:
        raise DatasetError(
            "There are too few clips to keep some for checking.",
            "Record more, or take more clips in.",
        )
    checked = _choose(blocks, check_share * _seconds(examples), random.Random(seed))
    return Dataset(
        tuple(example for example in examples if example.clip_id not in checked),
        tuple(example for example in examples if example.clip_id in checked),
        seed,
    )


def statistics(dataset: Dataset) -> Statistics:
    """Count what is in it, and say whether it is enough."""
    examples = dataset.examples
    lengths = [example.seconds for example in examples]
    spoken = Counter(sign for example in examples for sign in example.text if not sign.isspace())
    minutes = sum(lengths) / 60
    return Statistics(
        clips=len(examples),
        minutes=minutes,
        words=sum(len(example.text.split()) for example in examples),
        shortest_seconds=min(lengths, default=0.0),
        longest_seconds=max(lengths, default=0.0),
        characters=tuple(spoken.most_common()),
        advice=advice(minutes),
    )


def advice(minutes: float) -> str:
    """Whether there is enough, in a sentence."""
    said = f"{minutes:.1f} minutes"
    if minutes < ADVISED_MINUTES:
        return f"{said}: at least {ADVISED_MINUTES} are advised; more makes a better voice."
    if minutes < GOOD_MINUTES:
        return f"{said}: enough to begin with; from {GOOD_MINUTES} on it gets good."
    return f"{said}: a good amount."


def compare(old: Dataset, new: Dataset) -> Difference:
    """Tell what changed from one version to the next."""
    before = {example.clip_id: example for example in old.examples}
    after = {example.clip_id: example for example in new.examples}
    both = before.keys() & after.keys()
    return Difference(
        added=tuple(sorted(after.keys() - before.keys())),
        removed=tuple(sorted(before.keys() - after.keys())),
        changed=tuple(sorted(each for each in both if before[each] != after[each])),
    )


def _example(clip: Clip) -> Example:
    values = clip.values
    return Example(clip.id, values.recording, values.start, values.end, values.text)


def _blocks(examples: Sequence[Example]) -> list[list[Example]]:
    """Runs of neighbours, cut only where two clips do not touch."""
    blocks: list[list[Example]] = []
    for example in sorted(examples, key=lambda each: (each.recording, each.start)):
        last = blocks[-1][-1] if blocks else None
        same = last is not None and last.recording == example.recording
        touching = last is not None and example.start - last.end < TOUCHING_SECONDS
        if same and (touching or len(blocks[-1]) < BLOCK_CLIPS):
            blocks[-1].append(example)
        else:
            blocks.append([example])
    return blocks


def _choose(blocks: Sequence[list[Example]], wanted: float, rng: random.Random) -> set[int]:
    """
    Draw blocks as long as each brings their time closer to what is wanted; at least one.

    A text that is learned is no check: blocks come first whose texts are said nowhere else.
    """
    said_in = Counter(text for block in blocks for text in _texts(block))
    drawn = rng.sample(blocks, len(blocks))
    drawn.sort(key=lambda block: sum(said_in[text] > 1 for text in _texts(block)))
    chosen: list[Example] = []
    for block in drawn:
        if abs(wanted - _seconds(chosen + block)) < abs(wanted - _seconds(chosen)):
            chosen += block
    return {example.clip_id for example in chosen or min(blocks, key=_seconds)}


def _texts(block: Sequence[Example]) -> set[str]:
    return {" ".join(example.text.casefold().split()) for example in block}


def _seconds(examples: Sequence[Example]) -> float:
    return sum(example.seconds for example in examples)
