"""Who may come in: decisions over what a request says of itself, before anything answers it."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
import secrets
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import parse_qsl, quote, urlencode

from engines.errors import StudioError

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
EVERY_ADDRESS = frozenset({"0.0.0.0", "::"})
SHORTEST_TOKEN = 22
"""Characters: 22 of the 64 that `new_token` draws from hold 132 bits."""
FREE_TRIES = 10
LONGEST_WAIT_S = 8.0


@dataclass(frozen=True, slots=True)
class Rules:
    """To whom the studio answers."""

    port: int
    listen: str = "127.0.0.1"
    names: frozenset[str] = LOOPBACK
    every_address: bool = False
    """Listening on every address of this computer: a Host that is an IP address is then ours."""
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Asked:
    """What of a request decides whether it may come in."""

    kind: Literal["http", "websocket"]
    method: str
    hosts: tuple[str, ...]
    origins: tuple[str, ...] = ()
    site: str = ""
    """Sec-Fetch-Site, with mode and dest beside it: browsers send them, a page cannot forge them."""
    mode: str = ""
    dest: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a request shows to prove that it knows the token."""

    query: str | None = None
    bearer: str | None = None
    cookie: str | None = None

    def is_try(self) -> bool:
        """Tell whether somebody typed or sent a token; an old cookie is not a try."""
        return self.query is not None or self.bearer is not None


@dataclass(frozen=True, slots=True)
class Notice:
    """An answer of our own in words: what happened, and what to do."""

    status: int
    what: str
    fix: str


Entry = Literal["in", "welcome", "wrong", "unknown"]


def new_token() -> str:
    """Draw a token of 256 bits."""
    return secrets.token_urlsafe(32)


def rules_for(listen: str, port: int, token: str | None = None, machine: str = "") -> Rules:
    """Work out to whom a studio answers that listens at this address; refuse an open one."""
    address = _plain(listen)
    if not _is_loopback(address) and token is None:
        raise StudioError(
            f"Listening at {listen} would let anybody on the network use this studio.",
            "Give it a token, or leave the address out to listen on this computer only.",
        )
    if token is not None and len(token) < SHORTEST_TOKEN:
        raise StudioError(
            f"A token of {len(token)} characters can be guessed.",
            f"Use at least {SHORTEST_TOKEN} random characters, or let Timbre make one.",
        )
    every = address in EVERY_ADDRESS
    own = {machine.lower(), f"{machine.lower()}.local"} if every and machine else set()
    names = LOOPBACK | own | (set() if every else {address})
    return Rules(port, address, names, every, token)


def refusal(rules: Rules, asked: Asked) -> Notice | None:
    """Say why a request may not come in, or None where it may."""
    if len(asked.hosts) != 1 or not asked.hosts[0]:
        return Notice(400, "The request does not name one host.", _own_address(rules))
    if not host_is_ours(rules, asked.hosts[0]):
        return Notice(403, "This studio does not answer to that name.", _own_address(rules))
    if not (_origin_is_ours(asked) and _site_is_ours(asked)):
        return Notice(403, "Another web page tried to use this studio.", _own_address(rules))
    return None


def host_is_ours(rules: Rules, host: str) -> bool:
    """Tell whether a Host header names this studio; a rebound name never does."""
    split = re.fullmatch(r"(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::([0-9]{1,5}))?", host.lower())
    if split is None or int(split[2] or 80) != rules.port:
        return False
    name = _plain(split[1])
    # No attacker's name resolves to an address written as digits: rebinding needs a name.
    return name in rules.names or (rules.every_address and _address(name) is not None)


def _origin_is_ours(asked: Asked) -> bool:
    """Tell whether the page that asks, if one says so, is our own; `null` is not."""
    # Reading counts too: what follows might echo a foreign Origin and hand it the answer.
    ours = f"http://{asked.hosts[0].lower()}"
    return not asked.origins or [origin.lower() for origin in asked.origins] == [ours]


def _site_is_ours(asked: Asked) -> bool:
    """Tell whether the browser calls the request our own, or a person following a link to us."""
    # Another port of this computer is "same-site", and not ours.
    if asked.site in ("", "none", "same-origin"):
        return True
    reads = asked.kind == "http" and asked.method in ("GET", "HEAD")
    return reads and asked.mode == "navigate" and asked.dest == "document"


def entry(rules: Rules, shown: Shown) -> Entry:
    """Compare what is shown with the token, in constant time."""
    if rules.token is None:
        return "in"
    if shown.query is not None:
        return "welcome" if _same(shown.query, rules.token) else "wrong"
    if shown.bearer is not None:
        return "in" if _same(shown.bearer, rules.token) else "wrong"
    if shown.cookie is not None and _same(shown.cookie, cookie_value(rules.token)):
        return "in"
    return "unknown"


def cookie_name(rules: Rules) -> str:
    """Name the cookie by the port, because browsers keep one jar for all ports of a host."""
    return f"timbre-{rules.port}"


def cookie_value(token: str) -> str:
    """Derive what the cookie holds: other programs on this host see cookies, never the token."""
    return hmac.new(token.encode(), b"timbre cookie", hashlib.sha256).hexdigest()


def wait_before(wrong: int) -> float:
    """Seconds the next try waits after so many wrong ones; it never grows past a short wait."""
    if wrong < FREE_TRIES:
        return 0.0
    return float(min(0.5 * 2 ** min(wrong - FREE_TRIES, 10), LONGEST_WAIT_S))


def clean_address(path: str, query: str) -> str:
    """Give the address without its token, always on this studio."""
    # "//evil.example" would be another host: one slash, and a backslash is quoted.
    rest = urlencode([pair for pair in parse_qsl(query, True) if pair[0] != "token"])
    return "/" + quote(path.lstrip("/")) + (f"?{rest}" if rest else "")


def _same(shown: str, wanted: str) -> bool:
    return hmac.compare_digest(shown.encode(), wanted.encode())


def _plain(name: str) -> str:
    """Write an address the one usual way: no brackets, lower case, IPv6 shortened."""
    bare = name.strip().lower().removeprefix("[").removesuffix("]")
    address = _address(bare)
    return bare if address is None else str(address)


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:  # a name, not an address
        return None


def _is_loopback(name: str) -> bool:
    address = _address(name)
    return name == "localhost" or (address is not None and address.is_loopback)


def _own_address(rules: Rules) -> str:
    # A tunnel keeps the name but changes the port; saying so saves a search.
    return (
        f"Open http://127.0.0.1:{rules.port} instead. Through a tunnel, give both ends the same "
        f"port: ssh -L {rules.port}:127.0.0.1:{rules.port}"
    )
