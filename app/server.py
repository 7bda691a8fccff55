"""Serves an application on a port of this computer until it is asked to stop, and then soon."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn

from app.door import EVERY_ADDRESS
from app.front import Front
from engines.errors import StudioError

logger = logging.getLogger(__name__)

PORTS_TO_TRY = 21
LAST_PORT = 65535
LONGEST_STOP_S = 2.5


def serve(
    front: Front,
    *,
    exact_port: bool = False,
    on_ready: Callable[[str], None] | None = None,
    stop: threading.Event | None = None,
) -> None:
    """Serve what the front hands on to, until Ctrl-C, SIGTERM or `stop`."""
    with bind(front.rules.listen, front.rules.port, exact=exact_port) as sock:
        front.moved_to(sock.getsockname()[1])
        server = _Server(_server_config(front))
        with _signals_to(server):
            asyncio.run(_serve(server, sock, front, on_ready, stop))


def address_of(front: Front) -> str:
    """Give the address to open in a browser, with the token where there is one."""
    rules = front.rules
    host = "127.0.0.1" if rules.listen in {*EVERY_ADDRESS, "localhost"} else rules.listen
    host = f"[{host}]" if ":" in host else host
    return f"http://{host}:{rules.port}/" + (f"?token={rules.token}" if rules.token else "")


# ---- The port ------------------------------------------------------------------------------------


def bind(host: str, port: int, *, exact: bool = False) -> socket.socket:
    """Take the wanted port, or the next free one unless exactly this one was asked for."""
    if not 0 <= port <= LAST_PORT:
        raise StudioError(f"{port} is not a port.", f"Choose one from 1024 to {LAST_PORT}.")
    family, address = _resolve(host)
    last = port if exact or port == 0 else min(port + PORTS_TO_TRY - 1, LAST_PORT)
    for candidate in range(port, last + 1):
        sock = _try_to_listen(family, address, candidate)
        if sock is not None:
            return sock
    tried = f"Port {port} is" if last == port else f"The ports {port} to {last} are all"
    raise StudioError(
        f"{tried} used by another program.",
        "Close that program (it may be a Timbre that still runs), or choose another port.",
    )


def _resolve(host: str) -> tuple[socket.AddressFamily, str]:
    """Find the address to listen at; a name that means this computer is 127.0.0.1 everywhere."""
    if host == "localhost":
        return socket.AF_INET, "127.0.0.1"
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        raise _cannot_listen(host) from error
    family, _, _, _, address = found[0]
    return family, str(address[0])


def _try_to_listen(family: socket.AddressFamily, address: str, port: int) -> socket.socket | None:
    # asyncio sends small answers at once only where the protocol is named; else they wait 40 ms.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    # Windows lets two programs share a port unless told otherwise; elsewhere the option only
    # means that a port is free again right after its program ended.
    exclusive = getattr(socket, "SO_EXCLUSIVEADDRUSE", None)
    sock.setsockopt(socket.SOL_SOCKET, exclusive or socket.SO_REUSEADDR, 1)
    try:
        sock.bind((address, port))
        sock.listen()  # at once: two sockets may share a port until one of them listens
    except OSError as error:
        sock.close()
        if error.errno in (errno.EADDRINUSE, errno.EACCES):  # EACCES: reserved by the system
            return None
        raise _cannot_listen(address) from error
    return sock


def _cannot_listen(host: str) -> StudioError:
    return StudioError(
        f"{host} is not an address of this computer.",
        "Leave it out to listen on this computer only, or use 0.0.0.0 for every network.",
    )


# ---- The server ----------------------------------------------------------------------------------


class _Server(uvicorn.Server):
    """Remembers that a signal asked it to stop."""

    signalled = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self.signalled = True


def _server_config(front: Front) -> uvicorn.Config:
    return uvicorn.Config(
        front,
        http="h11",  # the parser that was tested against odd Hosts, also where others are installed
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,  # an address may carry the token
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=1,
    )


@contextmanager
def _signals_to(server: _Server) -> Iterator[None]:
    """Let signals stop the server and nothing else; uvicorn raises them again when it is done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handled = [signal.SIGINT, signal.SIGTERM]
    if sys.platform == "win32":
        handled.append(signal.SIGBREAK)
    before = {number: signal.signal(number, server.handle_exit) for number in handled}
    threading.Thread(target=_end_in_time, args=(server,), daemon=True).start()
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_in_time(server: _Server) -> None:
    """End the process soon after a signal, even if a handler still sleeps in its thread."""
    # A thread that polls, not a timer started by the handler: that could wait for its own lock.
    while not server.signalled:
        time.sleep(0.1)
    time.sleep(LONGEST_STOP_S)
    logger.warning("Something still ran %.1f s after the studio was asked to stop", LONGEST_STOP_S)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    # Work that matters is in jobs and in the store, where a kill loses nothing.
    os._exit(0)


async def _serve(
    server: _Server,
    sock: socket.socket,
    front: Front,
    on_ready: Callable[[str], None] | None,
    stop: threading.Event | None,
) -> None:
    tasks = [
        asyncio.create_task(_stop_when_asked(server, front, stop)),
        asyncio.create_task(_announce(server, front, on_ready)),
    ]
    try:
        await server.serve(sockets=[sock])
    finally:
        server.should_exit = True
        await asyncio.gather(*tasks)


async def _stop_when_asked(server: _Server, front: Front, stop: threading.Event | None) -> None:
    while not server.should_exit:
        server.should_exit = stop is not None and stop.is_set()
        await asyncio.sleep(0.05)
    await front.close()


async def _announce(server: _Server, front: Front, on_ready: Callable[[str], None] | None) -> None:
    while not (server.started or server.should_exit):
        await asyncio.sleep(0.01)
    if on_ready is None or server.should_exit:
        return
    try:
        await asyncio.to_thread(on_ready, address_of(front))
    except Exception:  # a browser that does not open must not close the studio
        logger.exception("The studio is ready, but could not be announced")
