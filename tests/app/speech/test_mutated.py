"""A thousand requests that are nearly right: each is answered, and none breaks anything."""

import http.client
import json
import random

from .serving import served

REQUEST = {
    "model": "tts-1", "input": "1 2", "voice": "Ada", "response_format": "mp3", "speed": 1.0,
    "stream_format": "audio", "instructions": "Slowly.",
}  # fmt: skip
ODD = [
    None, True, 0, -1, 1e308, float("nan"), float("inf"), 10**30, "", " ", "\x00", "\ud800", "é中\u202e",
    "a" * 5000, "../../etc/passwd", "' OR 1=1 --", "%00", [], [1], {}, {"id": "Ada"}, {"id": None},
    {"id": {"id": 1}}, [[[[]]]], "mp3", "sse", "pcm", 4, 0.25,
]  # fmt: skip
PATHS = ["/v1/audio/speech/", "/v1/audio/speech?x=%ff", "/v1/audio", "/v1//audio/speech", "/",
         "/v1/models/%00", "/v1/models/a/b", "/v1/audio/voices", "/v1/models/timbre"]  # fmt: skip
METHODS = ["GET", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"]
REQUESTS = 1000


def mutated(chance):
    """A request with something wrong: its path, its method, a field, or its bytes."""
    method, path, wish = "POST", "/v1/audio/speech", dict(REQUEST)
    for _ in range(chance.randint(1, 3)):
        match chance.randrange(6):
            case 0:
                wish[chance.choice(list(REQUEST))] = chance.choice(ODD)
            case 1:
                wish.pop(chance.choice(list(REQUEST)), None)
            case 2:
                wish[f"extra {chance.random()}"] = chance.choice(ODD)
            case 3 if chance.random() < 0.3:
                path = chance.choice(PATHS)
            case 4 if chance.random() < 0.3:
                method = chance.choice(METHODS)
    body = bytearray(json.dumps(wish).encode())
    match chance.randrange(8):
        case 0:
            for _ in range(chance.randint(1, 4)):
                body[chance.randrange(len(body))] = chance.randrange(256)
        case 1:
            del body[chance.randrange(len(body)) :]
        case 2:
            body[chance.randrange(len(body)) : 0] = chance.choice(
                [b"{", b'"', b"[" * 5000, b"\xff\xfe", b"\\u"]
            )
        case 3 if chance.random() < 0.3:
            body = bytearray(
                chance.choice([b"", b"null", b"[]", b"0", b'"', b"{}", b"[" * 100_000])
            )
    return method, path, bytes(body)


def test_no_request_however_wrong_is_a_fault_of_the_server(tmp_path):
    chance, statuses = random.Random(20), []
    with served(tmp_path) as serving:
        headers = {"Authorization": f"Bearer {serving.token}"}
        wire = http.client.HTTPConnection("127.0.0.1", serving.port, timeout=30)
        for _ in range(REQUESTS):
            method, path, body = mutated(chance)
            if chance.random() < 0.2:
                headers["Content-Type"] = chance.choice(
                    ["text/plain", "", "multipart/form-data", "é"]
                )
            wire.request(method, path, body, headers)
            answer = wire.getresponse()
            content = answer.read()

            statuses.append(answer.status)
            assert answer.status < 500, (method, path, body, content)
            if answer.status >= 400 and method != "HEAD":
                assert json.loads(content)["error"]["message"], (method, path, body)
        wire.close()
        waiting = serving.speaker.busy

    assert len(statuses) == REQUESTS
    assert waiting == 0
    assert min(map(statuses.count, (200, 400, 404, 405))) >= 10
