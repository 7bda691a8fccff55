"""Files and sounds for the page, by range, so that a player can jump in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import FileResponse, Response

from engines.errors import NotFoundError


@dataclass(frozen=True, slots=True)
class Served:
    """Something the page can play, show or download."""

    content: bytes | Path
    kind: str
    """Its media type: "audio/flac"."""
    download: str = ""
    """The name under which a browser saves it; empty: it is shown or played."""
    keeps: bool = False
    """Whether it is always the same under this address, so that a browser may keep it."""


def response(served: Served, request: Request) -> Response:
    """Answer with it, or with the part that is asked for."""
    headers = {"Cache-Control": "private, max-age=86400" if served.keeps else "no-cache"}
    if served.download:
        headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{quote(served.download)}"
    if isinstance(served.content, Path):
        if not served.content.is_file():
            raise NotFoundError("This file is not there any more.", "Reload the page.")
        return FileResponse(served.content, media_type=served.kind, headers=headers)
    return _of_bytes(served.content, served.kind, headers, request.headers.get("range", ""))


def _of_bytes(content: bytes, kind: str, headers: dict[str, str], asked: str) -> Response:
    headers["Accept-Ranges"] = "bytes"
    found = re.fullmatch(r"bytes=(\d*)-(\d*)", asked.strip())
    if found is None or not any(found.groups()):
        return Response(content, media_type=kind, headers=headers)
    first, last = _span(found[1], found[2], len(content))
    if first > last:
        headers["Content-Range"] = f"bytes */{len(content)}"
        return Response(b"", 416, headers)
    headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
    return Response(content[first : last + 1], 206, headers, kind)


def _span(first: str, last: str, size: int) -> tuple[int, int]:
    if not first:  # the last so many bytes
        return max(0, size - int(last)), size - 1
    return int(first), min(int(last) if last else size - 1, size - 1)
