"""`POST /v1/audio/speech`: a text is said, and sent while it is being said."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive, Scope, Send

from app.speech import answers
from app.speech.encoding import KINDS, Encoder
from app.speech.loudness import gain_of
from app.speech.spool import Spool
from app.speech.wishes import MOST_BYTES, RefusedError, SpeechWish, read_wish, too_long
from engines.errors import StudioError
from voices.library import Voice
from voices.speaker.speaker import Piece

logger = logging.getLogger(__name__)


class Speech(Iterator[Piece], Protocol):
    """What a speaker gives: see voices/speaker/speaker.py."""

    def close(self) -> None: ...


Say = Callable[[Voice, str, float], Speech]
"""Says a text with a voice at a pace."""
Find = Callable[[str], Voice]
"""Finds a voice by what a client calls it; raises NotFoundError."""


class SpeechEndpoint:
    """Answers requests for speech."""

    def __init__(self, find: Find, say: Say) -> None:
        self._find, self._say = find, say

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            wish = read_wish(await _body(Request(scope, receive)))
            voice = await asyncio.to_thread(self._find, wish.voice)
            speech = await asyncio.to_thread(self._say, voice, wish.text, wish.speed)
        except ClientDisconnect:
            return
        except (RefusedError, StudioError) as error:
            await answers.refused(_refusal(error))(scope, receive, send)
            return
        spool = Spool()
        work = (speech, wish.kind, voice.folder, spool)
        threading.Thread(target=_encode, args=work, name="speech", daemon=True).start()
        try:
            await _until_gone(receive, _answer(wish, spool, scope, receive, send))
        finally:
            # In a thread, because it may wait for a pipe that is being written to.
            threading.Thread(target=speech.close, daemon=True).start()
            spool.close()


async def _body(request: Request) -> bytes:
    """Read a request, and no more of it than can be spoken."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            raise too_long()
    return bytes(body)


def _encode(speech: Speech, kind: str, folder: Path, spool: Spool) -> None:
    """Encode what is said, until it is or nobody listens."""
    encoder: Encoder | None = None
    error: StudioError | None = None
    try:
        for piece in speech:
            if piece.sound is not None and len(piece.sound.samples):
                encoder = encoder or Encoder(kind, piece.sound.rate, gain_of(folder))
                spool.write(encoder.feed(piece.sound))
        if encoder is not None:
            spool.write(encoder.end())
    except StudioError as problem:
        error = problem
    except Exception as problem:
        logger.exception("What was said could not be sent")
        error = StudioError(f"What was said could not be sent ({problem}).", "Try again.")
    finally:
        speech.close()
        spool.finish(error)


async def _until_gone(receive: Receive, answer: Any) -> None:
    """Answer, but only as long as somebody listens."""
    tasks = [asyncio.ensure_future(answer), asyncio.ensure_future(_gone(receive))]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
    if isinstance(results[0], Exception):
        raise results[0]


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _answer(
    wish: SpeechWish, spool: Spool, scope: Scope, receive: Receive, send: Send
) -> None:
    """Send what is said; what goes wrong before the first byte is an error as any other."""
    chunks = spool.chunks()
    try:
        first = await anext(chunks, None)
        if first is None:
            raise RefusedError(400, "The input has nothing to say.", "input", "empty_string")
    except (RefusedError, StudioError) as error:
        await answers.refused(_refusal(error))(scope, receive, send)
        return
    media_type = "text/event-stream" if wish.events else KINDS[wish.kind].media_type
    headers = [(b"content-type", media_type.encode()), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    try:
        await _send_all(wish, first, chunks, send)
    except StudioError as error:
        logger.warning("A text broke off while it was spoken: %s", error)
        if not wish.events:
            return  # without an end: the connection breaks, and the client knows that more was due
        await _send(send, answers.failed(_refusal(error)))
    await _send(send, b"", more=False)


async def _send_all(
    wish: SpeechWish, first: bytes, chunks: AsyncIterator[bytes], send: Send
) -> None:
    await _send(send, answers.delta(first) if wish.events else first)
    async for chunk in chunks:
        await _send(send, answers.delta(chunk) if wish.events else chunk)
    if wish.events:
        await _send(send, answers.done())


async def _send(send: Send, content: bytes, more: bool = True) -> None:
    await send({"type": "http.response.body", "body": content, "more_body": more})


def _refusal(error: RefusedError | StudioError) -> RefusedError:
    return error if isinstance(error, RefusedError) else answers.refusal_of(error)
