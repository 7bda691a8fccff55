"""The speech server's application: speech, voices and models, as OpenAI's clients ask for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.speech import answers
from app.speech.speech import Find, Say, SpeechEndpoint
from app.speech.wishes import RefusedError
from engines.errors import StudioError
from voices.library import Voice

MODEL = "timbre"
# Clients want a date; it is not one of anything.
_MODEL_FACTS = {"id": MODEL, "object": "model", "created": 0, "owned_by": "timbre"}


def build(find: Find, say: Say, listed: Callable[[], list[Voice]]) -> Starlette:
    """Make the application."""

    async def voices(_: Request) -> Response:
        found = await asyncio.to_thread(listed)
        return answers.as_json({"object": "list", "voices": [_facts(voice) for voice in found]})

    async def models(_: Request) -> Response:
        return answers.as_json({"object": "list", "data": [_MODEL_FACTS]})

    async def model(request: Request) -> Response:
        name = request.path_params["name"]
        if name != MODEL:
            raise RefusedError(404, f"There is no model {name!r}.", "model", "model_not_found")
        return answers.as_json(_MODEL_FACTS)

    routes = [
        Route("/v1/audio/speech", SpeechEndpoint(find, say), methods=["POST"]),
        Route("/v1/audio/voices", voices),
        Route("/v1/models", models),
        Route("/v1/models/{name:path}", model),
    ]
    handlers: dict[Any, Any] = {
        RefusedError: _refused,
        StudioError: _problem,
        HTTPException: _by_status,
        Exception: _bug,
    }
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.router.redirect_slashes = False
    return app


def _facts(voice: Voice) -> dict[str, Any]:
    return {
        "id": voice.id,
        "name": voice.name,
        "language": voice.language,
        "engine": voice.engine,
        "tags": list(voice.tags),
    }


async def _refused(_: Request, error: RefusedError) -> Response:
    return answers.refused(error)


async def _problem(_: Request, error: StudioError) -> Response:
    return answers.refused(answers.refusal_of(error))


async def _by_status(request: Request, error: HTTPException) -> Response:
    what = f"{request.method} {request.url.path} is nothing that is answered here: {error.detail}."
    response = answers.refused(RefusedError(error.status_code, what))
    response.headers.update(error.headers or {})
    return response


async def _bug(_: Request, error: Exception) -> Response:
    message = "Something went wrong in Timbre. The details are where it was started."
    return answers.refused(RefusedError(500, message))
