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

SLOWEST_START_S = 60  # two noisy cores: 4-6 s measured


@pytest.fixture(scope="module")
def starting(tmp_path_factory):
    """What a studio says before its page is built, and the studio."""
    folder = tmp_path_factory.mktemp("studio")
    with studio(folder, "hold") as running:
        early = {
            "health": running.health(),
            "page": running.get(Accept="text/html"),
            "post": running.get("gradio_api/upload", b"x"),
        }
        (folder / "go").touch()
        running.wait_until("ready", SLOWEST_START_S)
        yield early, running


@pytest.fixture
def ready(starting):
    return starting[1]


def test_the_studio_answers_before_its_page_is_built(starting):
    early, _ = starting

    assert early["health"] == {"program": "tiny", "state": "starting"}
    assert "Timbre is starting" in early["page"][2]
    assert early["post"][0] == 503
    assert early["post"][1]["Retry-After"] == "2"


def test_the_page_takes_the_place_of_the_starting_page(ready):
    assert "Tiny studio" in ready.get()[2]
    assert ready.health() == {"program": "tiny", "state": "ready"}


def test_a_handler_streams_its_results_one_by_one(ready):
    arrived = []
    with urllib.request.urlopen(ready.url + ready.call("count", "clip"), timeout=20) as stream:
        arrived += [(time.monotonic(), line.decode()) for line in stream if b"clip" in line]

    assert [text.strip() for _, text in arrived][:4] == [
        f'data: ["clip {number}"]' for number in range(4)
    ]
    assert arrived[3][0] - arrived[0][0] > 0.2  # not all at the end


def upload(ready, name, size):
    body = (
        f'--b\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n'
        f"{'x' * size}\r\n--b--\r\n"
    )
    kind = "multipart/form-data; boundary=b"
    return ready.get("gradio_api/upload", body.encode(), Content_Type=kind)


def test_an_upload_stays_in_the_scratch_folder_and_is_only_ever_downloaded(ready):
    status, _, text = upload(ready, "page.html", 100)

    path = text.strip('[]"')
    assert status == 200
    assert path.startswith(str((ready.folder / "scratch").resolve()))
    _, headers, _ = ready.get(f"gradio_api/file={path}")
    assert headers["Content-Disposition"].startswith("attachment")
    assert headers["X-Content-Type-Options"] == "nosniff"


def test_an_upload_past_the_limit_is_refused(ready):
    assert upload(ready, "long.wav", 30_000)[0] == 413


@pytest.mark.parametrize("path", ["docs", "redoc", "openapi.json", "gradio_api/mcp/sse"])
def test_nothing_is_offered_that_nobody_asked_for(ready, path):
    assert ready.get(path)[0] == 404


@pytest.mark.skipif(os.name != "posix", reason="folder modes")
def test_other_users_of_the_computer_cannot_read_the_scratch_folder(ready):
    assert (ready.folder / "scratch").stat().st_mode & 0o077 == 0


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
        running.wait_until("ready", SLOWEST_START_S)
        paths = ["gradio_api/heartbeat/one", running.call("sleep"), running.call("count", "clip")]
        streams = [urllib.request.urlopen(running.url + path, timeout=20) for path in paths]

        code, seconds = running.stop()

        assert code == 0
        assert seconds < 3
        assert running.process.stdout.read() == "stopped\n"
        assert "Traceback" not in running.log.read_text()
        for stream in streams:
            stream.read()  # ended, not broken off
            stream.close()


@pytest.mark.skipif(os.name != "posix", reason="Windows ends a process without asking it")
def test_a_studio_that_still_builds_its_page_stops_at_once(tmp_path):
    with studio(tmp_path, "hold") as running:
        code, seconds = running.stop()

        assert (code, running.log.read_text()) == (0, "")
        assert seconds < 2


def test_a_page_that_cannot_be_built_leaves_a_studio_that_says_so(tmp_path):
    with studio(tmp_path, "fail") as running:
        running.wait_until("failed")

        health, (status, _, text) = running.health(), running.get()

        assert health["what"] == "The page <b>broke</b>."
        assert status == 500
        assert "Mend it." in text
        assert "Traceback" not in text
        assert "Traceback" in running.log.read_text()


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


def test_a_studio_in_a_thread_stops_when_it_is_told(tmp_path):
    def build():
        raise StudioError("No page.", "None is needed here.")

    stop, urls = threading.Event(), []
    front = Front(Rules(0), dict)
    options = server.PageOptions(tmp_path / "scratch")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "environ", dict(os.environ))
        thread = threading.Thread(
            target=server.serve,
            args=(front, build, options),
            kwargs={"on_ready": urls.append, "stop": stop},
        )
        thread.start()
        while not urls:
            time.sleep(0.01)
        stop.set()
        thread.join(5)

    assert not thread.is_alive()


def test_settings_of_another_gradio_program_do_not_open_this_one(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "environ", {"GRADIO_SHARE": "True", "GRADIO_ALLOWED_PATHS": "/"})

    server._prepare(tmp_path / "scratch")

    assert os.environ == {
        "GRADIO_TEMP_DIR": str((tmp_path / "scratch").resolve()),
        "GRADIO_EXAMPLES_CACHE": str((tmp_path / "scratch").resolve() / "examples"),
        "GRADIO_ANALYTICS_ENABLED": "False",
    }


def test_what_an_earlier_studio_left_is_deleted_after_a_day_and_not_before(tmp_path):
    old, new = tmp_path / "a" / "old.wav", tmp_path / "a" / "new.wav"
    old.parent.mkdir()
    for path in (old, new):
        path.touch()
    os.utime(old, (time.time() - server.KEEP_UPLOADS_S - 60,) * 2)

    server._delete_old(tmp_path)

    assert not old.exists()
    assert new.exists()


def test_the_server_imports_no_gradio():
    code = "import app.server, app.theme, sys; sys.exit('gradio' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=30).returncode == 0
