"""Drives the studio with a real Chromium: what a person sees, and what another page cannot do."""

import functools
import http.server
import threading

import pytest

from .browsing import Watched, needs_browser
from .running import studio

pytestmark = needs_browser


@pytest.fixture(scope="module")
def opened(chromium, tmp_path_factory):
    """A studio that was opened while it started, and the page that waited."""
    folder = tmp_path_factory.mktemp("studio")
    with studio(folder, "hold") as running:
        watched = Watched(chromium.new_page())
        watched.page.goto(running.url)
        watched.starting = watched.page.get_by_role("status").inner_text()
        (folder / "go").touch()
        watched.page.get_by_role("button", name="Count").wait_for(timeout=60_000)
        yield running, watched


def test_the_starting_page_turns_into_the_studio_without_a_complaint(opened):
    running, watched = opened

    assert "opens by itself" in watched.starting
    assert watched.page.title() == "Tiny studio"
    assert watched.complaints == []
    assert watched.outside(running.url) == []


WATCH_UNTIL_LAST = """(field) => new Promise((done) => {
  const seen = [field.value];
  const look = () => {
    if (field.value !== seen.at(-1)) seen.push(field.value);
    if (field.value === 'clip 3') done(seen); else setTimeout(look, 5);
  };
  look();
})"""


def test_a_handler_streams_into_the_page(opened):
    _, watched = opened
    heard = watched.page.get_by_label("Heard")

    watched.page.get_by_role("button", name="Count").click()
    seen = heard.evaluate(WATCH_UNTIL_LAST)

    assert seen == ["", "clip 0", "clip 1", "clip 2", "clip 3"]
    assert watched.complaints == []


def test_a_recording_is_uploaded_from_the_page(opened):
    running, watched = opened

    with watched.page.expect_response(lambda answer: "/upload?" in answer.url) as uploaded:
        watched.page.locator("input[type=file]").first.set_input_files(
            {"name": "voice.wav", "mimeType": "audio/wav", "buffer": b"RIFF"}
        )
    uploaded.value.finished()

    assert [path.name for path in (running.folder / "scratch").rglob("*.wav")] == ["voice.wav"]
    assert watched.complaints == []
    assert watched.outside(running.url) == []


@pytest.mark.parametrize("scheme, ground", [("light", "246, 245, 242"), ("dark", "22, 22, 21")])
def test_the_page_follows_the_light_or_dark_of_the_system(opened, chromium, scheme, ground):
    running, _ = opened
    page = chromium.new_page(color_scheme=scheme)
    page.goto(running.url)
    page.get_by_role("button", name="Count").wait_for()

    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    family = page.evaluate("getComputedStyle(document.querySelector('button')).fontFamily")

    assert ground in colour
    assert family.startswith("system-ui")
    page.close()


# Everything a page can send without asking first, and what asks first.
ATTACK = """async (studio) => {
  const upload = () => { const f = new FormData(); f.append('files', new Blob(['x']), 'evil.wav');
                         return f; };
  const call = JSON.stringify({data: ['evil'], fn_index: 0, session_hash: 'evil'});
  const ended = async (promise) => promise.then((r) => r.type + ' ' + r.status, () => 'refused');
  const event = (target, good, bad) => new Promise((done) => {
    target[good] = () => done('opened'); target[bad] = () => done('refused');
    setTimeout(() => done('silent'), 3000); });
  const form = document.createElement('form');
  Object.assign(form, {method: 'post', action: studio + 'gradio_api/upload', target: 'frame',
                       enctype: 'multipart/form-data'});
  form.innerHTML = '<input name="files" value="evil"><iframe name="frame"></iframe>';
  document.body.append(form); form.submit();
  navigator.sendBeacon(studio + 'gradio_api/upload', upload());
  navigator.sendBeacon(studio + 'gradio_api/call/count', call);
  const image = new Image(); const loaded = event(image, 'onload', 'onerror');
  image.src = studio + 'static/img/logo.svg';
  const post = {method: 'POST', body: upload(), credentials: 'include'};
  const json = {method: 'POST', body: call, headers: {'Content-Type': 'application/json'}};
  return {
    read: await ended(fetch(studio)),
    health: await ended(fetch(studio + 'timbre/health', {credentials: 'include'})),
    upload: await ended(fetch(studio + 'gradio_api/upload', post)),
    blind: await fetch(studio + 'gradio_api/upload', {...post, mode: 'no-cors'}).then(() => 'sent',
                                                                              () => 'refused'),
    text: await ended(fetch(studio + 'gradio_api/call/count', {method: 'POST', body: call})),
    call: await ended(fetch(studio + 'gradio_api/call/count', json)),
    join: await ended(fetch(studio + 'gradio_api/queue/join', json)),
    remove: await ended(fetch(studio + 'gradio_api/upload', {method: 'DELETE'})),
    events: await event(new EventSource(studio + 'gradio_api/heartbeat/x'), 'onopen', 'onerror'),
    image: await loaded,
    socket: await event(new WebSocket(studio.replace('http', 'ws') + 'x'), 'onopen', 'onerror'),
  };
}"""


class Blank(http.server.SimpleHTTPRequestHandler):
    """Another program on this computer that serves a page."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>elsewhere</title><body></body>")

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture(scope="module")
def elsewhere():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Blank)) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        yield other.server_port
        other.shutdown()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_page_of_another_origin_can_neither_read_nor_write(opened, chromium, elsewhere, host):
    running, _ = opened
    before = sorted((running.folder / "scratch").rglob("*"))
    (running.folder / "handled").unlink(missing_ok=True)
    page = chromium.new_page()
    page.goto(f"http://{host}:{elsewhere}/")

    outcome = page.evaluate(ATTACK, running.url)
    page.wait_for_timeout(500)

    assert outcome.pop("blind") in ("sent", "refused")  # the browser tells the page nothing
    assert set(outcome.values()) == {"refused"}, outcome
    assert sorted((running.folder / "scratch").rglob("*")) == before
    assert not (running.folder / "handled").exists()
    page.close()


def test_a_link_on_another_page_opens_the_studio(opened, chromium, elsewhere):
    running, _ = opened
    page = chromium.new_page()
    page.goto(f"http://localhost:{elsewhere}/")

    page.evaluate("(studio) => { location.href = studio }", running.url)

    page.get_by_role("button", name="Count").wait_for()
    page.close()


def test_another_page_cannot_frame_the_studio(opened, chromium, elsewhere):
    running, _ = opened
    page = chromium.new_page()
    page.goto(f"http://127.0.0.1:{elsewhere}/")

    page.evaluate(
        "(s) => { document.body.innerHTML = `<iframe src='${s}'></iframe>` }", running.url
    )
    page.wait_for_timeout(1500)

    assert all("Tiny studio" not in frame.title() for frame in page.frames)
    page.close()
