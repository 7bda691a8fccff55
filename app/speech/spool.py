"""What is ready to be sent: on the disk, so that a slow listener neither waits nor fills the memory."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import AsyncIterator
from contextlib import suppress

from engines.errors import StudioError

_CHUNK = 1 << 16
# What fits stays in memory: most texts are a few sentences.
_IN_MEMORY = 1 << 18


class Spool:
    """Written by one thread and sent by the loop that made it."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - closed by `close`
        self._lock = threading.Lock()
        self._size = 0
        self._over = False
        self._error: StudioError | None = None
        self._loop = asyncio.get_running_loop()
        self._more = asyncio.Event()

    def write(self, content: bytes) -> None:
        with self._lock:
            if content and not self._file.closed:
                self._file.seek(self._size)
                self._file.write(content)
                self._size += len(content)
        self._wake()

    def finish(self, error: StudioError | None = None) -> None:
        """Say that nothing more comes, or why it does not."""
        self._error = error
        self._over = True
        self._wake()

    async def chunks(self) -> AsyncIterator[bytes]:
        """Give what is written as it comes; raise the error it ended with."""
        at = 0
        while True:
            self._more.clear()
            over = self._over  # before reading: what was written until then is read below
            content = self._read(at)
            at += len(content)
            if content:
                yield content
            elif over:
                break
            else:
                await self._more.wait()
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        with self._lock:
            self._file.close()

    def _read(self, at: int) -> bytes:
        with self._lock:
            self._file.seek(at)
            return self._file.read(_CHUNK)

    def _wake(self) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody listens any more
            self._loop.call_soon_threadsafe(self._more.set)
