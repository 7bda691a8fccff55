"""
What comes piece by piece, for as long as somebody takes it: speech, heard while it is spoken.

A piece is a line of JSON and, where that says so in `bytes`, as many bytes behind it:

    {"kind": "sentence", "text": "Good morning."}
    {"kind": "sound", "rate": 24000, "bytes": 48000}  and 48,000 bytes
    {"kind": "fault", "what": "...", "fix": "..."}    instead of more
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app.errors import in_words
from app.speech.spool import Spool
from engines.errors import StudioError

logger = logging.getLogger(__name__)

KIND = "application/x-timbre-pieces"


@dataclass(frozen=True, slots=True)
class Streamed:
    """Something that comes piece by piece. It is taken to its end by a thread of its own."""

    blocks: Iterator[bytes]
    stop: Callable[[], None]
    """Lets it come to its end soon, from any thread: nobody listens any more."""
    kind: str = KIND


def piece(facts: Mapping[str, Any], content: bytes = b"") -> bytes:
    """One piece as it goes to the page."""
    said = {**facts, "bytes": len(content)} if content else dict(facts)
    return json.dumps(said, ensure_ascii=False).encode("utf-8", "replace") + b"\n" + content


def response(streamed: Streamed) -> Response:
    return _Streaming(streamed)


class _Streaming(Response):
    """Sends what comes while it comes; whoever closes the connection ends it."""

    def __init__(self, streamed: Streamed) -> None:
        self._streamed = streamed
        self.status_code, self.media_type, self.background = 200, streamed.kind, None
        self.init_headers({"Cache-Control": "no-store"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        spool = Spool()
        threading.Thread(
            target=_fill, args=(self._streamed.blocks, spool), name="streamed", daemon=True
        ).start()
        tasks = [
            asyncio.ensure_future(self._send(spool, send)),
            asyncio.ensure_future(_gone(receive)),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            # In a thread, because it may wait for a pipe that is being written to.
            threading.Thread(target=self._streamed.stop, daemon=True).start()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            spool.close()

    async def _send(self, spool: Spool, send: Send) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        async for chunk in spool.chunks():
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _fill(blocks: Iterator[bytes], spool: Spool) -> None:
    """Take all that comes; what went wrong is the last of it."""
    try:
        for block in blocks:
            spool.write(block)
    except Exception as error:
        if not isinstance(error, StudioError):
            logger.exception("What was streamed broke off")
        problem = in_words(error, None)
        spool.write(piece({"kind": "fault", "what": problem.what, "fix": problem.fix}))
    finally:
        spool.finish()
