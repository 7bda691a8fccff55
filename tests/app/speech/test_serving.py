"""Tests of `launch.py speak --serve`, with a real voice and OpenAI's own client, and of its door."""

import asyncio
import io
import json
import os
import signal
import socket
import subprocess
import sys
import time

import av
import numpy as np
import openai
import psutil
import pytest
import soundfile

from app import server
from app.door import new_token, rules_for
from app.speech.loudness import TARGET_LUFS, gain_of
from app.speech.serving import FROM_A_CONTAINER, front_for
from tests import finished
from tests.app.test_front import send_request
from tests.conftest import ROOT
from voices import library
from voices.speaking.loudness import LoudnessMeter
from voices.workspace import open_workspace

TOKEN = new_token()


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    workspace = open_workspace(folder / "workspace")
    library.keep(workspace, finished.voice(folder / "voice"), "Ada")
    workspace.close()
    return folder / "workspace"


def launched(home, *arguments, **more):
    argv = [sys.executable, "-m", "app", "--home", str(home), "speak", *arguments]
    return subprocess.Popen(
        argv, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more
    )


def a_free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def test_a_real_voice_is_spoken_to_a_real_client_until_ctrl_c(home):
    with launched(home, "--serve", "--json", "--port", str(a_free_port())) as process:
        try:
            facts = json.loads("".join(process.stdout.readline() for _ in range(4)))
            with openai.OpenAI(**facts, max_retries=0) as client:
                content = client.audio.speech.create(
                    model="tts-1", voice="Ada", input="Good morning. How are you today?"
                ).read()
            children = psutil.Process(process.pid).children()
        finally:
            process.send_signal(signal.SIGINT if os.name == "posix" else signal.SIGTERM)
        assert process.wait(10) == 0
        assert process.stderr.read() == ""

    with av.open(io.BytesIO(content)) as file:
        samples = np.concatenate([frame.to_ndarray()[0] for frame in file.decode(audio=0)])
        rate = file.streams.audio[0].rate
    meter = LoudnessMeter(rate)
    meter.feed(samples.astype(np.float32))
    assert 1.5 < len(samples) / rate < 5
    assert meter.lufs() == pytest.approx(TARGET_LUFS, abs=4)
    assert len(facts["api_key"]) >= 40
    assert len(children) == 1
    assert not psutil.wait_procs(children, timeout=3)[1]


def test_the_way_to_ask_is_printed_ready_to_be_copied_and_runs(home, tmp_path):
    port = a_free_port()
    arguments = ("Ada", "--serve", "--token", TOKEN, "--port", str(port))
    with launched(home, *arguments, env={**os.environ, "PYTHONUNBUFFERED": "1"}) as process:
        try:
            lines = [process.stdout.readline() for _ in range(10)]
            example = "".join(lines[lines.index("from openai import OpenAI\n") :])
            done = subprocess.run([sys.executable, "-c", example], cwd=tmp_path, timeout=60)
        finally:
            process.terminate()

    assert f"http://127.0.0.1:{port}/v1" in lines[0]
    assert TOKEN in example
    assert done.returncode == 0
    assert (tmp_path / "hello.mp3").stat().st_size > 5000


@pytest.mark.parametrize(
    "arguments, problem",
    [
        (["--serve", "Ada", "Hello."], "Leave the text out"),
        (["--serve", "Nobody"], "no voice called 'Nobody'"),
        (["--serve", "--token", "short"], "can be guessed"),
        ([], "No voice is named"),
    ],
)
def test_what_cannot_be_served_says_what_to_do(home, arguments, problem):
    with launched(home, *arguments) as process:
        _, said = process.communicate(timeout=30)

    assert process.returncode == 1
    assert problem in said


def ask(front, host, **headers):
    shown = [("Host", host), *headers.items()]
    return asyncio.run(send_request(front, "POST", "/v1/audio/speech", shown))


def test_before_it_is_ready_a_program_is_told_to_come_back_in_json():
    front = front_for(rules_for("127.0.0.1", 7861, TOKEN))

    answer = ask(front, "127.0.0.1:7861", Authorization=f"Bearer {TOKEN}")

    assert answer.status == 503
    assert json.loads(answer.text)["error"]["type"] == "server_error"
    assert int(answer.headers["retry-after"]) > 0


@pytest.mark.parametrize(
    "host, status", [("evil.example:7861", 403), (f"{FROM_A_CONTAINER}:7861", 401)]
)
def test_only_names_of_this_computer_are_answered_and_a_containers_name_for_it(host, status):
    answer = ask(front_for(rules_for("127.0.0.1", 7861, TOKEN)), host)

    assert answer.status == status
    assert json.loads(answer.text)["error"]["message"]


def test_small_answers_are_sent_at_once():
    with server.bind("127.0.0.1", 0) as sock:
        assert sock.proto == socket.IPPROTO_TCP  # else asyncio leaves Nagle's algorithm on


def test_a_voice_is_made_as_loud_as_is_usual_by_its_sample_and_again_when_that_changes(tmp_path):
    def write(name, level):
        samples = level * np.sin(np.arange(48_000) * 0.3)
        soundfile.write(tmp_path / name, samples, 24_000)

    assert gain_of(tmp_path) == 1.0
    write("reference.flac", 0.3)
    by_reference = gain_of(tmp_path)
    write("sample.flac", 0.15)
    by_sample = gain_of(tmp_path)
    time.sleep(0.02)
    write("sample.flac", 0.6)

    assert by_sample == pytest.approx(2 * by_reference, rel=0.01)
    assert gain_of(tmp_path) == pytest.approx(by_sample / 4, rel=0.01)


def test_a_voice_whose_sample_cannot_be_read_speaks_as_loud_as_it_comes(tmp_path):
    (tmp_path / "sample.flac").write_bytes(b"no sound")

    assert gain_of(tmp_path) == 1.0
