"""What comes piece by piece: sent as it comes, and ended when nobody listens any more."""

from __future__ import annotations

import asyncio
import json
import threading
import time

from app.screen.streamed import Streamed, piece, response
from engines.errors import EngineError


class Page:
    """A page that listens until it has had enough."""

    def __init__(self, enough=99):
        self.sent, self._enough, self._gone = [], enough, asyncio.Event()

    async def receive(self):
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message):
        self.sent.append(message)
        if len(self.sent) > self._enough:
            self._gone.set()

    @property
    def body(self):
        return b"".join(each.get("body", b"") for each in self.sent)


def listened(blocks, enough=99, stop=lambda: None):
    """Answer a page, and give it with how long that took."""

    async def answer():
        page = Page(enough)
        scope = {"type": "http", "method": "POST", "path": "/", "headers": []}
        await response(Streamed(iter(blocks), stop))(scope, page.receive, page.send)
        return page

    before = time.monotonic()
    return asyncio.run(answer()), time.monotonic() - before


def test_each_piece_is_a_line_and_the_bytes_behind_it():
    page, _ = listened(
        [piece({"kind": "sentence", "text": "é\n"}), piece({"kind": "sound"}, b"12\n")]
    )

    first, second, rest = page.body.split(b"\n", 2)
    assert json.loads(first) == {"kind": "sentence", "text": "é\n"}
    assert json.loads(second) == {"kind": "sound", "bytes": 3}
    assert rest == b"12\n"
    assert (page.sent[0]["status"], page.sent[-1]["more_body"]) == (200, False)
    assert b"content-length" not in dict(page.sent[0]["headers"])


def test_a_piece_is_sent_before_the_next_one_is_there():
    def slowly():
        yield b"first"
        time.sleep(1)
        yield b"second"

    page, _ = listened(slowly(), enough=1)

    assert page.body == b"first"


def test_a_page_that_goes_away_ends_it_at_once_and_what_is_left_is_still_taken():
    ended, taken = threading.Event(), threading.Event()

    def endlessly():
        yield b"first"
        ended.wait(10)
        taken.set()

    _, seconds = listened(endlessly(), enough=1, stop=ended.set)

    assert seconds < 5
    assert taken.wait(2)


def test_what_goes_wrong_comes_last_in_words():
    def breaks():
        yield piece({"kind": "sentence"})
        raise EngineError("It has ended.", "Try again.")

    page, _ = listened(breaks())

    last = json.loads(page.body.splitlines()[-1])
    assert last == {"kind": "fault", "what": "It has ended.", "fix": "Try again."}
