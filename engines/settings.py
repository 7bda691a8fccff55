"""What a setting is: default, limits, one line of help, and the check that keeps within them."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import Field, dataclass, field, fields
from typing import Any, TypeVar

from engines.errors import SettingsError

Value = TypeVar("Value")


def setting(
    default: Value,
    help: str,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: Sequence[str] = (),
) -> Value:
    """Define a field of a settings class: what it is unless changed, and what it may be."""
    limits = {"help": help, "low": low, "high": high, "choices": tuple(choices)}
    found: Value = field(default=default, metadata=limits)
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
    refuse_other(each.name, value, each.metadata.get("choices") or (value,))
    low, high = _limits(each)
    if isinstance(value, (int, float)) and not low <= value <= high:
        raise SettingsError(f"{each.name} is {value:g}, and it must be {_kind(each)}.", _fix(each))


def refuse_other(name: str, value: object, choices: Collection[object]) -> None:
    """Raise SettingsError unless a value is one of these."""
    if value not in choices:
        raise SettingsError(
            f"{name} is {value!r}.", f"Choose one of: {', '.join(map(str, choices))}."
        )


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
