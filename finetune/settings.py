"""Every setting: default, limits, one line of help, and the check that keeps within them."""

from __future__ import annotations

import math
from dataclasses import Field, dataclass, field, fields
from typing import Any, TypeVar

from engines.errors import SettingsError

Value = TypeVar("Value")


def setting(
    default: Value, help: str, *, low: float | None = None, high: float | None = None
) -> Value:
    """Define a field of a settings class: what it is unless changed, and what it may be."""
    found: Value = field(default=default, metadata={"help": help, "low": low, "high": high})
    return found


@dataclass(frozen=True)
class Checked:
    """Settings that refuse a value outside its limits the moment they are made."""

    def __post_init__(self) -> None:
        for each in fields(self):
            _check(each, getattr(self, each.name))
        self.check_together()

    def check_together(self) -> None:
        """Refuse values that are fine alone and not with each other."""


def _check(each: Field[Any], value: object) -> None:
    if not _same_kind(value, each.default):
        raise SettingsError(f"{each.name} is {value!r}, and it must be {_kind(each)}.", _fix(each))
    low, high = _limits(each)
    if isinstance(value, (int, float)) and not low <= value <= high:
        raise SettingsError(f"{each.name} is {value:g}, and it must be {_kind(each)}.", _fix(each))


def _same_kind(value: object, default: object) -> bool:
    # True is an int for Python, and never meant as a number of milliseconds.
    if isinstance(default, float):
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return type(value) is type(default)


def _limits(each: Field[Any]) -> tuple[float, float]:
    low, high = each.metadata.get("low"), each.metadata.get("high")
    return (-math.inf if low is None else low), (math.inf if high is None else high)


def _kind(each: Field[Any]) -> str:
    """Say what a value may be: "a whole number from 0 to 500"."""
    if isinstance(each.default, bool):
        return "yes or no"
    if not isinstance(each.default, (int, float)):
        return "text"
    return ("a number" if isinstance(each.default, float) else "a whole number") + _bounds(each)


def _bounds(each: Field[Any]) -> str:
    low, high = _limits(each)
    if math.isfinite(high - low):
        return f" from {low:g} to {high:g}"
    if math.isfinite(low):
        return f" of {low:g} or more"
    return f" of {high:g} or less" if math.isfinite(high) else ""


def _fix(each: Field[Any]) -> str:
    return f"{each.metadata.get('help', each.name)}: {each.default!r} is a good start."


@dataclass(frozen=True)
class CutSettings(Checked):
    """How long recordings become clips that an engine learns from."""

    min_seconds: float = setting(
        1.5, "Shorter sentences are kept together with a neighbour", low=0.3, high=10
    )
    # XTTS leaves out clips over 255,995 samples (11.6 s at 22,050 Hz) without saying so.
    max_seconds: float = setting(11.0, "Longer speech is cut at a pause", low=3, high=30)
    target_seconds: float = setting(
        6.0, "Clips come as close to this as the sentences allow", low=1, high=30
    )
    sentences: int = setting(2, "Sentences in one clip, unless they are very short", low=1, high=10)
    pause_ms: int = setting(250, "Silence that counts as a pause", low=50, high=2000)
    longest_pause_ms: int = setting(
        1200, "A longer silence between two words ends the clip", low=200, high=10000
    )
    pad_ms: int = setting(
        100, "Kept before the first and after the last word where there is room", low=0, high=500
    )
    longest_edge_ms: int = setting(
        300, "Silence at the ends of a clip beyond this is cut off", low=0, high=2000
    )

    def check_together(self) -> None:
        if not self.min_seconds <= self.target_seconds <= self.max_seconds:
            raise SettingsError(
                f"target_seconds is {self.target_seconds:g}, and it must lie between"
                f" min_seconds ({self.min_seconds:g}) and max_seconds ({self.max_seconds:g}).",
                "Change one of the three.",
            )
        if self.pad_ms > self.longest_edge_ms:
            raise SettingsError(
                f"pad_ms is {self.pad_ms}, more than longest_edge_ms ({self.longest_edge_ms}).",
                "Keep less, or cut less off.",
            )


@dataclass(frozen=True)
class HearSettings(Checked):
    """How what is said in recordings becomes words."""

    language: str = setting("", "The language that is spoken, such as en; found out when empty")
    hot_words: str = setting("", "Names and rare words that are said, so that they are spelt right")
    prompt: str = setting("", "A sentence written the way the transcript should be written")
    # Whisper computes 30 s whatever it is given, so that full windows are the fast ones.
    window_seconds: float = setting(
        30.0, "Sentences are heard together up to this length", low=5, high=30
    )
    beam_size: int = setting(
        5,
        "More ways to understand a sentence are weighed: slower, now and then better",
        low=1,
        high=10,
    )
