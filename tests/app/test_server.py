"""Tests of app/server.py, most with a studio in a process of its own."""

import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import pytest

from app import server
from app.door import Rules, rules_for
from app.front import Front
from engines.errors import StudioError

from .running import ROOT, studio


@pytest.fixture(scope="module")
def ready(tmp_path_factory):
    with studio(tmp_path_factory.mktemp("studio")) as running:
        yield running


def test_the_page_is_there_when_the_port_answers(ready):
    assert "Tiny studio" in ready.get()[2]
    assert ready.health() == {"program": "tiny", "state": "ready"}


def test_what_is_told_bit_by_bit_arrives_bit_by_bit(ready):
    with urllib.request.urlopen(f"{ready.url}count", timeout=20) as stream:
        begun = time.monotonic()
        lines = [stream.readline() for _ in range(3)]

        assert lines == [b"clip 0\n", b"clip 1\n", b"clip 2\n"]
        assert time.monotonic() - begun < 5


@pytest.mark.parametrize("path", ["docs", "redoc", "openapi.json", "gradio_api/upload"])
def test_nothing_is_offered_that_nobody_asked_for(ready, path):
    assert ready.get(path)[0] == 404


def test_two_hosts_or_none_are_refused_on_the_wire_too(ready):
    host = ready.url.removeprefix("http://").rstrip("/")
    address, port = host.split(":")
    for lines in (f"Host: {host}\r\nHost: evil.example\r\n", "Host:\r\n", ""):
        with socket.create_connection((address, int(port))) as wire:
            wire.sendall(f"GET / HTTP/1.1\r\n{lines}Connection: close\r\n\r\n".encode())
            assert wire.recv(100).split()[1] == b"400"


@pytest.mark.skipif(os.name != "posix", reason="Windows ends a process without asking it")
def test_a_studio_with_open_streams_and_a_sleeping_handler_stops_within_three_seconds(tmp_path):
    with studio(tmp_path) as running:
        streams = [urllib.request.urlopen(f"{running.url}count", timeout=20) for _ in range(2)]
        threading.Thread(target=running.get, args=("sleep",), daemon=True).start()
        time.sleep(0.3)

        code, seconds = running.stop()

        assert code == 0
        assert seconds < 3
        assert running.process.stdout.read() in ("stopped\n", "")  # ended while a thread slept
        assert "Traceback" not in running.log.read_text()
        for stream in streams:
            stream.read()  # ended, not broken off
            stream.close()


def test_a_taken_port_moves_the_studio_to_the_next_one():
    with server.bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with server.bind("127.0.0.1", port) as moved:
            assert port < moved.getsockname()[1] <= port + 20


def test_a_taken_port_that_was_asked_for_is_an_error_with_a_remedy():
    with server.bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(StudioError, match=f"Port {port} is used") as caught:
            server.bind("127.0.0.1", port, exact=True)

    assert "another port" in caught.value.fix


def test_a_second_studio_on_the_same_port_ends_with_the_reason(ready, tmp_path):
    port = ready.url.rsplit(":", 1)[1].rstrip("/")
    command = [sys.executable, "-m", "tests.app.tiny_studio", port, str(tmp_path), "exact"]

    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30)

    assert ended.returncode == 1
    assert f"Port {port} is used" in ended.stderr


@pytest.mark.parametrize("host", ["192.0.2.1", "no such host.invalid", "a" * 70])
def test_an_address_of_another_computer_is_an_error_with_a_remedy(host):
    with pytest.raises(StudioError, match="not an address of this computer") as caught:
        server.bind(host, 0)

    assert "this computer only" in caught.value.fix


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_number_that_is_no_port_is_an_error_with_a_remedy(port):
    with pytest.raises(StudioError, match="is not a port"):
        server.bind("127.0.0.1", port)


def test_the_port_belongs_to_loopback_only():
    with server.bind("localhost", 0) as sock:
        assert sock.getsockname()[0] == "127.0.0.1"


@pytest.mark.parametrize(
    "listen, address",
    [("localhost", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("192.168.1.5", "192.168.1.5"),
     ("fe80::1", "[fe80::1]")],
)  # fmt: skip
def test_the_address_to_open_reaches_this_computer_and_carries_the_token(listen, address):
    token = None if listen == "localhost" else "t" * 22
    front = Front(rules_for(listen, 7860, token), dict)

    opened = server.address_of(front)

    assert opened == f"http://{address}:7860/" + (f"?token={token}" if token else "")


def test_a_studio_in_a_thread_stops_when_it_is_told():
    stop, urls = threading.Event(), []
    thread = threading.Thread(
        target=server.serve,
        args=(Front(Rules(0), dict),),
        kwargs={"on_ready": urls.append, "stop": stop},
    )
    thread.start()
    while not urls:
        time.sleep(0.01)

    stop.set()
    thread.join(5)

    assert not thread.is_alive()
