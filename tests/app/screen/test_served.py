"""Sounds by range, as players ask for them."""

from __future__ import annotations

import pytest
from starlette.requests import Request

from app.screen.served import Served, response


def asked(served, wanted=""):
    headers = [(b"range", wanted.encode())] if wanted else []
    return response(served, Request({"type": "http", "method": "GET", "headers": headers}))


SOUND = Served(bytes(range(100)), "audio/wav")


@pytest.mark.parametrize(
    ("wanted", "first", "last"),
    [("bytes=0-9", 0, 9), ("bytes=90-", 90, 99), ("bytes=-5", 95, 99), ("bytes=50-900", 50, 99)],
)
def test_a_part_is_given_with_where_it_is(wanted, first, last):
    part = asked(SOUND, wanted)

    assert part.status_code == 206
    assert part.body == bytes(range(first, last + 1))
    assert part.headers["content-range"] == f"bytes {first}-{last}/100"


@pytest.mark.parametrize("wanted", ["", "bytes=", "bytes=-", "lines=1-2", "bytes=1-2,4-5", "x"])
def test_what_is_no_range_gives_all_of_it(wanted):
    whole = asked(SOUND, wanted)

    assert whole.status_code == 200
    assert len(whole.body) == 100
    assert whole.headers["accept-ranges"] == "bytes"


@pytest.mark.parametrize("wanted", ["bytes=100-", "bytes=9-3", "bytes=-0"])
def test_a_range_outside_is_refused(wanted):
    assert asked(SOUND, wanted).status_code == 416


def test_a_download_has_a_name_that_no_header_can_be_made_of():
    sent = asked(Served(b"x", "text/plain", 'a"\r\nSet-Cookie: b=c; ü.txt'))

    assert "\n" not in sent.headers["content-disposition"]
    assert sent.headers["content-disposition"].startswith("attachment;")
    assert "set-cookie" not in sent.headers
