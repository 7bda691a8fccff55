"""The application before the page: it guards, and hands on what may come in."""

from __future__ import annotations

import asyncio
import html
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal
from urllib.parse import parse_qsl

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.door import (
    Asked,
    Entry,
    Notice,
    Rules,
    Shown,
    clean_address,
    cookie_name,
    cookie_value,
    entry,
    refusal,
    wait_before,
)
from app.notices import TOKEN_FORM, go_to, page, policy_for

logger = logging.getLogger(__name__)

HEALTH = "/timbre/health"
REMEMBERED_ADDRESSES = 1024
NOT_KEPT = {"Cache-Control": "no-store"}
"""What is true only now: a browser must ask again."""
GOODBYE_S = 0.4
"""How long open requests may go on once the studio is asked to stop."""


class Front:
    """
    The application the server runs: it guards, and hands on to the page it was opened with.

    Where programs ask rather than people, `in_words` makes the answer of what it has to say.
    """

    def __init__(
        self,
        rules: Rules,
        health: Callable[[], dict[str, Any]],
        in_words: Callable[[Notice], Response] | None = None,
    ) -> None:
        self.rules = rules
        self._health = health
        self._in_words = in_words
        self._page: ASGIApp | None = None
        self._closing = False
        self._wrong_tries: dict[str, int] = {}
        self._open_requests: set[asyncio.Task[Any]] = set()

    def moved_to(self, port: int) -> None:
        """Answer at this port, which the server has got."""
        self.rules = replace(self.rules, port=port)

    def open(self, page: ASGIApp) -> None:
        """Hand requests on to the page from now on."""
        self._page = page

    async def close(self) -> None:
        """Let nobody in any more, and end what is open: a stream would hold the server for ever."""
        self._closing = True
        if self._open_requests:
            await asyncio.wait(self._open_requests, timeout=GOODBYE_S)
        for request in self._open_requests:
            request.cancel()

    @property
    def state(self) -> Literal["starting", "ready", "stopping"]:
        """How far the studio is, in one word."""
        if self._closing:
            return "stopping"
        return "ready" if self._page else "starting"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] not in ("http", "websocket"):
            return
        request = asyncio.current_task()
        assert request is not None  # an ASGI application always runs in a task
        reply = _Reply(scope, send)
        self._open_requests.add(request)
        try:
            await self._answer(scope, receive, reply)
        except asyncio.CancelledError:
            if not self._closing:
                raise
            await reply.finish()
        finally:
            self._open_requests.discard(request)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = refusal(self.rules, asked_in(scope))
        if refused is not None:
            await self._say(refused, scope, receive, send)
            return
        entered = await self._enter(scope)
        if entered != "in":
            await self._at_the_door(entered, scope, receive, send)
        elif scope.get("method") in ("GET", "HEAD") and scope["path"] == HEALTH:
            await (await self._health_answer())(scope, receive, send)
        elif self._page is None or self._closing:
            await self._not_ready(scope, receive, send)
        else:
            await self._page(_without_forwarding(scope), receive, send)

    async def _enter(self, scope: Scope) -> Entry:
        """Check the token; a guesser waits longer and longer, the right token clears the count."""
        shown = shown_in(self.rules, scope)
        if self.rules.token is None or not shown.is_try():
            return entry(self.rules, shown)
        address = str((scope.get("client") or ("unknown",))[0])
        await asyncio.sleep(wait_before(self._wrong_tries.get(address, 0)))
        entered = entry(self.rules, shown)
        wrong = self._wrong_tries.pop(address, 0)
        if entered == "wrong":
            self._wrong_tries[address] = wrong + 1  # put last: the oldest address goes first
            if len(self._wrong_tries) > REMEMBERED_ADDRESSES:
                del self._wrong_tries[next(iter(self._wrong_tries))]
        return entered

    async def _at_the_door(
        self, entered: Entry, scope: Scope, receive: Receive, send: Send
    ) -> None:
        if entered == "welcome":
            await self._welcome(scope)(scope, receive, send)
            return
        what = "That token is wrong." if entered == "wrong" else "This studio asks for its token."
        fix = "The token is in the address that Timbre printed when it started."
        await self._say(Notice(401, what, fix), scope, receive, send, TOKEN_FORM)

    def _welcome(self, scope: Scope) -> Response:
        """Keep the token as a cookie and go on at an address without it."""
        to = clean_address(scope["path"], scope["query_string"].decode("latin-1"))
        response: Response = RedirectResponse(to, 303, NOT_KEPT)
        site = Headers(scope=scope).get("sec-fetch-site")
        if site not in ("none", "same-origin") and _reads_html(scope):
            # Perhaps followed from another page: a redirect would then leave a strict cookie at
            # home. Browsers say where a request comes from on this computer only, not on a network.
            link = f'<p><a href="{html.escape(to)}">Open the studio</a></p>'
            response = own_page(page("Timbre", link, go_to(to)), headers=NOT_KEPT)
        token = self.rules.token or ""
        response.set_cookie(
            cookie_name(self.rules), cookie_value(token), httponly=True, samesite="strict"
        )
        return response

    async def _health_answer(self) -> Response:
        state: dict[str, Any] = {"state": self.state}
        try:
            known = await asyncio.to_thread(self._health)
        except Exception:
            logger.exception("The health of the studio could not be read")
            return JSONResponse({**state, "error": "health could not be read"}, 500, NOT_KEPT)
        return JSONResponse({**known, **state}, headers=NOT_KEPT)

    async def _not_ready(self, scope: Scope, receive: Receive, send: Send) -> None:
        notice = Notice(503, f"Timbre is {self.state}.", "Try again in a moment.")
        await self._say(notice, scope, receive, send, headers={"Retry-After": "2"})

    async def _say(
        self,
        notice: Notice,
        scope: Scope,
        receive: Receive,
        send: Send,
        more: str = "",
        headers: dict[str, str] | None = None,
    ) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": notice.what})
            return
        response: Response = PlainTextResponse(f"{notice.what} {notice.fix}", notice.status)
        if self._in_words is not None:
            response = self._in_words(notice)
        elif _wants_page(scope):
            body = f"<h1>{html.escape(notice.what)}</h1><p>{html.escape(notice.fix)}</p>{more}"
            response = own_page(page("Timbre", body), notice.status)
        if notice.status == 401:
            response.headers["WWW-Authenticate"] = "Bearer"
        response.headers.update(headers or {})
        await response(scope, receive, send)


def own_page(text: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A small page of our own, allowed the style and the script that stand in it and nothing else."""
    return HTMLResponse(
        text, status, {**(headers or {}), "Content-Security-Policy": policy_for(text)}
    )


def asked_in(scope: Scope) -> Asked:
    """Read from a request what decides whether it may come in."""
    headers = Headers(scope=scope)
    return Asked(
        kind=scope["type"],
        method=scope.get("method", "GET"),
        hosts=tuple(headers.getlist("host")),
        origins=tuple(headers.getlist("origin")),
        site=headers.get("sec-fetch-site", ""),
        mode=headers.get("sec-fetch-mode", ""),
        dest=headers.get("sec-fetch-dest", ""),
    )


def shown_in(rules: Rules, scope: Scope) -> Shown:
    """Read from a request what it shows to prove that it knows the token."""
    headers = Headers(scope=scope)
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    query = dict(reversed(parse_qsl(scope["query_string"].decode("latin-1"), True)))
    return Shown(
        query=query.get("token") if scope.get("method") in ("GET", "HEAD") else None,
        bearer=bearer.strip() if scheme.lower() == "bearer" else None,
        cookie=cookie_parser(headers.get("cookie", "")).get(cookie_name(rules)),
    )


def _without_forwarding(scope: Scope) -> Scope:
    """Drop what a proxy would add: none stands before us, and nothing behind us should believe it."""
    untrusted = (b"x-forwarded-", b"forwarded")
    kept = [pair for pair in scope["headers"] if not pair[0].lower().startswith(untrusted)]
    return {**scope, "headers": kept}


def _wants_page(scope: Scope) -> bool:
    if scope.get("method") not in ("GET", "HEAD"):
        return False
    return scope["path"] == "/" or _reads_html(scope)


def _reads_html(scope: Scope) -> bool:
    return "text/html" in Headers(scope=scope).get("accept", "")


SAFE_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
# Nothing is fetched from or sent to anywhere else, and no script or style runs that is not a file
# of ours; players make addresses of their own (blob:) for sounds that are put together in the page.
CONTENT_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    b"img-src 'self' data: blob:; media-src 'self' blob:; "
    b"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_POLICY = b"content-security-policy"


def safe_headers(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Add what protects the page, and take away every permission given to other pages."""
    replaced = {name for name, _ in SAFE_HEADERS}
    kept = [
        (name, value)
        for name, value in headers
        if name.lower() not in replaced and not name.lower().startswith(b"access-control-")
    ]
    # Our own small pages bring theirs, which names what stands in them.
    has_policy = any(name.lower() == _POLICY for name, _ in kept)
    return [*kept, *SAFE_HEADERS, *([] if has_policy else [(_POLICY, CONTENT_POLICY)])]


class _Reply:
    """Sends one answer with safe headers, and can end it properly when the studio stops."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._kind = scope["type"]
        self._send = send
        self._started = self._ended = False

    async def __call__(self, message: Message) -> None:
        if message["type"].endswith("http.response.start"):
            headers = safe_headers(message.get("headers", ()))
            message = {**message, "headers": headers}
            self._started = True
        elif message["type"] == "http.response.body":
            self._ended = not message.get("more_body", False)
        await self._send(message)

    async def finish(self) -> None:
        """End the answer as if it were complete."""
        if self._kind == "websocket":
            await self._send({"type": "websocket.close", "code": 1001})
            return
        if not self._started:
            close = (b"connection", b"close")
            await self({"type": "http.response.start", "status": 503, "headers": [close]})
        if not self._ended:
            await self({"type": "http.response.body", "body": b"", "more_body": False})
