"""A studio with one small page, run as a program by the tests beside it.

python -m tests.app.tiny_studio PORT FOLDER [exact]
  exact  insist on the port
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route

from app.door import rules_for
from app.front import Front
from app.server import serve
from engines.errors import StudioError


def sleep(request):
    """Sleep in a thread, where nothing can be cancelled."""
    time.sleep(60)
    return PlainTextResponse("late")


async def count(request):
    async def numbers():
        for number in range(1000):
            yield f"clip {number}\n"
            await asyncio.sleep(0.15)

    return StreamingResponse(numbers())


def main(port: str, folder: str, *words: str) -> None:
    """Serve the page until the process is asked to end."""
    front = Front(rules_for("127.0.0.1", int(port)), lambda: {"program": "tiny"})
    assert not {"fastapi", "gradio", "torch"} & set(sys.modules), "the server must import lightly"
    page = Route("/", lambda _: PlainTextResponse(f"Tiny studio of {Path(folder).name}"))
    front.open(Starlette(routes=[page, Route("/sleep", sleep), Route("/count", count)]))
    try:
        serve(
            front,
            exact_port="exact" in words,
            on_ready=lambda url: print(url, flush=True),
        )
    except StudioError as problem:
        sys.exit(f"{problem.what} | {problem.fix}")
    print("stopped", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
