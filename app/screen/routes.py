"""
The page and what it asks for, as one application:

    GET  /                       the page, one for every place
    GET  /timbre/assets/...      its scripts and styles
    GET  /timbre/words/zh.json   its words in a language
    POST /timbre/call/NAME       a call, with a JSON object of arguments
    POST /timbre/stream/NAME     the same, and what it gives comes piece by piece (speech)
    GET  /timbre/file/NAME?...   a sound, a picture, something to download
    PUT  /timbre/upload?name=... a file, as the body
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from anyio import to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles

from app import places
from app.errors import in_words
from app.screen import served, streamed, uploads, words
from app.screen.calls import Call, answer, as_json, bound, from_query
from app.screen.desk import Desk
from engines.errors import ConflictError, NotFoundError, SettingsError, StudioError

logger = logging.getLogger(__name__)

ASSETS = Path(__file__).parents[1] / "assets"
LONGEST_CALL_BYTES = 4_000_000
_JSON = "application/json"


def application(desk: Desk) -> Starlette:
    """The page of a studio; who may come in is looked at before it."""
    at = _Routes(desk)
    routes = [
        Route("/", lambda _: FileResponse(ASSETS / "index.html", headers=_REVALIDATED)),
        Route("/timbre/words/{language}.json", at.words),
        Route("/timbre/call/{name}", at.call, methods=["POST"]),
        Route("/timbre/stream/{name}", at.stream, methods=["POST"]),
        Route("/timbre/file/{name}", at.file, methods=["GET"]),
        Route("/timbre/upload", at.upload, methods=["PUT"]),
    ]
    app = Starlette(routes=routes)
    app.mount("/timbre/assets", _Assets(directory=ASSETS))
    return app


# A browser asks whether a script is still the same: an updated studio is never half old.
_REVALIDATED = {"Cache-Control": "no-cache"}


class _Assets(StaticFiles):
    """The page's own files."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers.update(_REVALIDATED)
        return response


class _Routes:
    """The answers, over one desk."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def words(self, request: Request) -> Response:
        try:
            found = words.of(request.path_params["language"])
        except StudioError as error:
            return self._refusal(error, "words")
        return Response(json.dumps(found, ensure_ascii=False), media_type=_JSON)

    async def call(self, request: Request) -> Response:
        """Do one call in a thread: none may hold up the others."""
        name = request.path_params["name"]
        try:
            given = await _object_in(request)
            saw = str(given.pop("saw", ""))
            run = self._bound(places.CALLS, name, given)
            body = await to_thread.run_sync(lambda: answer(run(), saw))
        except Exception as error:
            return self._refusal(error, name)
        return Response(body, media_type=_JSON, headers=_NOT_KEPT)

    async def stream(self, request: Request) -> Response:
        name = request.path_params["name"]
        try:
            run = self._bound(places.STREAMS, name, await _object_in(request))
            return streamed.response(await to_thread.run_sync(run))
        except Exception as error:
            return self._refusal(error, name)

    async def file(self, request: Request) -> Response:
        name = request.path_params["name"]
        try:
            asked = from_query(_named(places.FILES, name), request.query_params)
            found = await to_thread.run_sync(self._bound(places.FILES, name, asked))
            return served.response(found, request)
        except Exception as error:
            return self._refusal(error, name)

    async def upload(self, request: Request) -> Response:
        name, size = request.query_params.get("name", ""), request.headers.get("content-length", "")
        try:
            upload_id = await uploads.receive(
                self._desk.uploads,
                name,
                int(size[:20]) if size.isdecimal() else None,
                request.stream(),
            )
        except Exception as error:
            return self._refusal(error, "upload")
        return Response(answer({"id": upload_id}), media_type=_JSON)

    def _bound(
        self, table: Mapping[str, Call], name: str, given: Mapping[str, Any]
    ) -> Callable[[], Any]:
        call = _named(table, name)
        return partial(call, self._desk, **bound(call, given))

    def _refusal(self, error: Exception, name: str) -> Response:
        """A problem as the page shows it: what happened, and what to do."""
        if not isinstance(error, StudioError):
            logger.exception("What the page asked failed: %s", name)
        problem = in_words(error, self._desk.workspace.root)
        body: dict[str, Any] = {"what": problem.what, "fix": problem.fix}
        if not isinstance(error, StudioError):
            body["fault"] = True
        if isinstance(error, ConflictError):
            body["conflict"] = places.conflict(error)
        return Response(as_json(body), _status(error), media_type=_JSON)


_NOT_KEPT = {"Cache-Control": "no-store"}


def _named(table: Mapping[str, Call], name: str) -> Call:
    if name not in table:
        raise NotFoundError(f"The studio has no {name!r:.60}.", "Reload the page.")
    return table[name]


async def _object_in(request: Request) -> dict[str, Any]:
    # A form of another page cannot send JSON without asking first; the door refuses it anyway.
    if request.headers.get("content-type", "").partition(";")[0].strip() != _JSON:
        raise SettingsError("A call is sent as JSON.", "Reload the page.")
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LONGEST_CALL_BYTES:
            raise SettingsError("That is more than a call may hold.", "Do it in parts.")
    try:
        given = json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise SettingsError("What the page sent cannot be read.", "Reload the page.") from error
    if not isinstance(given, dict):
        raise SettingsError("What the page sent is no object.", "Reload the page.")
    return given


def _status(error: Exception) -> int:
    if isinstance(error, NotFoundError):
        return 404
    if isinstance(error, ConflictError):
        return 409
    return 400 if isinstance(error, StudioError) else 500
