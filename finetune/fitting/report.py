"""Options and rooms as plain values, for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from finetune.fitting.budget import Room
from finetune.fitting.choice import Option


def option_facts(option: Option) -> dict[str, Any]:
    return {
        **asdict(option.way),
        "micro_batch": option.micro_batch,
        "accumulation": option.accumulation,
        "peaks_mb": {name: round(peak / 1e6, 1) for name, peak in option.peaks.items()},
        "taken_mb": round(option.taken / 1e6, 1),
        "over_mb": round(option.over / 1e6, 1),
        "fits": option.fits,
        "clips_per_second": option.clips_per_second,
    }


def room_facts(room: Room) -> dict[str, float]:
    return {
        "total_mb": round(room.total / 1e6, 1),
        "free_mb": round(room.free / 1e6, 1),
        "headroom_mb": round(room.headroom / 1e6, 1),
        "budget_mb": round(room.budget / 1e6, 1),
    }
