"""The page is for its own computer and its own window: nobody else's request does anything."""

from __future__ import annotations

import socket

import psutil
import pytest

from app import places
from app.front import HEALTH
from app.screen import uploads
from app.screen.routes import application
from tests.app.asking import HOME, PORT
from tests.app.test_studio import Studio

HOSTS = {
    "evil": ("evil.example",),
    "evil with the port": (f"evil.example:{PORT}",),
    "rebinding": (f"127.0.0.1.nip.io:{PORT}",),
    "IPv6 of this computer": (f"[::1]:{PORT}",),
    "empty": ("",),
    "two": (HOME, HOME),
    "uppercase": (f"LOCALHOST:{PORT}",),
    "trailing dot": (f"127.0.0.1.:{PORT}",),
    "another port": ("127.0.0.1:1",),
}
OURS = {"IPv6 of this computer", "uppercase"}
EVIL = "http://evil.example"


# ---- S1: whose name and whose page ----


@pytest.fixture
def every_route(monkeypatch):
    """Each address of the page as (method, target, headers, body), and what of it was really done."""
    done = []

    def noted(name):
        def call(desk):
            done.append(name)

        return call

    monkeypatch.setattr(places, "CALLS", {name: noted(name) for name in places.CALLS})
    monkeypatch.setattr(places, "FILES", {name: noted(name) for name in places.FILES})
    monkeypatch.setattr(places, "STREAMS", {name: noted(name) for name in places.STREAMS})

    async def receive(*given):
        done.append("upload")
        return "0" * 12

    monkeypatch.setattr(uploads, "receive", receive)
    as_json = [(b"content-type", b"application/json")]
    routes = [("GET", each, [], b"") for each in ("/", HEALTH, "/timbre/words/en.json", "/nothing")]
    routes += [
        ("GET", f"/timbre/assets/{each}", [], b"") for each in ("studio.js", "studio.css", "no")
    ]
    routes += [("POST", f"/timbre/call/{name}", as_json, b"{}") for name in places.CALLS]
    routes += [("POST", f"/timbre/stream/{name}", as_json, b"{}") for name in places.STREAMS]
    routes += [("GET", f"/timbre/file/{name}", [], b"") for name in places.FILES]
    routes += [("PUT", "/timbre/upload?name=x", [], b"x")]
    routes += [
        (method, "/timbre/call/now", as_json, b"{}") for method in ("GET", "OPTIONS", "HEAD")
    ]
    return routes, done


def test_no_route_is_left_out_here(studio):
    """A new one belongs into `every_route`, and its names into test_what_lies_elsewhere.py."""
    assert {route.path for route in application(studio.desk).routes} == {
        *("/", "/timbre/words/{language}.json", "/timbre/call/{name}", "/timbre/file/{name}"),
        *("/timbre/stream/{name}", "/timbre/upload", "/timbre/assets"),
    }


@pytest.mark.parametrize("origin", ["same", "evil", "null", None])
@pytest.mark.parametrize("host", HOSTS)
def test_only_our_own_page_under_our_own_name_is_answered(studio, every_route, host, origin):
    routes, done = every_route
    said = {"same": f"http://{HOSTS[host][0]}".lower(), "evil": EVIL, "null": "null"}.get(origin)
    sent = [(b"origin", said.encode())] if said else []
    is_ours = host in OURS and origin in ("same", None)

    answers = [
        studio(target, method, hosts=HOSTS[host], headers=[*headers, *sent], body=body)
        for method, target, headers, body in routes
    ]

    assert bool(done) is is_ours
    assert all("access-control-allow-origin" not in answer.headers for answer in answers)
    if is_ours:
        assert {answer.status for answer in answers} >= {200}
    else:
        assert {answer.status for answer in answers} <= {400, 403}


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_request_that_another_page_caused_does_nothing(studio, every_route, site):
    routes, done = every_route
    modes = (("no-cors", "image"), ("cors", "empty"), ("navigate", "iframe"), ("no-cors", "audio"))
    for mode, dest in modes:
        sent = [
            (f"sec-fetch-{name}".encode(), value.encode())
            for name, value in (("site", site), ("mode", mode), ("dest", dest))
        ]
        for method, target, headers, body in routes:
            assert studio(target, method, headers=[*headers, *sent], body=body).status == 403

    assert done == []


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
def test_a_call_that_a_form_could_send_is_refused(studio, every_route, kind):
    _, done = every_route

    answer = studio(
        "/timbre/call/now", "POST", headers=[(b"content-type", kind.encode())], body=b"{}"
    )

    assert answer.status == 400 and done == []


def test_every_answer_forbids_other_sources_and_guessing_of_types(studio):
    for target in ("/", "/timbre/assets/studio.js", "/timbre/words/en.json", "/nothing", HEALTH):
        headers = studio(target).headers

        policy = headers["content-security-policy"]
        assert (
            "unsafe-eval" not in policy and "unsafe-inline" not in policy.partition("style-src")[0]
        )
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"


# ---- S3: to whom it listens ----


def listening(process):
    return {
        each.laddr.ip
        for each in psutil.Process(process.pid).net_connections("tcp")
        if each.status == psutil.CONN_LISTEN
    }


@pytest.mark.parametrize("flags", [(), ("--listen", "localhost"), ("--listen", "127.0.0.1")])
def test_it_listens_on_this_computer_only(tmp_path, flags):
    running = Studio(tmp_path / "workspace", *flags)
    try:
        running.wait_until_found()

        assert listening(running.process) == {"127.0.0.1"}
    finally:
        running.kill()


def test_on_a_network_nothing_is_answered_without_the_token(tmp_path):
    running = Studio(tmp_path / "workspace", "--listen", "0.0.0.0")
    try:
        port = int(running.wait_until_found().partition("?")[0].rstrip("/").rpartition(":")[2])
        for target in (
            "GET / ",
            "GET /timbre/assets/studio.js ",
            "POST /timbre/call/now ",
            f"GET {HEALTH} ",
        ):
            with socket.create_connection(("127.0.0.1", port), timeout=10) as line:
                line.sendall(
                    f"{target}HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 0\r\n\r\n".encode()
                )

                assert line.recv(100).split()[1] == b"401"
    finally:
        running.kill()


@pytest.mark.parametrize("token", ["", "short"])
def test_on_a_network_a_token_that_can_be_guessed_is_refused(tmp_path, token):
    running = Studio(tmp_path / "workspace", "--listen", "0.0.0.0", "--token", token)

    said, _ = running.process.communicate(timeout=20)

    assert running.process.returncode != 0 and "can be guessed" in said
