"""What a request for speech asks, read and checked: decisions only."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from app.speech.encoding import KINDS

MOST_CHARACTERS = 100_000
# Each character may be written as two escapes of six.
MOST_BYTES = 12 * MOST_CHARACTERS + 65_536
SLOWEST, QUICKEST = 0.25, 4.0
BUILT_IN = frozenset(
    ["alloy", "ash", "ballad", "cedar", "coral", "echo", "fable", "marin", "nova", "onyx", "sage",
     "shimmer", "verse"]
)  # fmt: skip
"""Voices that programs ask for unless told otherwise."""
_TOO_LONG = f"{MOST_CHARACTERS:,} characters can be spoken at once: divide the text."

StreamFormat = Literal["audio", "sse"]


class RefusedError(Exception):
    """A request that is not answered as it wished, in the words of OpenAI's errors."""

    def __init__(
        self, status: int, message: str, param: str | None = None, code: str | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.param, self.code = status, message, param, code


@dataclass(frozen=True, slots=True)
class SpeechWish:
    """What is to be said, with which voice, and how it is sent."""

    text: str
    voice: str
    """A name or an id; "" where none is said."""
    kind: str = "mp3"
    speed: float = 1.0
    events: bool = False
    """Whether it is sent as events of JSON rather than as it is."""


def read_wish(body: bytes) -> SpeechWish:
    """Read a request's body; raise RefusedError for what cannot be said. What is unknown is ignored."""
    asked = _parsed(body)
    return SpeechWish(
        _text(asked),
        _voice(asked.get("voice")),
        _one_of(asked, "response_format", tuple(KINDS), "mp3"),
        _speed(asked.get("speed")),
        _one_of(asked, "stream_format", ("audio", "sse"), "audio") == "sse",
    )


def too_long() -> RefusedError:
    return RefusedError(413, f"The request is too long: {_TOO_LONG}", "input", "string_too_long")


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise RefusedError(400, f"The body is no JSON: {reason}.", None, "invalid_json") from error
    if not isinstance(asked, dict):
        raise RefusedError(400, "The body is no JSON object.", None, "invalid_json")
    return asked


def _text(asked: dict[str, Any]) -> str:
    text = _string(asked.get("input"), "input")
    if len(text) > MOST_CHARACTERS:
        raise RefusedError(
            413, f"The input has {len(text):,} characters. {_TOO_LONG}", "input", "string_too_long"
        )
    if not text.strip():
        raise RefusedError(400, "The input has nothing to say.", "input", "empty_string")
    return text


def _voice(said: object) -> str:
    if isinstance(said, dict):
        return _string(said.get("id"), "voice")
    return "" if said is None else _string(said, "voice")


def _string(value: object, name: str) -> str:
    if not isinstance(value, str):
        what = "is missing" if value is None else "is no text"
        raise RefusedError(400, f"`{name}` {what}.", name, "invalid_type")
    # Half of a sign, which JSON can write: it is nothing that can be said, kept or found.
    if any("\ud800" <= sign <= "\udfff" for sign in value):
        raise RefusedError(400, f"`{name}` is no valid Unicode.", name, "invalid_value")
    return value


def _one_of(asked: dict[str, Any], name: str, known: tuple[str, ...], usual: str) -> str:
    value = asked.get(name)
    if value is None:
        return usual
    if not isinstance(value, str) or value not in known:
        choices = ", ".join(known)
        raise RefusedError(400, f"`{name}` must be one of: {choices}.", name, "invalid_value")
    return value


def _speed(value: object) -> float:
    if value is None:
        return 1.0
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not SLOWEST <= value <= QUICKEST:  # type: ignore[operator]  # a number
        raise RefusedError(
            400, f"`speed` must be a number from {SLOWEST} to {QUICKEST}.", "speed", "invalid_value"
        )
    return float(value)  # type: ignore[arg-type]  # as above
