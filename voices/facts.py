"""
What a voice tells of itself (voice.json), read so that whoever shows it need not doubt it.

A file may come from a stranger: of what Timbre writes there, what is of another kind is left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

# No figure of a voice is near it, and every page can hold it.
_LARGEST = 1e15
Kind = Callable[[Any], Any]


def read(path: Path) -> dict[str, Any]:
    """What stands there; nothing where it cannot be read, for the voice counts."""
    try:
        return well_formed(json.loads(path.read_bytes()))
    except (OSError, ValueError, RecursionError):
        return {}


def well_formed(said: Any) -> dict[str, Any]:
    """The same, with every field that Timbre knows of its kind."""
    return _formed(said, _FIELDS)


def _formed(value: Any, kinds: Mapping[str, Kind]) -> dict[str, Any]:
    return {
        name: kinds[name](each) if name in kinds else each for name, each in _table(value).items()
    }


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any) -> float | None:
    is_one = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_one and -_LARGEST < value < _LARGEST else None


def _texts(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


_ORIGIN: dict[str, Kind] = {
    **dict.fromkeys(("project", "base_fingerprint", "continues", "run"), _text),
    **dict.fromkeys(("version", "step"), _number),
}
_FIELDS: dict[str, Kind] = {
    **dict.fromkeys(
        ("name", "engine", "language", "why", "made", "sample_text", "reference_text"), _text
    ),
    "sample_similarity": _number,
    "licence": lambda value: _formed(value, {"code": _text, "base": _texts}),
    "from": lambda value: _formed(value, _ORIGIN),
    "scores": lambda value: {name: _number(each) for name, each in _table(value).items()},
    "settings": lambda value: _formed(value, {"train": _table, "engine": _table}),
}
