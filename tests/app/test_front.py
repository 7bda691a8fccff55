"""Tests of app/door.py and app/front.py."""

import asyncio
import base64
import hashlib
import logging
import re

import pytest
from starlette.responses import PlainTextResponse

from app import door
from app import front as answering
from app.door import Asked, Rules, Shown, rules_for
from app.front import Front
from engines.errors import StudioError

PORT = 7860
TOKEN = door.new_token()
OURS = f"127.0.0.1:{PORT}"


class EchoingPage:
    """A page that allows any origin, as some do, and counts who reached it."""

    def __init__(self):
        self.reached = []

    async def __call__(self, scope, receive, send):
        self.reached.append((scope["type"], scope.get("method"), scope["path"]))
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
            return
        headers = dict(scope["headers"])
        echo = {"Access-Control-Allow-Origin": headers.get(b"origin", b"*").decode()}
        await PlainTextResponse("the page", headers=echo)(scope, receive, send)


class Answer:
    def __init__(self, messages):
        start = next((m for m in messages if m["type"] == "http.response.start"), {})
        self.types = [m["type"] for m in messages]
        self.status = start.get("status", 0)
        self.headers = {
            name.decode().lower(): value.decode() for name, value in start.get("headers", [])
        }
        self.text = b"".join(m.get("body", b"") for m in messages).decode()


def ready_front(token=None, listen="127.0.0.1", health=dict):
    front = Front(rules_for(listen, PORT, token), health)
    front.open(EchoingPage())
    return front


async def send_request(front, method="GET", path="/", headers=(), kind="http", query=""):
    """Send one request as raw ASGI, where any Host can be written."""
    told, sent = [{"type": "http.request", "body": b""}], []
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
    scope = {"type": kind, "path": path, "query_string": query.encode(), "headers": raw}
    scope |= {"client": ("192.0.2.7", 1)} | ({"method": method} if kind == "http" else {})

    async def receive():
        return told.pop() if told else {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    await front(scope, receive, send)
    return Answer(sent)


def ask(front, method="GET", path="/", headers=(("Host", OURS),), **more):
    return asyncio.run(send_request(front, method, path, headers, **more))


# ---- Hosts and origins ---------------------------------------------------------------------------

HOSTS = {
    "another site": (["evil.example"], False),
    "another site with our port": ([f"evil.example:{PORT}"], False),
    "a name that resolves to us": ([f"127.0.0.1.nip.io:{PORT}"], False),
    "ipv6": ([f"[::1]:{PORT}"], True),
    "empty": ([""], False),
    "two": ([OURS, "evil.example"], False),
    "upper case": ([f"LOCALHOST:{PORT}"], True),
    "trailing dot": ([f"localhost.:{PORT}"], False),
}
ORIGINS = {"same": True, "http://evil.example": False, "null": False, None: True}
ROUTES = [
    ("http", "GET", "/"),
    ("http", "POST", "/timbre/upload"),
    ("http", "GET", answering.HEALTH),
    ("http", "OPTIONS", "/timbre/call/now"),
    ("websocket", "GET", "/timbre/stream"),
]


@pytest.mark.parametrize("kind, method, path", ROUTES)
@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize("host", HOSTS)
def test_only_our_own_names_and_our_own_page_get_an_answer(host, origin, kind, method, path):
    front = ready_front()
    names, host_is_ours = HOSTS[host]
    headers = [("Host", name) for name in names]
    if origin is not None:
        headers.append(("Origin", f"http://{names[0]}" if origin == "same" else origin))

    answer = ask(front, method, path, headers, kind=kind)

    let_in = host_is_ours and ORIGINS[origin]
    assert (answer.status in (200, 0) and "websocket.close" not in answer.types) == let_in
    assert bool(front._page.reached) == (let_in and path != answering.HEALTH)
    assert not [name for name in answer.headers if name.startswith("access-control-")]


@pytest.mark.parametrize(
    "host",
    [
        "localhost", "localhost:80", "127.0.0.1", "127.1:7860", "2130706433:7860", "0.0.0.0:7860",
        "127.0.0.2:7860", "localhost:07860x", "user@localhost:7860", "localhost:7860:7860",
        "[::1:7860", "::1:7860", "[127.0.0.1]x:7860", "localhost :7860", "localhost:",
        "localhost:7860\x00", "localhost:7860\n", "ｌocalhost:7860", "localhost:７８６０",
    ],
)  # fmt: skip
def test_a_host_that_only_looks_like_ours_is_not(host):
    assert not door.host_is_ours(Rules(PORT), host)


@pytest.mark.parametrize(
    "host", ["127.0.0.1:7860", "localhost:7860", "[::1]:7860", "[0:0:0:0:0:0:0:1]:7860"]
)
def test_every_way_to_write_this_computer_is_ours(host):
    assert door.host_is_ours(Rules(PORT), host)


def test_a_refusal_says_where_to_go_and_how_to_tunnel():
    answer = ask(ready_front(), headers=[("Host", "localhost:9000")])

    assert answer.status == 403
    assert f"http://127.0.0.1:{PORT}" in answer.text
    assert f"ssh -L {PORT}:127.0.0.1:{PORT}" in answer.text


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("method, kind", [("GET", "http"), ("POST", "http"), ("GET", "websocket")])
def test_what_another_page_sends_without_an_origin_is_refused(site, method, kind):
    asked = Asked(kind, method, (OURS,), site=site, mode="no-cors", dest="image")

    assert door.refusal(Rules(PORT), asked).status == 403


@pytest.mark.parametrize(
    "method, dest, let_in", [("GET", "document", True), ("GET", "iframe", False),
                             ("POST", "document", False)]
)  # fmt: skip
def test_a_link_from_elsewhere_opens_the_studio_but_cannot_frame_it_or_post(method, dest, let_in):
    asked = Asked("http", method, (OURS,), site="cross-site", mode="navigate", dest=dest)

    assert (door.refusal(Rules(PORT), asked) is None) == let_in


def test_another_port_of_this_computer_is_another_origin():
    for origin in ("http://127.0.0.1:9999", f"https://{OURS}", f"http://localhost:{PORT}"):
        assert door.refusal(Rules(PORT), Asked("http", "POST", (OURS,), (origin,)))


def test_two_origins_are_refused_even_when_one_is_ours():
    asked = Asked("http", "POST", (OURS,), (f"http://{OURS}", "http://evil.example"))

    assert door.refusal(Rules(PORT), asked)


# ---- Listening beyond this computer --------------------------------------------------------------


@pytest.mark.parametrize("listen", ["0.0.0.0", "::", "192.168.1.5", "[fe80::1]", "workstation"])
def test_listening_on_a_network_without_a_token_is_refused(listen):
    with pytest.raises(StudioError, match="anybody on the network") as caught:
        rules_for(listen, PORT)

    assert "token" in caught.value.fix


@pytest.mark.parametrize("listen", ["127.0.0.1", "localhost", "::1", "[::1]", "127.0.0.5"])
def test_listening_on_this_computer_needs_no_token(listen):
    assert rules_for(listen, PORT).token is None


def test_a_token_that_can_be_guessed_is_refused():
    with pytest.raises(StudioError, match="guessed"):
        rules_for("0.0.0.0", PORT, "hunter2")


def test_new_tokens_differ_and_hold_at_least_128_bits():
    tokens = {door.new_token() for _ in range(100)}

    assert len(tokens) == 100
    assert min(map(len, tokens)) * 6 >= 128


def test_the_address_listened_at_is_a_name_of_ours_and_no_other():
    rules = rules_for("192.168.1.5", PORT, TOKEN)

    assert door.host_is_ours(rules, f"192.168.1.5:{PORT}")
    assert not door.host_is_ours(rules, f"192.168.1.6:{PORT}")
    assert not door.host_is_ours(rules, f"evil.example:{PORT}")


def test_on_every_address_any_address_and_the_machines_name_are_ours_but_no_other_name():
    rules = rules_for("0.0.0.0", PORT, TOKEN, machine="Workstation")

    for host in ("192.168.1.5", "[fe80::1]", "workstation", "workstation.local", "localhost"):
        assert door.host_is_ours(rules, f"{host}:{PORT}")
    assert not door.host_is_ours(rules, f"evil.example:{PORT}")


def test_the_token_does_not_show_when_the_rules_are_printed():
    assert TOKEN not in repr(rules_for("0.0.0.0", PORT, TOKEN))


def test_without_the_token_nothing_is_answered():
    front = ready_front(TOKEN)

    for kind, method, path in ROUTES:
        answer = ask(front, method, path, kind=kind)
        assert answer.status == 401 or "websocket.close" in answer.types
    assert not front._page.reached


def test_the_token_in_the_address_becomes_a_cookie_and_leaves_the_address():
    front = ready_front(TOKEN)

    answer = ask(front, path="/", query=f"view=train&token={TOKEN}")

    assert answer.status == 303
    assert answer.headers["location"] == "/?view=train"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert TOKEN not in cookie


def test_the_cookie_opens_the_page():
    front = ready_front(TOKEN)
    cookie = ask(front, query=f"token={TOKEN}").headers["set-cookie"].split(";")[0]

    answer = ask(front, headers=[("Host", OURS), ("Cookie", f"other=1; {cookie}")])

    assert answer.text == "the page"


@pytest.mark.parametrize("said", [[("Sec-Fetch-Site", "cross-site")], []])
def test_a_link_from_another_page_keeps_its_cookie_by_going_on_from_our_own_page(said):
    headers = [("Host", OURS), ("Accept", "text/html"), ("Sec-Fetch-Mode", "navigate"),
               ("Sec-Fetch-Dest", "document"), *said]  # fmt: skip

    answer = ask(ready_front(TOKEN), path="/a'b</script>", headers=headers, query=f"token={TOKEN}")

    assert answer.status == 200
    assert "location.replace('/a%27b%3C/script%3E')" in answer.text
    assert TOKEN not in answer.text


@pytest.mark.parametrize("path", ["//evil.example", "/\\evil.example", "///evil.example/x"])
def test_the_clean_address_stays_on_this_studio(path):
    location = ask(ready_front(TOKEN), path=path, query=f"token={TOKEN}").headers["location"]

    assert location.startswith("/")
    assert not location.startswith(("//", "/\\"))


@pytest.mark.parametrize("scheme", ["Bearer", "bearer"])
def test_a_program_shows_the_token_in_a_header(scheme):
    headers = [("Host", OURS), ("Authorization", f"{scheme} {TOKEN}")]

    assert ask(ready_front(TOKEN), "POST", "/timbre/upload", headers).text == "the page"


@pytest.mark.parametrize(
    "shown",
    [Shown(query=""), Shown(query="é" * 30), Shown(bearer=TOKEN[:-1]), Shown(bearer=TOKEN + "x"),
     Shown(query="wrong", cookie=door.cookie_value(TOKEN))],
)  # fmt: skip
def test_what_is_not_the_token_is_wrong(shown):
    assert door.entry(Rules(PORT, token=TOKEN), shown) == "wrong"


@pytest.mark.parametrize(
    "cookie",
    ["", TOKEN, door.cookie_value("another token, as long as this")],
    ids=["none", "bare", "other"],
)
def test_an_old_cookie_only_asks_for_the_token_again(cookie):
    assert door.entry(Rules(PORT, token=TOKEN), Shown(cookie=cookie)) == "unknown"


def test_the_wait_begins_after_ten_wrong_tries_grows_and_stays_short():
    waits = [door.wait_before(wrong) for wrong in range(200)]

    assert waits[:10] == [0.0] * 10
    assert waits[10] > 0
    assert waits == sorted(waits)
    assert max(waits) == door.LONGEST_WAIT_S


def test_guessing_gets_slow_and_the_right_token_still_opens_and_clears_the_count(monkeypatch):
    front, waited = ready_front(TOKEN), []

    async def sleep(seconds):
        waited.append(seconds)

    monkeypatch.setattr(answering.asyncio, "sleep", sleep)

    async def guess_then_know():
        host = [("Host", OURS)]
        for _ in range(14):
            assert (await send_request(front, headers=host, query="token=no")).status == 401
        assert (await send_request(front, headers=host, query=f"token={TOKEN}")).status == 303
        assert (await send_request(front, headers=host, query="token=no")).status == 401

    asyncio.run(guess_then_know())

    assert waited == [0.0] * 10 + [0.5, 1.0, 2.0, 4.0, 8.0, 0.0]


def test_guesses_from_many_addresses_do_not_fill_the_memory():
    front = ready_front(TOKEN)
    front._wrong_tries = {str(number): 1 for number in range(answering.REMEMBERED_ADDRESSES)}

    ask(front, query="token=no")

    assert len(front._wrong_tries) == answering.REMEMBERED_ADDRESSES
    assert "192.0.2.7" in front._wrong_tries


# ---- Without the page, and after it ---------------------------------------------------------------


def closed_front(health=dict):
    return Front(Rules(PORT), health)


@pytest.mark.parametrize("method, path", [("GET", "/"), ("POST", "/"), ("GET", "/timbre/words")])
def test_what_is_asked_too_early_is_told_to_come_back(method, path):
    answer = ask(closed_front(), method, path)

    assert answer.status == 503
    assert answer.headers["retry-after"] == "2"


def test_health_tells_what_the_studio_knows_and_how_far_it_is():
    answer = ask(
        ready_front(health=lambda: {"version": "1", "state": "mine"}), path=answering.HEALTH
    )

    assert answer.status == 200
    assert answer.text == '{"version":"1","state":"ready"}'
    assert answer.headers["cache-control"] == "no-store"


def test_health_that_cannot_be_read_says_so_and_is_logged(caplog):
    def broken():
        raise OSError("disk")

    with caplog.at_level(logging.ERROR):
        answer = ask(closed_front(broken), path=answering.HEALTH)

    assert answer.status == 500
    assert "disk" not in answer.text
    assert "could not be read" in caplog.text


def test_every_answer_protects_the_page():
    for front in (ready_front(), closed_front()):
        headers = ask(front).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]


def test_a_page_of_our_own_may_run_what_stands_in_it_and_nothing_else():
    answer = ask(ready_front(TOKEN), headers=[("Host", OURS), ("Accept", "text/html")])

    policy = answer.headers["content-security-policy"]
    style = re.search(r"<style>(.*?)</style>", answer.text, re.S)[1]
    assert base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() in policy
    assert "script-src 'none'" in policy
    assert "unsafe" not in policy + answering.CONTENT_POLICY.decode()


def test_what_a_proxy_would_say_does_not_reach_the_page():
    seen = []

    async def page(scope, receive, send):
        seen.extend(name for name, _ in scope["headers"])
        await PlainTextResponse("ok")(scope, receive, send)

    front = ready_front()
    front.open(page)
    ask(front, headers=[("Host", OURS), ("X-Forwarded-Host", "evil.example"),
                        ("Forwarded", "host=x"),
                        ("Accept", "*/*")])  # fmt: skip

    assert seen == [b"host", b"accept"]


def test_closing_ends_open_streams_properly_and_lets_nobody_in(monkeypatch):
    monkeypatch.setattr(answering, "GOODBYE_S", 0.01)

    async def endless(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"one", "more_body": True})
        await asyncio.sleep(60)

    async def open_then_close():
        front = ready_front()
        front.open(endless)
        stream = asyncio.create_task(send_request(front, headers=[("Host", OURS)]))
        await asyncio.sleep(0.01)
        await front.close()
        late = await send_request(front, headers=[("Host", OURS)])
        return await stream, late

    stream, late = asyncio.run(open_then_close())

    assert stream.text == "one"
    assert stream.types == ["http.response.start", "http.response.body", "http.response.body"]
    assert late.status == 503
