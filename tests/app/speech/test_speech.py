"""Tests of the speech server, asked by OpenAI's own client."""

import base64
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import openai
import pytest

from app.speech.wishes import MOST_CHARACTERS

from .serving import served

RATE, SAMPLES = 24_000, 2_400  # of the stand-in: a tenth of a second a word


def digits(pcm):
    """The words that were said: each is as loud as its digit."""
    samples = np.frombuffer(pcm, "<i2").reshape(-1, SAMPLES)
    assert (samples == samples[:, :1]).all()
    return "".join(str(round(int(level) * 10 / 32768)) for level in samples[:, 0])


def as_words(number):
    """A number that the stand-in says digit by digit, none so loud that it is rounded off."""
    return " ".join(np.base_repr(number, 7))


def soon(is_so, seconds):
    begun = time.monotonic()
    while not is_so():
        assert time.monotonic() - begun < seconds
        time.sleep(0.005)


def test_speech_is_sent_while_the_rest_is_still_being_said(speech):
    go = speech.voice.folder / "go"
    with (
        speech.client() as client,
        client.audio.speech.with_streaming_response.create(
            model="tts-1", voice="ada", input="3 wait 5", response_format="pcm"
        ) as response,
    ):
        parts = response.iter_bytes()
        first = next(parts)
        still_speaking = speech.speaker.busy
        go.touch()
        rest = b"".join(parts)
    go.unlink()

    assert digits(first) == "3"
    assert still_speaking == 1
    assert digits(first + rest) == "315"
    assert response.headers["content-type"] == "audio/pcm"


def test_eight_clients_with_two_hundred_texts_each_get_their_own_in_order(speech):
    def ask(which):
        with speech.client() as client:
            for turn in range(25):
                number = 1000 + 25 * which + turn
                said = client.audio.speech.create(
                    model="timbre", voice="Ada", input=as_words(number), response_format="pcm"
                )
                yield number, digits(said.read())

    with ThreadPoolExecutor(8) as pool:
        heard = [
            pair for each in pool.map(lambda which: list(ask(which)), range(8)) for pair in each
        ]

    assert len(heard) == 200
    assert [said for _, said in heard] == [np.base_repr(number, 7) for number, _ in heard]


@pytest.mark.parametrize(
    "kind, seconds", [("mp3", 0.3), ("opus", 0.3), ("flac", 0.3), ("wav", 0.3)]
)
def test_every_kind_of_audio_can_be_decoded_whole(speech, kind, seconds):
    import io

    import av

    content = speech.ask("1 2 1", response_format=kind)

    with av.open(io.BytesIO(content)) as file:
        rate = file.streams.audio[0].rate
        count = sum(frame.samples for frame in file.decode(audio=0))
    assert count / rate == pytest.approx(seconds, abs=0.12)  # mp3 has frames, and one before


def test_mp3_is_sent_unless_another_kind_is_asked_for(speech):
    with speech.client() as client:
        response = client.audio.speech.create(model="timbre", voice="Ada", input="1")

    assert response.response.headers["content-type"] == "audio/mpeg"
    assert response.read()[:1] == b"\xff"


def test_speech_as_events_is_the_same_speech(speech):
    with (
        speech.client() as client,
        client.audio.speech.with_streaming_response.create(
            model="timbre", voice="Ada", input="3 1 2", response_format="pcm", stream_format="sse"
        ) as response,
    ):
        events = [json.loads(line[6:]) for line in response.iter_lines() if line]

    *deltas, done = events
    assert {each["type"] for each in deltas} == {"speech.audio.delta"}
    assert done["type"] == "speech.audio.done"
    assert set(done["usage"]) == {"input_tokens", "output_tokens", "total_tokens"}
    assert digits(b"".join(base64.b64decode(each["audio"]) for each in deltas)) == "312"


@pytest.mark.parametrize("voice", ["Ada", "ADA", {"id": "ada"}])
def test_a_voice_is_found_by_its_name_however_it_is_written(speech, voice):
    assert digits(speech.ask("4", voice=voice)) == "4"


def test_a_voice_is_found_by_its_id(speech):
    assert digits(speech.ask("4", voice={"id": speech.voice.id})) == "4"


def test_what_is_not_needed_is_accepted_and_ignored(speech):
    said = speech.ask("4", model="gpt-4o-mini-tts", instructions="Like a pirate.",
                      extra_body={"lang": "x", "seed": [1]})  # fmt: skip

    assert digits(said) == "4"


def test_voices_and_models_are_listed_as_clients_expect(speech):
    with speech.client() as client:
        voices = client.get("/audio/voices", cast_to=object)
        models = [model.id for model in client.models.list()]
        model = client.models.retrieve(models[0])

    ada = {"id": speech.voice.id, "name": "Ada", "language": "en", "engine": "", "tags": []}
    assert voices["voices"] == [ada]
    assert (models, model.id) == (["timbre"], "timbre")


@pytest.mark.parametrize(
    "wish, status, param",
    [
        ({"voice": "Nobody"}, 404, "voice"),
        ({"voice": "alloy"}, 404, "voice"),
        ({"voice": " "}, 400, "voice"),
        ({"voice": {"name": "Ada"}}, 400, "voice"),
        ({"voice": None}, 400, "voice"),
        ({"input": ""}, 400, "input"),
        ({"input": "..."}, 400, "input"),
        ({"input": 7}, 400, "input"),
        ({"input": "1 " * (MOST_CHARACTERS // 2 + 1)}, 413, "input"),
        ({"input": "é" * (13 * MOST_CHARACTERS)}, 413, "input"),
        ({"response_format": "aac"}, 400, "response_format"),
        ({"response_format": ["mp3"]}, 400, "response_format"),
        ({"speed": 0.2}, 400, "speed"),
        ({"speed": 4.1}, 400, "speed"),
        ({"speed": True}, 400, "speed"),
        ({"speed": "1"}, 400, "speed"),
        ({"stream_format": "video"}, 400, "stream_format"),
    ],
)
def test_what_cannot_be_said_is_an_error_that_names_the_field(speech, wish, status, param):
    body = {"model": "timbre", "input": "1", "voice": "Ada", **wish}
    with speech.client() as client, pytest.raises(openai.APIStatusError) as caught:
        client.post("/audio/speech", body=body, cast_to=object)

    assert caught.value.status_code == status
    assert caught.value.body["param"] == param
    assert caught.value.body["type"] == "invalid_request_error"


def test_a_kind_that_is_not_there_says_which_are(speech):
    with pytest.raises(openai.BadRequestError, match="mp3, opus, flac, wav, pcm"):
        speech.ask("1", response_format="aac")


def test_a_voice_that_cannot_speak_is_a_503_with_the_reason(speech):
    with pytest.raises(openai.APIStatusError, match="It failed") as caught:
        speech.ask("fail")

    assert caught.value.status_code == 503


def test_a_text_that_breaks_off_is_not_taken_for_a_whole_one(speech):
    with (
        speech.client() as client,
        client.audio.speech.with_streaming_response.create(
            model="timbre", voice="Ada", input="3 die 5", response_format="pcm"
        ) as response,
        pytest.raises(Exception, match=r"incomplete|closed|peer"),
    ):
        b"".join(response.iter_bytes())

    assert digits(speech.ask("4")) == "4"


def test_a_text_that_breaks_off_ends_its_events_with_an_error(speech):
    with (
        speech.client() as client,
        client.audio.speech.with_streaming_response.create(
            model="timbre", voice="Ada", input="3 die 5", stream_format="sse"
        ) as response,
    ):
        events = [json.loads(line[6:]) for line in response.iter_lines() if line]

    assert events[-1]["type"] == "error"
    assert "has ended while it was needed" in events[-1]["error"]["message"]


@pytest.mark.parametrize("token", ["wrong", "t" * 43])
def test_a_wrong_token_is_401_before_anything_is_read(speech, token):
    with speech.client(token) as client:
        for ask in (client.models.list, lambda: client.post("/audio/speech", cast_to=object)):
            with pytest.raises(openai.AuthenticationError, match="api_key") as caught:
                ask()
            assert caught.value.body["code"] == "invalid_api_key"


def test_no_token_is_401(speech):
    request = (
        f"GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1:{speech.port}\r\nConnection: close\r\n\r\n"
    )
    with speech.wire() as wire, wire.makefile("rb") as answers:
        wire.sendall(request.encode())
        answer = answers.read().decode()

    assert answer.startswith("HTTP/1.1 401")
    assert json.loads(answer.partition("\r\n\r\n")[2])["error"]["code"] == "invalid_api_key"


def test_a_client_that_goes_away_ends_its_speaking_within_a_second(speech):
    with (
        speech.client() as client,
        client.audio.speech.with_streaming_response.create(
            model="timbre", voice="Ada", input="3 wait 5", response_format="pcm"
        ) as response,
    ):
        parts = response.iter_bytes()
        next(parts)
        assert speech.speaker.busy == 1

    soon(lambda: speech.speaker.busy == 0, 1)
    assert digits(speech.ask("4")) == "4"


def test_a_client_that_goes_away_before_the_first_sound_ends_its_speaking_too(speech):
    wish = json.dumps({"input": "wait 1", "voice": "Ada"})
    head = (
        f"POST /v1/audio/speech HTTP/1.1\r\nHost: 127.0.0.1:{speech.port}\r\n"
        f"Authorization: Bearer {speech.token}\r\nContent-Length: {len(wish)}\r\n\r\n"
    )
    with speech.wire() as wire:
        wire.sendall((head + wish).encode())
        soon(lambda: speech.speaker.busy == 1, 5)

    soon(lambda: speech.speaker.busy == 0, 1)


def test_a_listener_that_does_not_read_holds_up_nobody(speech):
    wish = json.dumps({"input": "1 " * 400, "voice": "Ada", "response_format": "wav"})
    head = (
        f"POST /v1/audio/speech HTTP/1.1\r\nHost: 127.0.0.1:{speech.port}\r\n"
        f"Authorization: Bearer {speech.token}\r\nContent-Length: {len(wish)}\r\n\r\n"
    )
    with speech.wire() as wire:
        wire.sendall((head + wish).encode())
        soon(lambda: speech.speaker.busy == 1, 5)

        assert digits(speech.ask("4")) == "4"


def test_when_too_many_wait_a_client_is_told_to_come_back(tmp_path):
    with served(tmp_path, most_waiting=1) as small:
        go = small.voice.folder / "go"
        with ThreadPoolExecutor(2) as pool:
            asked = [pool.submit(small.ask, "wait 2") for _ in range(2)]
            soon(lambda: small.speaker.busy == 2, 10)

            with pytest.raises(openai.RateLimitError) as caught:
                small.ask("3")
            go.touch()

            assert int(caught.value.response.headers["retry-after"]) > 0
            assert [digits(each.result()) for each in asked] == ["12", "12"]


def test_a_voice_that_is_named_speaks_where_none_of_ours_is_asked_for(tmp_path):
    with served(tmp_path, usual="Ada") as serving:
        assert digits(serving.ask("4", voice="alloy")) == "4"
        with pytest.raises(openai.NotFoundError):
            serving.ask("4", voice="Nobody")


def test_a_server_that_is_stopped_ends_what_it_says(tmp_path):
    with served(tmp_path) as serving:
        heard = []
        listener = threading.Thread(target=lambda: heard.append(_broken(serving)))
        listener.start()
        soon(lambda: serving.speaker.busy == 1, 10)

    listener.join(5)
    assert heard == [True]
    assert serving.speaker.busy == 0


def _broken(serving):
    try:
        serving.ask("wait 1")
    except openai.OpenAIError:
        return True
    return False
