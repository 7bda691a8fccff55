"""Settings as the page's form shows them: what each is for, what it may be, what it is at first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, asdict, dataclass, fields, replace
from typing import Any, Literal, TypeVar

from engines.errors import SettingsError
from engines.settings import Checked

Kind = Literal["yes", "whole", "number", "choice", "text"]
Settings = TypeVar("Settings", bound=Checked)


@dataclass(frozen=True, slots=True)
class FormField:
    """One setting, as an input."""

    name: str
    help: str
    kind: Kind
    default: object
    low: float | None
    high: float | None
    choices: tuple[str, ...]


def fields_of(settings: Checked | type[Checked]) -> list[FormField]:
    """Every setting of a kind, in the order in which they are defined."""
    return [_field(each) for each in fields(settings)]


def values_of(settings: Checked) -> dict[str, Any]:
    """What is chosen now, by name."""
    return asdict(settings)


def changed(settings: Settings, typed: Mapping[str, Any]) -> Settings:
    """The settings with what the page sent; raise SettingsError for what may not be."""
    known = {each.name: each for each in fields(settings)}
    unknown = typed.keys() - known.keys()
    if unknown:
        raise SettingsError(f"There is no setting {min(unknown)!r:.60}.", "Reload the page.")
    return replace(settings, **{name: _meant(known[name], value) for name, value in typed.items()})


def _meant(each: Field[Any], value: Any) -> Any:
    """What was typed; in a browser 6.0 and 6 are the same number."""
    is_whole = type(each.default) is int and isinstance(value, float) and value.is_integer()
    return int(value) if is_whole else value


def _field(each: Field[Any]) -> FormField:
    said, choices = each.metadata, tuple(each.metadata.get("choices") or ())
    return FormField(
        name=each.name,
        help=said.get("help", ""),
        kind=_kind(each.default, choices),
        default=each.default,
        low=said.get("low"),
        high=said.get("high"),
        choices=choices,
    )


def _kind(default: object, choices: tuple[str, ...]) -> Kind:
    if isinstance(default, bool):
        return "yes"
    if isinstance(default, (int, float)):
        return "whole" if isinstance(default, int) else "number"
    return "choice" if choices else "text"
