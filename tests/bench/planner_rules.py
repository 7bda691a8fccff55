"""
How other programs choose how many clips to compute at once, written anew from descriptions.

Each rule is given a case, and a trial that tells whether so many clips at once ran. A person who
wants fewer clips behind each change takes no more than those. Where training itself then runs out
of memory, people halve the number until it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Protocol

from tests.bench.planner_cases import Case

# F5-TTS counts in frames of 256 samples at 24,000 Hz, and takes at most 64 clips at once, or a
# quarter of fewer than 64.
_F5_FRAMES_PER_SECOND, _F5_MOST_CLIPS, _F5_SHARE_OF_FEW = 93.75, 64, 0.25
_LIGHTNING_INIT, _LIGHTNING_STEPS, _LIGHTNING_MARGIN = 2, 3, 0.05
_NEMO_START, _NEMO_GAP, _NEMO_SHARE = 32, 0.05, 0.9
# Lightning's limit. The others have none, and would not end where a clip costs nothing.
_MOST = 8192


class Trial(Protocol):
    """Runs a step, and tells whether memory was enough."""

    def __call__(
        self, clips: int, *, length: int | None = None, alone: bool = False, share: float = 1.0
    ) -> bool:
        """
        Try so many clips at once, of the longest unless told otherwise.

        It is a step of the training, so there are other micro-batches before it; not when `alone`.
        The allocator may take this `share` of the card.
        """


Rule = Callable[[Case, Trial], int | None]
"""Gives the micro-batch a person ends up with; None when training never ran."""


# ---- A number from a formula ---------------------------------------------------------------------


def f5_frames(case: Case, try_: Trial) -> int | None:
    """F5-TTS, batches by frames: the whole memory of the card, and at least the longest clip."""
    longest = int(case.longest / case.units_per_second * _F5_FRAMES_PER_SECOND)
    frames = max(int(38400 * (case.total_gib - 5) / 75), longest)
    few = len(case.lengths) < _F5_MOST_CLIPS
    most = int(len(case.lengths) * _F5_SHARE_OF_FEW) if few else _F5_MOST_CLIPS
    return _train(case, min(frames // longest, most), try_)


def f5_samples(case: Case, try_: Trial) -> int | None:
    """F5-TTS, batches by clips: the mean length of the clips, and nothing of the card."""
    return _train(case, int(200 / case.mean_seconds), try_)


def gpt_sovits(case: Case, try_: Trial) -> int | None:
    """GPT-SoVITS, and the RVC WebUI alike: half of the card's whole memory in GB."""
    return _train(case, int(case.total_gib + 0.4) // 2, try_)


# ---- A search ------------------------------------------------------------------------------------


def accelerate_from_128(case: Case, try_: Trial) -> int | None:
    """accelerate's `find_executable_batch_size` as it comes: out of memory, from 128 down."""
    return _descended(case, 128, try_)


def accelerate_from_wanted(case: Case, try_: Trial) -> int | None:
    """The same in transformers' `auto_find_batch_size`: from the batch that was asked for."""
    return _descended(case, case.wanted, try_)


def lightning_power(case: Case, try_: Trial) -> int | None:
    """Lightning's BatchSizeFinder, mode "power": out of memory, on the dataset's first clips."""
    runs = _first_clips(case, try_)
    found, failed = _doubled(runs, _LIGHTNING_INIT, len(case.lengths))
    return _train(case, found or _halved(runs, (failed or 0) // 2), try_)


def lightning_binsearch(case: Case, try_: Trial) -> int | None:
    """Lightning's BatchSizeFinder, mode "binsearch": the same, closer, less a margin of 5 %."""
    runs = _first_clips(case, try_)
    found, failed = _doubled(runs, _LIGHTNING_INIT, len(case.lengths))
    found = max(1, found)  # taken for granted
    if failed:
        found = _bisected(runs, found, failed)
    return _train(case, max(1, int(found * (1 - _LIGHTNING_MARGIN))), try_)


def nemo(case: Case, try_: Trial) -> int | None:
    """NeMo's OOMptimizer for one bucket: out of memory at 0.9 of the card, on the longest clips."""

    def runs(clips: int) -> bool:
        return try_(clips, alone=True, share=_NEMO_SHARE)

    found, failed = _doubled(runs, _NEMO_START, _MOST)
    while failed and failed > 1 and not found:
        half = failed // 2
        found, failed = (half, failed) if runs(half) else (0, half)
    if found and failed:
        found = _bisected(runs, found, failed, _NEMO_GAP)
    return _train(case, found, try_)


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "F5-TTS, by frames": f5_frames,
        "F5-TTS, by clips": f5_samples,
        "GPT-SoVITS": gpt_sovits,
        "accelerate, from 128": accelerate_from_128,
        "accelerate, from the wanted batch": accelerate_from_wanted,
        "Lightning, power": lightning_power,
        "Lightning, binsearch": lightning_binsearch,
        "NeMo OOMptimizer": nemo,
    }
)


# ---- Their parts ---------------------------------------------------------------------------------


def _train(case: Case, clips: int | None, try_: Trial) -> int | None:
    """Train with what was found, which nobody has tried as training does it."""
    if not clips:
        return None
    return _halved(try_, min(clips, case.wanted))


def _halved(runs: Callable[[int], bool], clips: int) -> int | None:
    while clips and not runs(clips):
        clips //= 2
    return clips or None


def _descended(case: Case, clips: int, try_: Trial) -> int | None:
    """Each trial is the training, begun anew with a tenth less."""
    while clips and not try_(clips):
        clips = int(clips * 0.9)
    return min(clips, case.wanted) or None


def _first_clips(case: Case, try_: Trial) -> Callable[[int], bool]:
    """Trials as Lightning makes them: a few steps in the order of the dataset, none accumulated."""

    def runs(clips: int) -> bool:
        seen = case.lengths[: _LIGHTNING_STEPS * clips]
        return try_(clips, length=max(seen), alone=True)

    return runs


def _doubled(runs: Callable[[int], bool], clips: int, most: int) -> tuple[int, int | None]:
    """The most that ran, 0 if none, and the fewest that did not."""
    found, clips = 0, min(clips, most)
    while clips > found:
        if not runs(clips):
            return found, clips
        found, clips = clips, min(2 * clips, most)
    return found, None


def _bisected(runs: Callable[[int], bool], found: int, failed: int, gap: float = 0.0) -> int:
    """Close in on the most that runs, until what is left is 1 or this share of what failed."""
    while failed - found > max(1, gap * failed):
        middle = (found + failed) // 2
        if runs(middle):
            found = middle
        else:
            failed = middle
    return found
