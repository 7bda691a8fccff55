"""Downloads from a server that breaks off, hangs, lies or changes its mind."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest

from engines.errors import DiskFullError, DownloadError
from finetune import downloads, https
from finetune.downloads import Wanted, download, hub_files
from finetune.jobs.worker import StopWork
from tests.conftest import ROOT
from voices import files

CONTENT = random.Random(7).randbytes(3_000_000)
SMALL = b'{"small": true}'


class Handler(BaseHTTPRequestHandler):
    """Answers as `server.answers` says for the path, else with the file, from where asked."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.server.asked.append((self.path, dict(self.headers)))
        tricks = self.server.tricks.get(self.path, [])
        if tricks:
            tricks.pop(0)(self)
        elif self.path in self.server.files:
            self.give(self.server.files[self.path])
        else:
            self.send_error(404)

    def give(self, content, sent=None, ranges=True):
        start = 0
        if ranges and "Range" in self.headers:
            start = int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))
        if start >= len(content) > 0:
            return self.send_error(416)
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        return self.wfile.write(content[start:][:sent])


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, *_):
        """A client that leaves is what is tried here."""


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(https, "PAUSES_SECONDS", (0.01, 0.01, 0.01))
    monkeypatch.setattr(downloads, "_TELL_SECONDS", 0.0)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("TIMBRE_OFFLINE", raising=False)
    running = Server(("127.0.0.1", 0), Handler)
    running.files = {"/model.bin": CONTENT, "/deep/config.json": SMALL}
    running.tricks, running.asked, running.over = {}, [], threading.Event()
    running.url = f"http://127.0.0.1:{running.server_port}"
    threading.Thread(target=running.serve_forever, args=(0.05,), daemon=True).start()
    yield running
    running.over.set()
    running.shutdown()
    running.server_close()


def breaks_after(sent: int, **how) -> Callable[[Handler], object]:
    return lambda handler: handler.give(handler.server.files[handler.path], sent, **how)


def whole(**how):
    return breaks_after(None, **how)


def answers(status: int, **headers: str) -> Callable[[Handler], None]:
    def answer(handler):
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


def hangs(handler):
    handler.give(CONTENT, 100_000)
    handler.wfile.flush()
    handler.server.over.wait(20)


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def git_id(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def model(server, **changes):
    facts = {"size": len(CONTENT), "sha256": sha256(CONTENT)} | changes
    return Wanted(f"{server.url}/model.bin", "model.bin", **facts)


def config(server):
    url = f"{server.url}/deep/config.json"
    return Wanted(url, "deep/config.json", len(SMALL), git_id=git_id(SMALL))


def fetch(wanted, folder, progress=lambda done, total: None, stop=lambda: False):
    download(wanted, folder, progress, stop)


def starts(server, path="/model.bin"):
    """From which byte each request for a file asked."""
    ranges = [headers.get("Range", "bytes=0-") for asked, headers in server.asked if asked == path]
    return [int(text.removeprefix("bytes=").removesuffix("-")) for text in ranges]


def stopping_after(count):
    """A wish to stop that comes with the given look for it."""
    looks = iter(range(10**9))
    return lambda: next(looks) >= count


def test_a_folder_appears_sealed_with_everything_in_it(server, tmp_path):
    told = []

    fetch([model(server), config(server)], tmp_path / "whisper", lambda *now: told.append(now))

    files.check_folder(tmp_path / "whisper")
    assert (tmp_path / "whisper" / "model.bin").read_bytes() == CONTENT
    assert (tmp_path / "whisper" / "deep" / "config.json").read_bytes() == SMALL
    assert [path.name for path in tmp_path.iterdir()] == ["whisper"]
    total = len(CONTENT) + len(SMALL)
    assert told[-1] == (total, total)
    assert told == sorted(told) and len(told) > 5


def test_the_end_is_told_however_fast_it_came(server, tmp_path, monkeypatch):
    monkeypatch.setattr(downloads, "_TELL_SECONDS", 3600.0)
    told = []

    fetch([model(server)], tmp_path / "it", lambda *now: told.append(now))

    assert len(told) == 2 and told[-1] == (len(CONTENT), len(CONTENT))


def test_a_folder_that_is_there_costs_no_connection(server, tmp_path):
    fetch([config(server)], tmp_path / "it")
    server.asked.clear()

    fetch([config(server)], tmp_path / "it")

    assert server.asked == []


def test_a_broken_connection_goes_on_where_it_was(server, tmp_path):
    server.tricks["/model.bin"] = [breaks_after(1_000_000), breaks_after(500_000)]

    fetch([model(server)], tmp_path / "it")

    assert (tmp_path / "it" / "model.bin").read_bytes() == CONTENT
    assert starts(server) == [0, 1_000_000, 1_500_000]


def test_a_line_that_always_breaks_but_always_brings_something_arrives(server, tmp_path):
    server.tricks["/model.bin"] = [breaks_after(200_000) for _ in range(14)]

    fetch([model(server)], tmp_path / "it")

    assert len(server.asked) == 15


def test_a_stopped_download_goes_on_where_it_was(server, tmp_path):
    with pytest.raises(StopWork):
        fetch([model(server)], tmp_path / "it", stop=stopping_after(6))
    assert not (tmp_path / "it").exists()
    server.asked.clear()

    fetch([model(server)], tmp_path / "it")

    assert starts(server)[0] > 0
    files.check_folder(tmp_path / "it")


def test_a_killed_download_goes_on_where_it_was(server, tmp_path):
    server.tricks["/model.bin"] = [hangs]
    code = f"""if True:
        from pathlib import Path
        from finetune.downloads import Wanted, download
        wanted = [Wanted({server.url + "/model.bin"!r}, "model.bin", {len(CONTENT)},
                         {sha256(CONTENT)!r})]
        tell = lambda done, total: print(done, flush=True)
        download(wanted, Path({str(tmp_path / "it")!r}), tell, lambda: False)"""
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdout.readline()
        part = next((tmp_path / "it.parts").glob("*.part"))
        wait_until(lambda: part.stat().st_size > 0)
        child.kill()
    had = part.stat().st_size

    fetch([model(server)], tmp_path / "it")

    assert starts(server) == [0, had]
    files.check_folder(tmp_path / "it")


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_server_without_ranges_starts_over(server, tmp_path):
    server.tricks["/model.bin"] = [breaks_after(1_000_000), whole(ranges=False)]

    fetch([model(server)], tmp_path / "it")

    assert starts(server) == [0, 1_000_000]
    files.check_folder(tmp_path / "it")


def test_a_part_of_another_place_in_the_file_is_not_taken(server, tmp_path):
    def other_part(handler):
        handler.send_response(206)
        handler.send_header("Content-Range", f"bytes 5-{len(CONTENT) - 1}/{len(CONTENT)}")
        handler.send_header("Content-Length", str(len(CONTENT) - 5))
        handler.end_headers()
        handler.wfile.write(CONTENT[5:])

    server.tricks["/model.bin"] = [breaks_after(1_000_000), other_part]

    fetch([model(server)], tmp_path / "it")

    assert starts(server) == [0, 1_000_000, 1_000_000]


def test_a_whole_part_of_unknown_length_is_kept(server, tmp_path):
    wanted = model(server, size=None)
    part = keep_part(tmp_path, wanted, CONTENT)

    fetch([wanted], tmp_path / "it")

    assert starts(server) == [len(CONTENT)]
    assert not part.exists()


def keep_part(tmp_path, wanted, content):
    """What an earlier download left."""
    parts = tmp_path / "it.parts"
    parts.mkdir()
    part = downloads._part(parts, wanted)
    part.write_bytes(content)
    return part


@pytest.mark.parametrize("length", [1_000_000, len(CONTENT), len(CONTENT) + 1])
def test_a_rotten_part_is_dropped_and_fetched_from_the_start(server, tmp_path, length):
    keep_part(tmp_path, model(server), b"\0" * length)

    fetch([model(server)], tmp_path / "it")

    assert starts(server)[-1] == 0
    files.check_folder(tmp_path / "it")
    assert (tmp_path / "it" / "model.bin").read_bytes() == CONTENT


def test_the_part_of_an_older_version_is_not_gone_on_with(server, tmp_path):
    keep_part(tmp_path, model(server, sha256=sha256(b"older")), b"older")

    fetch([model(server)], tmp_path / "it")

    assert starts(server) == [0]


def test_what_cannot_be_checked_is_never_put_together_from_parts(server, tmp_path):
    wanted = model(server, sha256=None, size=None)
    server.tricks["/model.bin"] = [breaks_after(1_000_000)]
    told = []

    fetch([wanted, config(server)], tmp_path / "it", lambda *now: told.append(now))

    assert starts(server) == [0, 0]
    assert (tmp_path / "it" / "model.bin").read_bytes() == CONTENT
    assert {total for _, total in told} == {0}


@pytest.mark.parametrize(
    "lie",
    [
        {"sha256": sha256(b"other")},
        {"sha256": None, "git_id": git_id(b"other")},
        {"sha256": None, "size": len(CONTENT) + 1},
    ],
)
def test_another_content_than_stated_is_tried_once_more_and_then_said(server, tmp_path, lie):
    with pytest.raises(DownloadError, match=r"model\.bin arrived twice .* not as it was") as caught:
        fetch([model(server, **lie)], tmp_path / "it")

    assert starts(server) == [0, 0]
    assert "choose a folder on this computer" in caught.value.fix
    assert [path.name for path in (tmp_path / "it.parts").iterdir() if path.name != "lock"] == []
    assert not (tmp_path / "it").exists()


def test_more_than_stated_is_not_written_without_end(server, tmp_path):
    written = []

    with pytest.raises(DownloadError):
        fetch([model(server, size=1000)], tmp_path / "it", lambda done, total: written.append(done))

    assert max(written) < len(CONTENT)


def test_a_busy_server_is_asked_again(server, tmp_path):
    server.tricks["/model.bin"] = [answers(503), answers(429), answers(500)]

    fetch([model(server)], tmp_path / "it")

    assert len(server.asked) == 4


def test_a_server_that_stays_busy_is_named_with_what_to_do(server, tmp_path):
    server.tricks["/model.bin"] = [answers(503) for _ in range(9)]

    with pytest.raises(DownloadError, match=r"127\.0\.0\.1 is busy .*503") as caught:
        fetch([model(server)], tmp_path / "it")

    assert len(server.asked) == 4
    assert "goes on where it stopped" in caught.value.fix


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_a_refusal_is_not_asked_for_again(server, tmp_path, status):
    server.tricks["/model.bin"] = [answers(status)]

    with pytest.raises(DownloadError, match=rf"does not give model\.bin \(it answered {status}\)"):
        fetch([model(server)], tmp_path / "it")

    assert len(server.asked) == 1


def test_without_a_network_it_says_what_to_do(server, tmp_path):
    server.shutdown()
    server.server_close()

    with pytest.raises(DownloadError, match=r"The connection to 127\.0\.0\.1 failed") as caught:
        fetch([model(server)], tmp_path / "it")

    assert "Check the connection and do the same again" in caught.value.fix


def test_an_unknown_certificate_is_not_asked_for_again():
    import ssl
    from urllib.error import URLError

    cause = URLError(ssl.SSLCertVerificationError("self-signed"))

    assert not https._may_pass(cause)
    assert "SSL_CERT_FILE" in https._in_words(cause, "https://a.example/x").fix


def test_a_stop_is_noticed_within_a_second_while_a_server_hangs(server, tmp_path):
    server.tricks["/model.bin"] = [hangs]
    wish = threading.Event()
    hung = []

    def follow(done, total):
        if not hung:
            hung.append(time.monotonic())
            threading.Timer(0.3, wish.set).start()

    with pytest.raises(StopWork):
        fetch([model(server)], tmp_path / "it", follow, wish.is_set)

    assert time.monotonic() - hung[0] < 1.3


def test_a_stop_is_noticed_while_it_waits_to_try_again(server, tmp_path, monkeypatch):
    monkeypatch.setattr(https, "PAUSES_SECONDS", (60.0,))
    server.tricks["/model.bin"] = [answers(503)]
    begun = time.monotonic()

    with pytest.raises(StopWork):
        fetch([model(server)], tmp_path / "it", stop=lambda: time.monotonic() - begun > 0.5)

    assert time.monotonic() - begun < 1.5


def test_a_server_that_says_nothing_is_left_for_a_new_connection(server, tmp_path, monkeypatch):
    monkeypatch.setattr(https, "SILENT_SECONDS", 0.3)
    server.tricks["/model.bin"] = [hangs]
    begun = time.monotonic()

    fetch([model(server)], tmp_path / "it")

    assert starts(server) == [0, 100_000]
    assert time.monotonic() - begun < 10


@pytest.mark.parametrize("what", ["files", "list"])
def test_offline_no_connection_is_made(server, tmp_path, monkeypatch, what):
    monkeypatch.setenv("TIMBRE_OFFLINE", "1")
    monkeypatch.setenv("HF_ENDPOINT", server.url)

    with pytest.raises(DownloadError, match="told to stay offline"):
        if what == "files":
            fetch([model(server)], tmp_path / "it")
        else:
            hub_files("a/b", ["*"], lambda: False)

    assert server.asked == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "url",
    ["http://example.com/x", "ftp://example.com/x", "ftp://127.0.0.1/x", "file:///etc/passwd"],
)
def test_only_lines_that_nobody_can_change_are_used(tmp_path, url):
    with pytest.raises(DownloadError, match="line that others can change"):
        fetch([Wanted(url, "x")], tmp_path / "it")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("start", "target", "allowed"),
    [
        ("https://a.example/x", "https://b.example/x", True),
        ("https://a.example/x", "http://a.example/x", False),
        ("https://a.example/x", "http://127.0.0.1/x", False),
        ("https://a.example/x", "ftp://a.example/x", False),
        ("http://127.0.0.1:1/x", "http://127.0.0.1:2/x", True),
        ("http://127.0.0.1:1/x", "http://a.example/x", False),
    ],
)
def test_an_answer_may_point_on_only_to_safe_lines(start, target, allowed):
    assert https.may_lead(start, target) is allowed


def test_a_redirect_is_followed_with_its_range(server, tmp_path):
    to_the_file = answers(302, Location=f"{server.url}/model.bin")
    server.tricks["/elsewhere"] = [to_the_file, to_the_file]
    server.tricks["/model.bin"] = [breaks_after(1_000_000)]
    wanted = Wanted(f"{server.url}/elsewhere", "model.bin", len(CONTENT), sha256(CONTENT))

    fetch([wanted], tmp_path / "it")

    assert starts(server) == [0, 1_000_000]


def test_a_redirect_to_an_open_line_is_refused_at_once(server, tmp_path):
    server.tricks["/model.bin"] = [answers(302, Location="http://a.example/model.bin")]

    with pytest.raises(DownloadError, match="points on to an open line"):
        fetch([model(server)], tmp_path / "it")

    assert len(server.asked) == 1


def test_no_token_is_ever_sent(server, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")

    fetch([model(server)], tmp_path / "it")

    assert set(server.asked[0][1]) == {"Accept-Encoding", "Host", "User-Agent", "Connection"}


@pytest.mark.parametrize(
    "name", ["../x", "/x", "a/../../x", "", ".", "a\\b", "C:x", "a\0b", "manifest.json"]
)
def test_a_name_that_leads_out_of_the_folder_is_refused(server, tmp_path, name):
    with pytest.raises(DownloadError, match="not safe"):
        fetch([Wanted(f"{server.url}/model.bin", name)], tmp_path / "it")

    assert server.asked == [] and list(tmp_path.iterdir()) == []


def test_a_disk_without_room_is_noticed_before(server, tmp_path, monkeypatch):
    free = SimpleNamespace(free=2_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: free)

    with pytest.raises(DiskFullError, match=r"it needs 53 MB more .* 2 MB are free"):
        fetch([model(server)], tmp_path / "it")

    assert server.asked == []


def test_what_has_arrived_needs_no_room_again(server, tmp_path, monkeypatch):
    keep_part(tmp_path, model(server), CONTENT)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=51_000_000))

    fetch([model(server)], tmp_path / "it")

    files.check_folder(tmp_path / "it")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
def test_a_disk_that_fills_up_meanwhile_is_named(server, tmp_path):
    parts = tmp_path / "it.parts"
    parts.mkdir()
    downloads._part(parts, model(server)).symlink_to("/dev/full")

    with pytest.raises(DiskFullError):
        fetch([model(server)], tmp_path / "it")

    assert len(server.asked) == 1


def test_a_failure_while_sealing_costs_no_download(server, tmp_path, monkeypatch):
    def fails(folder):
        raise OSError("broken disk")

    with monkeypatch.context() as patched:
        patched.setattr(files, "_seal", fails)
        with pytest.raises(OSError, match="broken disk"):
            fetch([model(server)], tmp_path / "it")
    server.asked.clear()

    fetch([model(server)], tmp_path / "it")

    assert server.asked == []
    files.check_folder(tmp_path / "it")


def test_a_disk_without_links_does_as_well(server, tmp_path, monkeypatch):
    def no_links(self, target):
        raise OSError("no links here")

    monkeypatch.setattr("pathlib.Path.hardlink_to", no_links)

    fetch([model(server)], tmp_path / "it")

    files.check_folder(tmp_path / "it")


def test_two_never_write_the_same_parts(server, tmp_path):
    seen = []

    def second(done, total):
        if not seen:
            seen.append(done)
            with pytest.raises(DownloadError, match="it is being downloaded already"):
                fetch([model(server)], tmp_path / "it")

    fetch([model(server)], tmp_path / "it", second)

    assert seen
    files.check_folder(tmp_path / "it")


def hub(server, monkeypatch, **changes):
    """A hub with one repository."""
    listing = {
        "sha": "c0ffee",
        "siblings": [
            {"rfilename": "README.md", "size": 3, "blobId": git_id(b"..."), "lfs": None},
            {"rfilename": "config.json", "size": len(SMALL), "blobId": git_id(SMALL)},
            {
                "rfilename": "model.bin",
                "size": len(CONTENT),
                "blobId": git_id(b"pointer"),
                "lfs": {"sha256": sha256(CONTENT), "size": len(CONTENT), "pointerSize": 134},
            },
        ],
    } | changes
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    content = json.dumps(listing).encode()
    server.files["/api/models/who/what/revision/main?blobs=true"] = content
    server.files["/who/what/resolve/c0ffee/config.json"] = SMALL
    server.files["/who/what/resolve/c0ffee/model.bin"] = CONTENT


def test_the_hub_tells_what_there_is_with_its_hashes_at_one_commit(server, monkeypatch, tmp_path):
    hub(server, monkeypatch)

    wanted = hub_files("who/what", ["config.json", "*.bin"], lambda: False)

    at = f"{server.url}/who/what/resolve/c0ffee"
    assert wanted == [
        Wanted(f"{at}/config.json", "config.json", len(SMALL), git_id=git_id(SMALL)),
        Wanted(f"{at}/model.bin", "model.bin", len(CONTENT), sha256(CONTENT)),
    ]
    fetch(wanted, tmp_path / "it")
    assert (tmp_path / "it" / "config.json").read_bytes() == SMALL


@pytest.mark.parametrize(
    "answer", [b"<html>", b"[]", b"{}", b'{"sha": 1}', b'{"sha": "a", "siblings": [{"size": 1}]}']
)
def test_a_hub_that_answers_something_else_is_named(server, monkeypatch, answer):
    hub(server, monkeypatch)
    server.files["/api/models/who/what/revision/main?blobs=true"] = answer

    with pytest.raises(DownloadError, match="did not answer with a list of files for who/what"):
        hub_files("who/what", ["*"], lambda: False)


def test_a_mirror_behind_an_open_line_is_refused(monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://mirror.example")

    with pytest.raises(DownloadError, match="line that others can change"):
        hub_files("who/what", ["*"], lambda: False)


def test_a_hub_that_breaks_off_its_list_is_asked_again(server, monkeypatch):
    hub(server, monkeypatch)
    server.tricks["/api/models/who/what/revision/main?blobs=true"] = [breaks_after(20)]

    assert len(hub_files("who/what", ["*"], lambda: False)) == 3


def test_a_repository_that_is_not_there_is_named(server, monkeypatch):
    hub(server, monkeypatch)

    with pytest.raises(DownloadError, match="it answered 404"):
        hub_files("who/else", ["*"], lambda: False)
