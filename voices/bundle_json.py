"""JSON of strangers: read within bounds, so that no reader of it is overrun."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from engines.errors import BundleError
from voices.bundle_zip import AGAIN

_MOST_VALUES = 500_000
_MOST_DEPTH = 32
_MOST_DIGITS = 40


def read_json(content: bytes, name: str) -> Any:
    """Read JSON that has bounds: how deep, how many values, no entry twice, UTF-8 only."""
    try:
        text = content.decode("utf-8")
        if sum(map(text.count, ",[{")) > _MOST_VALUES:
            raise ValueError("too many values")
        value = json.loads(text, object_pairs_hook=_once, parse_int=_whole)
        for string in strings(value):
            string.encode("utf-8")  # half a sign, written as \ud800, would break whoever prints it
    except (ValueError, RecursionError) as error:
        raise BundleError(
            f"{name} is no JSON that Timbre writes ({_said(error)}).", AGAIN
        ) from error
    return value


def _said(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "too deep"
    return "not UTF-8" if isinstance(error, UnicodeError) else f"{error!s:.80}"


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an entry stands there twice")
    return found


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError("a number without end")
    return int(digits)


def strings(value: Any) -> Iterator[str]:
    """Every string in JSON, names of entries too; ValueError where it is too deep."""
    level = [value]
    for _ in range(_MOST_DEPTH):
        yield from (each for each in level if isinstance(each, str))
        keys = [key for each in level if isinstance(each, dict) for key in each]
        inner = [each for outer in level for each in _inside(outer)]
        yield from keys
        if not inner:
            return
        level = inner
    raise ValueError("too deep")


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
