"""Tests of app/speech/wishes.py."""

import json

import pytest

from app.speech.wishes import MOST_CHARACTERS, RefusedError, SpeechWish, read_wish


def read(**said):
    return read_wish(json.dumps({"input": "Hello.", "voice": "Ada", **said}).encode())


def test_what_is_left_out_is_as_openai_has_it():
    assert read() == SpeechWish("Hello.", "Ada", "mp3", 1.0, events=False)


def test_null_is_as_left_out():
    assert read(response_format=None, speed=None, stream_format=None) == read()


def test_what_is_said_is_taken():
    wish = read(voice={"id": "3fe5"}, response_format="opus", speed=2, stream_format="sse")

    assert wish == SpeechWish("Hello.", "3fe5", "opus", 2.0, events=True)


@pytest.mark.parametrize("text", ["\ud800", "a\udfff"])
@pytest.mark.parametrize("name", ["input", "voice"])
def test_half_of_a_sign_is_refused(name, text):
    with pytest.raises(RefusedError, match="Unicode") as caught:
        read(**{name: text})

    assert (caught.value.status, caught.value.param) == (400, name)


def test_the_longest_text_is_taken_and_one_more_character_is_refused_with_the_limit():
    assert len(read(input="é" * MOST_CHARACTERS).text) == MOST_CHARACTERS

    with pytest.raises(RefusedError, match="100,000 characters") as caught:
        read(input="é" * (MOST_CHARACTERS + 1))

    assert caught.value.status == 413


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"3", b"null", b"\xff", b"[" * 90_000, b"9" * 9_000, b'{"a":1}{}']
)
def test_a_body_that_is_no_object_is_refused(body):
    with pytest.raises(RefusedError, match="JSON") as caught:
        read_wish(body)

    assert caught.value.status == 400


@pytest.mark.parametrize("speed", [0.2, 4.01, -1, 10**400, "1", True, [1], float("nan"), 1e999])
def test_a_speed_that_is_none_is_refused(speed):
    with pytest.raises(RefusedError, match=r"from 0\.25 to 4\.0"):
        read_wish(b'{"input":"a","speed":%s}' % json.dumps(speed).encode())
