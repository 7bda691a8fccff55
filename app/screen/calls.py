"""
A call: a function that the page may ask for by name, with arguments as its types say.

The page sends JSON. What does not fit is refused in words before the function sees it, so a
function may rely on its annotations.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import types
from collections.abc import Callable, Mapping
from dataclasses import asdict, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from engines.errors import SettingsError

Call = Callable[..., Any]
"""Takes the desk, then what the page sends, by name."""
_LARGEST = 2**53
_FIX = "Reload the page: it may be older than the studio."


def bound(call: Call, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call; raise SettingsError for one that is missing, unknown or unfit."""
    _, *taken = inspect.signature(call).parameters.values()
    hints = get_type_hints(call)
    unknown = given.keys() - {each.name for each in taken}
    if unknown:
        raise SettingsError(f"Nothing is called {min(unknown)!r:.60} here.", _FIX)
    for each in taken:
        if each.name not in given:
            if each.default is inspect.Parameter.empty:
                raise SettingsError(f"{each.name} is missing.", _FIX)
        elif not fits(given[each.name], hints[each.name]):
            raise SettingsError(f"{each.name} cannot be {given[each.name]!r:.60}.", _FIX)
    return dict(given)


def fits(value: Any, wanted: Any) -> bool:
    """Whether something read from JSON is of an annotated type."""
    kind, inner = get_origin(wanted), get_args(wanted)
    if wanted is Any:
        return True
    if kind in (Union, types.UnionType):
        return any(fits(value, each) for each in inner)
    if kind is Literal:
        return value in inner
    if kind is list:
        return isinstance(value, list) and all(fits(each, inner[0]) for each in value)
    if kind is tuple:
        is_one = isinstance(value, list) and len(value) == len(inner)
        return is_one and all(map(fits, value, inner))
    if is_typeddict(wanted):
        named = get_type_hints(wanted)
        is_known = isinstance(value, dict) and value.keys() <= named.keys()
        return is_known and all(fits(each, named[name]) for name, each in value.items())
    if kind is dict:
        return isinstance(value, dict) and all(fits(each, inner[1]) for each in value.values())
    if wanted is float:
        return _is_number(value)
    if wanted is int:
        return isinstance(value, int) and _is_number(value)
    if wanted is str:
        return isinstance(value, str) and _is_text(value)
    return isinstance(value, type(None) if wanted is None else wanted)


def _is_number(value: Any) -> bool:
    """Whether it is one that a page can hold: the store and the records have room for those."""
    is_one = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_one and -_LARGEST <= value <= _LARGEST


def _is_text(value: str) -> bool:
    """Half a sign, as JSON can name it, is no text and nothing can be done with it."""
    return not any("\ud800" <= sign <= "\udfff" for sign in value)


def from_query(call: Call, query: Mapping[str, str]) -> dict[str, Any]:
    """What an address says after its "?", as the types of a call want it."""
    hints = get_type_hints(call)
    return {name: _read(value, hints.get(name)) for name, value in query.items()}


def _read(value: str, wanted: Any) -> Any:
    try:
        return {int: int, float: float}[wanted](value)
    except (KeyError, ValueError):  # what is no number is refused, in words, when it is bound
        return value


def answer(result: Any, saw: str = "") -> bytes:
    """
    What a call gave, as JSON beside its mark; a page that saw this already is told only that.

    Pages ask again and again for what is going on, and mostly it is as it was.
    """
    body = as_json(result)
    mark = hashlib.sha256(body).hexdigest()[:16]
    return b'{"same":true}' if saw == mark else b'{"mark":"%s","data":%s}' % (mark.encode(), body)


def as_json(result: Any) -> bytes:
    """Anything a call gives; half a sign, which no text can hold, becomes a question mark."""
    body = json.dumps(_plain(result), ensure_ascii=False, separators=(",", ":"))
    return body.encode("utf-8", "replace")


def _plain(result: Any) -> Any:
    """Records as objects, and numbers that JSON has not as nothing."""
    if is_dataclass(result) and not isinstance(result, type):
        return _plain(asdict(result))
    if isinstance(result, Mapping):
        return {str(name): _plain(value) for name, value in result.items()}
    if isinstance(result, (list, tuple, set, frozenset)):
        return [_plain(each) for each in result]
    if isinstance(result, float) and not math.isfinite(result):
        return None
    return result
