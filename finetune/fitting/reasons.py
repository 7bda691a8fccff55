"""Why a training computes as it does, in sentences with the numbers behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from finetune.fitting.budget import Room, memory
from finetune.fitting.choice import Option
from finetune.fitting.peaks import CHANGE, FIRST, MORE

_STAGES = {
    FIRST: "the first forward and backward pass",
    MORE: "a forward and backward pass beside the gradients of earlier ones",
    CHANGE: "the optimizer",
}
# What most engines call the only thing they train.
_ONLY_TURN = "model"
_WHAT_WOULD = (
    "Close other programs that use the memory, leave out the longest clips, or choose an 8-bit"
    " optimizer or LoRA."
)


def reasons(option: Option, others: Sequence[Option], room: Room) -> list[str]:
    """One sentence for each choice; `others` are the best of each way that was looked at."""
    if not option.fits or not option.peaks:
        return [_too_large(option, room)]
    return [_size(option, room), *_recompute(option, others), *_given_up(option, others)]


def peak_of(option: Option) -> str:
    """The phase that decides how much memory there must be, in words."""
    name = max(option.peaks, key=lambda each: option.peaks[each])
    turn, _, stage = name.rpartition(" ")
    if stage not in _STAGES:
        return name
    of = f" of the {turn}" if turn not in ("", _ONLY_TURN) else ""
    return f"{_STAGES[stage]}{of}"


def _size(option: Option, room: Room) -> str:
    clips = f"{_clips(option)} at once"
    times = "the whole step" if option.accumulation == 1 else f"{option.accumulation} times a step"
    return (
        f"It computes {clips}, {times}: {memory(option.taken)} of the {memory(room.budget)} that may be"
        f" taken ({memory(room.free)} are free), most of it in {peak_of(option)}."
    )


def _clips(option: Option) -> str:
    return f"{option.micro_batch} clip{'s' * (option.micro_batch > 1)}"


def _recompute(option: Option, others: Sequence[Option]) -> list[str]:
    kept, again = (_alike(option, others, recompute) for recompute in (False, True))
    if not option.way.recompute:
        if option.accumulation == 1:
            return ["Activations are kept: there is room for all of a step."]
        slower = f" ({_compared(again, option)})" if again and again.fits else ""
        return [f"Activations are kept: computing them again would not be faster{slower}."]
    if kept is None:
        return ["Activations are computed again."]
    if not kept.fits:
        return [f"Activations are computed again: kept, {memory(kept.over)} would be missing."]
    return [f"Activations are computed again: {_compared(option, kept)}."]


def _alike(option: Option, others: Sequence[Option], recompute: bool) -> Option | None:
    """What is the same but for this."""
    way = replace(option.way, recompute=recompute)
    return next((each for each in others if each.way == way), None)


def _compared(one: Option, other: Option) -> str:
    if one.clips_per_second and other.clips_per_second:
        return f"{one.clips_per_second:.3g} clips a second instead of {other.clips_per_second:.3g}"
    return f"{_clips(one)} at once instead of {other.micro_batch}"


def _given_up(option: Option, others: Sequence[Option]) -> list[str]:
    """Why the voice learns with less than was wished for."""
    full = [each for each in others if each.way.compromise < option.way.compromise]
    if not full:
        return []
    lack = memory(min(each.over for each in full))
    if option.way.lora_rank:
        added = f"LoRA of rank {option.way.lora_rank}"
        return [f"Small additions are learned ({added}): for all weights, {lack} would be missing."]
    return [f"The optimizer keeps its values in 8 bits: in full, {lack} would be missing."]


def _too_large(option: Option, room: Room) -> str:
    may = memory(room.budget) if room.budget > 0 else "nothing"
    if not option.peaks:
        return f"Not even one clip at a time fits: {may} may be taken. {_WHAT_WOULD}"
    return (
        f"Even with {_clips(option)} at a time it takes {memory(option.taken)}, and {may} may be"
        f" taken ({memory(room.free)} are free): {memory(option.over)} are missing. {_WHAT_WOULD}"
    )
