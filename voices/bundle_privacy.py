"""Nothing that leaves this computer says where on it anything lies: a path tells its owner's name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PureWindowsPath
from typing import Any

# Two names after a slash at least: "and/or", "/s" and "https://…" are no places. Each way begins
# with the sign itself and looks back from there, which is what makes long texts quick to search.
_PLACE = re.compile(
    r"/(?<![\w./\\]/)[\w.@+-](?:[\w.@+ -]*\w)?(?:/[\w.@+-](?:[\w.@+ -]*\w)?)+"
    r"|/(?<=[Ff][Ii][Ll][Ee]:/)/*\w"
    r"|/(?<=[A-Za-z]:/)(?<!\w[A-Za-z]:/)[\\/]*[\w.]"
    r"|\\(?<=[A-Za-z]:\\)(?<!\w[A-Za-z]:\\)[\\/]*[\w.]"
    r"|\\\\[\w.-]+\\+[\w$]"
    r"|~(?<![\w~]~)\w*[/\\][\w.]"
)
_BEFORE = re.compile(r"(?:[A-Za-z]|[Ff][Ii][Ll][Ee]):$")


def place_in(text: str) -> str:
    """From the first path in a text that would lead somewhere on a computer to the end, or ""."""
    found = _PLACE.search(text)
    if not found:
        return ""
    before = _BEFORE.search(text, max(found.start() - 5, 0), found.start())
    return text[before.start() if before else found.start() :]


def home_in(text: str, home: Path) -> str:
    """What of a text lies in the user's home folder, or is called like it: "…/anna/…", or ""."""
    if len(home.parts) > 1 and str(home) in text:
        return str(home)
    name = re.escape(home.name)
    found = home.name and re.search(rf"[\\/]{name}(?!\w)|(?<!\w){name}[\\/]", text)
    return found[0] if found else ""


def cleaned(value: Any, home: Path) -> Any:
    """The same without paths, of each the last name only, and without the user's name alone."""
    if isinstance(value, Mapping):
        return {name: cleaned(each, home) for name, each in value.items()}
    if isinstance(value, list):
        return [cleaned(each, home) for each in value]
    return _without_place(value, home) if isinstance(value, str) else value


def _without_place(text: str, home: Path) -> str:
    if place := place_in(text):
        text = text.removesuffix(place) + PureWindowsPath(place).name
    if home_in(text, home):
        text = PureWindowsPath(text).name
    return "" if home.name and text == home.name else text
