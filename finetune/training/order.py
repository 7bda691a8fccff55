"""
Which clips each step learns from: every clip once an epoch, clips of like length together.

Nothing here keeps a state. All that is drawn by chance comes from the seed, the epoch and the
clip, so that a run that goes on draws what an unbroken one would have drawn.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from itertools import islice

import numpy as np

# Lengths are taken for so much longer or shorter, anew each epoch, so that clips get other
# neighbours. Of 500 clips of 1-11 s each moves nine places and padding grows by 0.03 at most.
JITTER = 0.05


def steps_of(
    lengths: Sequence[int | float], batch: int, seed: int, epoch: int
) -> list[tuple[int, ...]]:
    """
    Cut an epoch into steps of `batch` clips of like length, in an order of its own.

    What is left over makes no step of less than half a batch, unless there are no more clips.
    """
    luck = _luck("steps", seed, epoch)
    exact = np.asarray(lengths, float)
    blurred = exact * luck.uniform(1 - JITTER, 1 + JITTER, len(exact))
    by_length = np.argsort(blurred, kind="stable").tolist()
    # In a step by their true length, so that its micro-batches too are of like length.
    steps = [
        tuple(sorted(step, key=lambda index: (exact[index], index)))
        for step in _cut(by_length, _step_sizes(len(by_length), batch))
    ]
    return [steps[place] for place in luck.permutation(len(steps))]


def mixed(main: int, extra: int, share: float, seed: int, epoch: int) -> list[int]:
    """
    Choose the clips of an epoch: all `main` of the voice, and so many of others' as `share` says.

    The voice's are 0 to main - 1, the others' the `extra` numbers after them.
    """
    wanted = round(main * share / (1 - share)) if share < 1 else extra
    drawn = _luck("mixed", seed, epoch).choice(extra, min(wanted, extra), replace=False)
    return [*range(main), *(main + int(number) for number in np.sort(drawn))]


def same_voice(voices: Sequence[Hashable]) -> list[Sequence[int]]:
    """List for each clip all clips of its voice, itself among them, from the voice of each."""
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for index, voice in enumerate(voices):
        groups[voice].append(index)
    return [groups[voice] for voice in voices]


def companion_of(index: int, voices: int | Sequence[Sequence[int]], seed: int, epoch: int) -> int:
    """
    Draw another clip of the same voice; the clip itself only when it is alone.

    `voices` is how many clips there are when all are of one voice, else what `same_voice` gives.
    """
    clips = range(voices) if isinstance(voices, int) else voices[index]
    if len(clips) == 1:
        return index
    drawn = _number("companion", seed, epoch, index) % (len(clips) - 1)
    return clips[drawn + (drawn >= bisect_left(clips, index))]


def item_seed(seed: int, epoch: int, index: int) -> int:
    """Give the number from which all chance of one clip in one epoch comes: 63 bits."""
    return _number("item", seed, epoch, index)


def share_for(rank: int, world: int, step: Sequence[int]) -> tuple[int, ...]:
    """
    Take one device's clips of a step: each device has short and long ones alike.

    A step of fewer clips than devices leaves some without any.
    """
    return tuple(step[rank::world])


def micro_batches(indices: Sequence[int], size: int) -> list[tuple[int, ...]]:
    """Cut what a device takes of a step into as few as can be of at most `size`, as equal as can be."""
    return _cut(indices, _equal_sizes(len(indices), -(-len(indices) // size)))


def padding(lengths: Sequence[int | float], batches: Iterable[Sequence[int]]) -> float:
    """Tell which share of the batches is padding, when each is as long as its longest clip."""
    filled = total = 0.0
    for batch in batches:
        own = [lengths[index] for index in batch]
        filled += sum(own)
        total += len(own) * max(own, default=0)
    return 1 - filled / total if total else 0.0


def _step_sizes(clips: int, batch: int) -> list[int]:
    """Full steps, and what is left over last: the longest clips differ most and go in there."""
    full, rest = divmod(clips, batch)
    if not rest:
        return [batch] * full
    if full and rest < batch / 2:
        return [batch] * (full - 1) + _equal_sizes(batch + rest, 2)
    return [batch] * full + [rest]


def _equal_sizes(clips: int, parts: int) -> list[int]:
    """Sizes that differ by one at most, the larger ones first."""
    size, larger = divmod(clips, parts) if parts else (0, 0)
    return [size + (place < larger) for place in range(parts)]


def _cut(clips: Sequence[int], sizes: Sequence[int]) -> list[tuple[int, ...]]:
    rest = iter(clips)
    return [tuple(islice(rest, size)) for size in sizes]


def _luck(purpose: str, seed: int, epoch: int) -> np.random.Generator:
    return np.random.default_rng(_number(purpose, seed, epoch))


def _number(*parts: str | int) -> int:
    text = " ".join(map(str, parts)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") >> 1
