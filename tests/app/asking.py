"""Requests as they come from the network, to a studio's page without one; and hostile words."""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import dataclass, field
from urllib.parse import quote, unquote_to_bytes

PORT = 7860
HOME = f"127.0.0.1:{PORT}"


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def said(self):
        return json.loads(self.body)


class Asker:
    """Asks an ASGI application, one request after the other."""

    def __init__(self, app):
        self._app = app
        self._loop = asyncio.new_event_loop()

    def close(self):
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    def call(self, name, arguments, **more):
        """As the page calls; `arguments` are sent as they are when they are bytes."""
        body = arguments if isinstance(arguments, bytes) else json.dumps(arguments).encode()
        headers = [(b"content-type", b"application/json")]
        return self(
            f"/timbre/call/{quote(name, safe='')}", "POST", body=body, headers=headers, **more
        )

    def __call__(
        self, target, method="GET", *, hosts=(HOME,), headers=(), body=b"", breaks_off=False
    ):
        """Ask for a target as it stands in a request's first line."""
        path, _, query = target.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote_to_bytes(path).decode("utf-8", "surrogateescape"),
            "raw_path": path.encode("latin-1", "replace"),
            "query_string": query.encode("latin-1", "replace"),
            "root_path": "",
            "headers": [*((b"host", host.encode()) for host in hosts), *headers],
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", PORT),
        }
        return self._loop.run_until_complete(self._ask(scope, body, breaks_off))

    async def _ask(self, scope, body, breaks_off):
        answer = Answer(0)
        sent = [{"type": "http.request", "body": body, "more_body": breaks_off}]
        ended = asyncio.Event()

        async def receive():
            if sent:
                return sent.pop()
            if not breaks_off:
                await ended.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            if message["type"] == "http.response.start":
                answer.status = message["status"]
                answer.headers = {
                    name.decode().lower(): value.decode("latin-1")
                    for name, value in message["headers"]
                }
            elif message["type"] == "http.response.body":
                answer.body += message.get("body", b"")
                if not message.get("more_body"):
                    ended.set()

        try:
            await self._app(scope, receive, send)
        except Exception as error:
            return Answer(500, body=repr(error).encode())
        return answer


# ---- Hostile words -------------------------------------------------------------------------------

MARKUP = (
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "<svg onload=alert(1)>",
    "\"><iframe srcdoc='<script>parent.alert(1)</script>'>",
    "javascript:alert(1)",
    "{{constructor.constructor('alert(1)')()}}",
    "${alert(1)}",
    "<a href=javascript:alert(1)>x</a>",
    "</textarea><script>alert(1)</script>",
    "' onmouseover='alert(1)",
    "<math><mtext><script>alert(1)</script></mtext></math>",
    "‮gnp.exe",
)


def places(canary):
    """More than 200 ways to name what lies elsewhere, a file among them that is really there."""
    wanted = [
        *("etc/passwd", "proc/self/environ", "Windows/win.ini", "studio.db", "studio.json"),
        str(canary).lstrip("/"),
    ]
    ups = (
        "../",
        "..\\",
        "%2e%2e/",
        "%2e%2e%2f",
        "..%2f",
        "%252e%252e%252f",
        "....//",
        "..;/",
        "..%5c",
    )
    ups += ("..%c0%af", "..%00/", "./../", "x/../../", "%c0%ae%c0%ae/", "..／", "．．/")
    found = [f"{up * count}{name}" for up in ups for count in (1, 3, 9) for name in wanted[:3]]
    found += [f"{up * 9}{name}" for up in ups[:6] for name in wanted[3:]]
    found += [
        f"{start}{name}"
        for start in ("/", "//", "/./", "file:///", "file://localhost/")
        for name in wanted
    ]
    found += [
        *("\\\\127.0.0.1\\c$\\windows\\win.ini", "\\\\?\\C:\\Windows\\win.ini", "//127.0.0.1/c$/x"),
        *("C:\\Windows\\win.ini", "C:/Windows/win.ini", "c:win.ini", "\\\\.\\PhysicalDrive0"),
        *("CON", "NUL", "COM1", "AUX.txt", "con.json", "LPT1:", "nul\0.txt", "x::$DATA"),
        *(
            "..",
            ".",
            "",
            " ",
            "~",
            "~root",
            "~/.ssh/id_rsa",
            "$HOME",
            "%USERPROFILE%",
            "-rf",
            "--help",
        ),
        *("a\0b", "\0", "a\nb", "a\r\nSet-Cookie: x=1", "\x7f", "\u202e", "\u2028", "é" * 300),
        *(
            "x" * 300,
            "x" * 5000,
            "../" * 200,
            "%s%s%n",
            "*",
            "?",
            "' OR 1=1 --",
            "; touch x",
            "$(touch x)",
        ),
        *(
            "`touch x`",
            "| touch x",
            "http://169.254.169.254/",
            "gopher://x",
            "data:,x",
            "/dev/stdin",
        ),
        *("/dev/zero", "/dev/fd/0", "/proc/self/cmdline", "/proc/self/mem", "/proc/1/maps"),
    ]
    return list(dict.fromkeys(found))


def anything(draw: random.Random, depth=0):
    """Any JSON at all: of the wrong kind, huge, deep, odd."""
    simple = (
        *(None, True, False, 0, -1, 2**31, 2**63, -(2**63) - 1, 10**400, 0.5, -0.0, 1e308),
        *(float("nan"), float("inf"), "", " ", "x", "x" * 100_000, "\0", "\ud800", "🎙" * 500, "‮"),
        *("../../x", "0" * 12, "[]", "null"),
    )
    if depth > 2 or draw.random() < 0.7:
        return draw.choice(simple)
    if draw.random() < 0.5:
        return [anything(draw, depth + 1) for _ in range(draw.randrange(5))]
    return {
        str(draw.choice(simple[12:])): anything(draw, depth + 1) for _ in range(draw.randrange(5))
    }
