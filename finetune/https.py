"""Answers from servers: over lines nobody can read or change, patiently, and left at any moment."""

from __future__ import annotations

import http.client
import os
import queue
import re
import ssl
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlsplit

import certifi

from engines.errors import DownloadError, StudioError
from finetune.jobs.worker import StopWork

Stop = Callable[[], bool]

SILENT_SECONDS = 30.0
"""A server that says nothing for so long is gone."""
PAUSES_SECONDS = (1.0, 2.0, 5.0, 10.0, 20.0)
"""Before each new attempt, counted from the last one that brought anything."""
ELSEWHERE = "or choose a folder on this computer that holds it already."
_POLL_SECONDS = 0.2
_BLOCK_BYTES = 1 << 18
_TEXT_BYTES = 20_000_000
# Busy or ill for a moment; every other refusal stays one.
_PASSING = (408, 425, 429, 500, 502, 503, 504)
_THIS_COMPUTER = ("127.0.0.1", "::1")


def is_offline() -> bool:
    """Whether this process was told to leave the network alone."""
    return os.environ.get("TIMBRE_OFFLINE", "0") not in ("", "0")


def refuse_offline(what: str) -> None:
    """Raise before any connection when it was told to leave the network alone."""
    if is_offline():
        raise DownloadError(
            f"{what} is not downloaded: Timbre was told to stay offline.",
            f"Start it without --offline (or TIMBRE_OFFLINE), {ELSEWHERE}",
        )


def refuse_open_line(url: str) -> None:
    """Raise unless nobody on the way can change it; what stays on this computer may be plain."""
    if urlsplit(url).scheme != "https" and not _stays_here(url):
        raise DownloadError(
            f"{url} would come over a line that others can change.", "Use an address with https."
        )


def may_lead(start: str, target: str) -> bool:
    """Whether an answer may point on: out there only to https, and never back into this computer."""
    return urlsplit(target).scheme == "https" or (_stays_here(start) and _stays_here(target))


def _stays_here(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme == "http" and parts.hostname in _THIS_COMPUTER


def text(url: str, stop: Stop) -> bytes:
    """Fetch a short text."""
    answer = bytearray()

    def ask() -> None:
        answer.clear()
        with closing(Answer(url, 0)) as line:
            line.begin(stop)
            for block in line.blocks(stop):
                answer.extend(block)
                if len(answer) > _TEXT_BYTES:
                    return

    persist(ask, lambda: 0, url, stop)
    return bytes(answer)


def persist(attempt: Callable[[], None], arrived: Callable[[], int], url: str, stop: Stop) -> None:
    """Repeat an attempt that the network broke, until several in a row brought nothing."""
    failures = 0
    while True:
        before = arrived()
        try:
            return attempt()
        except Trouble as trouble:
            failures = 1 if arrived() > before else failures + 1
            if not _may_pass(trouble.cause) or failures > len(PAUSES_SECONDS):
                raise _in_words(trouble.cause, url) from trouble.cause
        _wait(PAUSES_SECONDS[failures - 1], stop)


def heed(stop: Stop) -> None:
    if stop():
        raise StopWork("Stopped while downloading. What has arrived is kept.")


def host_of(url: str) -> str:
    return urlsplit(url).hostname or url


class Trouble(Exception):
    """The network or the server failed; `cause` is how."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


def _wait(seconds: float, stop: Stop) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        heed(stop)
        time.sleep(min(left, _POLL_SECONDS))


def _may_pass(cause: Exception) -> bool:
    """Whether another attempt may succeed."""
    if isinstance(cause, HTTPError):
        return cause.code in _PASSING
    return not _distrusts(cause)


def _distrusts(cause: Exception) -> bool:
    reason = cause.reason if isinstance(cause, URLError) else cause
    return isinstance(reason, ssl.SSLCertVerificationError)


def _in_words(cause: Exception, url: str) -> DownloadError:
    host = host_of(url)
    if _distrusts(cause):
        return DownloadError(
            f"The certificate of {host} is not known, as behind the proxy of a company.",
            f"Set SSL_CERT_FILE to the file with the company's certificate, {ELSEWHERE}",
        )
    if isinstance(cause, HTTPError) and cause.code not in _PASSING:
        return DownloadError(
            f"{host} does not give {unquote(url.rpartition('/')[2])} (it answered {cause.code}).",
            f"Look at {url} in a browser and try again later, {ELSEWHERE}",
        )
    if isinstance(cause, HTTPError):
        what = f"{host} is busy or ill (it answered {cause.code}, several times)."
    else:
        reason = cause.reason if isinstance(cause, URLError) else cause
        what = f"The connection to {host} failed ({str(reason) or type(cause).__name__})."
    return DownloadError(
        what,
        f"Check the connection and do the same again, which goes on where it stopped, {ELSEWHERE}",
    )


class Answer:
    """What a server says to one request, heard in a thread: one that hangs holds nobody up."""

    def __init__(self, url: str, start: int) -> None:
        refuse_open_line(url)
        self._start = start
        self._said: queue.Queue[int | bytes | Exception | None] = queue.Queue(maxsize=16)
        self._left = threading.Event()
        threading.Thread(target=self._listen, args=(url,), daemon=True).start()

    def close(self) -> None:
        """Leave; the thread ends with the next thing it hears, or when the server is silent."""
        self._left.set()

    def begin(self, stop: Stop) -> int | None:
        """Where in the file the answer begins; None when there is nothing from there on."""
        said = self._next(stop)
        assert said is None or isinstance(said, int)
        return said

    def blocks(self, stop: Stop) -> Iterator[bytes]:
        """What follows, as it arrives."""
        while (said := self._next(stop)) is not None:
            assert isinstance(said, bytes)
            yield said

    def _next(self, stop: Stop) -> int | bytes | None:
        while True:
            heed(stop)
            try:
                said = self._said.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                continue
            if isinstance(said, StudioError):
                raise said
            if isinstance(said, Exception):
                raise Trouble(said) from said
            return said

    def _listen(self, url: str) -> None:
        try:
            with _opener().open(_request(url, self._start), timeout=SILENT_SECONDS) as response:
                heard = self._say(_beginning(response, self._start))
                for block in _blocks(response) if heard else ():
                    if not self._say(block):
                        return
            self._say(None)
        except HTTPError as error:
            error.close()
            self._say(None if error.code == 416 and self._start else error)
        except Exception as error:  # raised where somebody waits for it
            self._say(error)

    def _say(self, said: int | bytes | Exception | None) -> bool:
        """Tell it, unless nobody listens any more."""
        while not self._left.is_set():
            try:
                self._said.put(said, timeout=_POLL_SECONDS)
            except queue.Full:
                continue
            return True
        return False


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows where an answer points, unless the line would be open there."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        if not may_lead(req.full_url, newurl):
            fp.close()
            raise DownloadError(
                f"{host_of(req.full_url)} points on to an open line ({newurl}).",
                f"It is not followed: try again later, {ELSEWHERE}",
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> urllib.request.OpenerDirector:
    """A line of its own kind: the system's proxies, no passwords, no cookies, no open redirects."""
    trusted = ssl.create_default_context()
    trusted.load_verify_locations(certifi.where())  # some Pythons on a Mac bring none
    return urllib.request.build_opener(_Redirects(), urllib.request.HTTPSHandler(context=trusted))


def _request(url: str, start: int) -> urllib.request.Request:
    headers = {"User-Agent": "timbre", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    return urllib.request.Request(url, headers=headers)


def _beginning(response: http.client.HTTPResponse, start: int) -> int:
    """Where in the file the answer begins: the server may have left the range out."""
    if response.status != 206:
        return 0
    stated = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
    if not stated or int(stated.group(1)) != start:
        raise http.client.HTTPException("it sent another part than was asked for")
    return start


def _blocks(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """The content as it arrives; one that ends before its stated length is an error."""
    stated = response.headers.get("Content-Length")
    left = int(stated) if stated else None
    while left is None or left > 0:
        block = response.read1(_BLOCK_BYTES if left is None else min(left, _BLOCK_BYTES))
        if not block:
            break
        yield block
        if left is not None:
            left -= len(block)
    if left:
        raise http.client.IncompleteRead(b"", left)
