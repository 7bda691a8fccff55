"""Answers as OpenAI gives them: errors, and speech as events."""

from __future__ import annotations

import base64
import json
from typing import Any

from starlette.responses import Response

from app.door import Notice
from app.speech.wishes import RefusedError
from engines.errors import (
    NameProblem,
    NotDownloadedError,
    NotFoundError,
    SettingsError,
    StudioError,
    TextError,
)
from voices.speaker.turns import TooManyError

RETRY_AFTER_S = 5
_TYPES = {401: "authentication_error", 429: "rate_limit_error"}
_CODES = {
    400: "bad_request", 401: "invalid_api_key", 403: "forbidden", 404: "not_found",
    405: "method_not_allowed", 429: "rate_limit_exceeded", 503: "unavailable",
}  # fmt: skip


def as_json(said: object, status: int = 200) -> Response:
    # In ASCII: whatever a client wrote can be said back to it.
    return Response(json.dumps(said), status, media_type="application/json")


def refused(error: RefusedError) -> Response:
    """An error as its client expects it."""
    response = as_json({"error": error_facts(error)}, error.status)
    if error.status in (429, 503):
        response.headers["Retry-After"] = str(RETRY_AFTER_S)
    return response


def error_facts(error: RefusedError) -> dict[str, Any]:
    usual = "invalid_request_error" if error.status < 500 else "server_error"
    return {
        "message": error.message,
        "type": _TYPES.get(error.status, usual),
        "param": error.param,
        "code": error.code or _CODES.get(error.status),
    }


def in_words(notice: Notice) -> Response:
    """What is said at the door, to a program."""
    fix = notice.fix
    if notice.status == 401:
        fix = "The token is the api_key that Timbre printed: send it as `Authorization: Bearer`."
    return refused(RefusedError(notice.status, f"{notice.what} {fix}"))


def refusal_of(error: StudioError) -> RefusedError:
    """What a problem is for who asked: their request, a busy server, or a voice that is not well."""
    message = f"{error.what} {error.fix}"
    if isinstance(error, TooManyError):
        return RefusedError(429, message)
    if isinstance(error, NameProblem):
        return RefusedError(400, message, "voice", "invalid_value")
    if isinstance(error, NotFoundError) and not isinstance(error, NotDownloadedError):
        return RefusedError(404, message, "voice", "voice_not_found")
    if isinstance(error, TextError):
        return RefusedError(400, message, "input", "invalid_value")
    if isinstance(error, SettingsError):
        return RefusedError(400, message)
    return RefusedError(503, message)


def delta(content: bytes) -> bytes:
    """A part of the sound as an event."""
    return event({"type": "speech.audio.delta", "audio": base64.b64encode(content).decode()})


def done() -> bytes:
    # Nothing is counted or charged for, but clients look for the numbers.
    usage = dict.fromkeys(("input_tokens", "output_tokens", "total_tokens"), 0)
    return event({"type": "speech.audio.done", "usage": usage})


def failed(error: RefusedError) -> bytes:
    return event({"type": "error", "error": error_facts(error)})


def event(said: object) -> bytes:
    return f"data: {json.dumps(said)}\n\n".encode()
