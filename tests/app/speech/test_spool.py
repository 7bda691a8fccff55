"""Tests of app/speech/spool.py."""

import asyncio
import random
import threading
import time

import pytest

from app.speech.spool import Spool
from engines.errors import EngineError


def test_what_one_thread_writes_is_sent_in_order_as_it_comes():
    parts = [random.Random(at).randbytes(at * 97 % 5000) for at in range(300)]

    async def send():
        spool = Spool()

        def write():
            for at, part in enumerate(parts):
                spool.write(part)
                time.sleep(0.001 if at % 50 == 0 else 0)
            spool.finish()

        threading.Thread(target=write).start()
        chunks = [chunk async for chunk in spool.chunks()]
        spool.close()
        return chunks

    chunks = asyncio.run(send())

    assert b"".join(chunks) == b"".join(parts)
    assert len(chunks) > 3
    assert max(map(len, chunks)) <= 1 << 16


def test_what_went_wrong_comes_after_what_was_written():
    async def send():
        spool, sent = Spool(), []
        spool.write(b"one")
        spool.finish(EngineError("It broke.", "Mend it."))
        with pytest.raises(EngineError, match="It broke"):
            async for chunk in spool.chunks():
                sent.append(chunk)
        spool.close()
        return sent

    assert asyncio.run(send()) == [b"one"]


def test_what_is_written_after_everybody_has_gone_is_dropped():
    async def leave():
        spool = Spool()
        spool.close()
        return spool

    spool = asyncio.run(leave())

    spool.write(b"late")
    spool.finish()
