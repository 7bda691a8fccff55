"""What a page of another origin can do to the studio: nothing."""

from __future__ import annotations

import functools
import http.server
import threading

import pytest

from finetune import projects
from tests.app.browsing import needs_browser

pytestmark = needs_browser

# Everything a page can send without asking first, and what asks first.
ATTACK = """async (studio) => {
  const upload = () => { const f = new FormData(); f.append('files', new Blob(['x']), 'evil.wav');
                         return f; };
  const sent = studio + 'timbre/upload?name=evil.wav';
  const call = studio + 'timbre/call/home.create';
  const made = JSON.stringify({name: 'evil'});
  const ended = async (promise) => promise.then((r) => r.type + ' ' + r.status, () => 'refused');
  const event = (target, good, bad) => new Promise((done) => {
    target[good] = () => done('opened'); target[bad] = () => done('refused');
    setTimeout(() => done('silent'), 3000); });
  const form = document.createElement('form');
  Object.assign(form, {method: 'post', action: call, target: 'frame', enctype: 'text/plain'});
  form.innerHTML = '<input name="{&quot;name&quot;:&quot;evil" value="&quot;}"><iframe name="frame"></iframe>';
  document.body.append(form); form.submit();
  navigator.sendBeacon(sent, upload());
  navigator.sendBeacon(call, made);
  const image = new Image(); const loaded = event(image, 'onload', 'onerror');
  image.src = studio + 'timbre/file/system.bundle';
  const sound = new Audio(studio + 'timbre/file/voices.sample?voice=x');
  const heard = event(sound, 'oncanplay', 'onerror');
  const post = {method: 'POST', body: made, credentials: 'include'};
  const json = {...post, headers: {'Content-Type': 'application/json'}};
  return {
    read: await ended(fetch(studio)),
    health: await ended(fetch(studio + 'timbre/health', {credentials: 'include'})),
    words: await ended(fetch(studio + 'timbre/words/en.json')),
    script: await event(Object.assign(document.body.appendChild(document.createElement('script')),
                        {src: studio + 'timbre/assets/studio.js', type: 'module'}), 'onload', 'onerror'),
    upload: await ended(fetch(sent, {method: 'PUT', body: 'x', credentials: 'include'})),
    blind: await fetch(call, {...post, mode: 'no-cors'}).then(() => 'sent', () => 'refused'),
    text: await ended(fetch(call, post)),
    call: await ended(fetch(call, json)),
    remove: await ended(fetch(call, {method: 'DELETE'})),
    events: await event(new EventSource(studio + 'timbre/call/now'), 'onopen', 'onerror'),
    image: await loaded,
    sound: await heard,
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
def test_a_page_of_another_origin_can_neither_read_nor_write(
    running, workspace, chromium, elsewhere, host
):
    page = chromium.new_page()
    page.goto(f"http://{host}:{elsewhere}/")

    outcome = page.evaluate(ATTACK, running.url)
    page.wait_for_timeout(500)

    assert outcome.pop("blind") in ("sent", "refused")  # the browser tells the page nothing
    assert set(outcome.values()) == {"refused"}, outcome
    assert projects.shelf(workspace).all() == []
    assert list((running.home / "cache").rglob("*evil*")) == []
    page.close()


def test_a_link_on_another_page_opens_the_studio(running, chromium, elsewhere):
    page = chromium.new_page()
    page.goto(f"http://localhost:{elsewhere}/")

    page.evaluate("(studio) => { location.href = studio }", running.url)

    page.get_by_role("heading", level=1).wait_for()
    page.close()


def test_another_page_cannot_frame_the_studio(running, chromium, elsewhere):
    page = chromium.new_page()
    page.goto(f"http://127.0.0.1:{elsewhere}/")

    page.evaluate(
        "(s) => { document.body.innerHTML = `<iframe src='${s}'></iframe>` }", running.url
    )
    page.wait_for_timeout(1500)

    assert all("Timbre" not in frame.title() for frame in page.frames)
    page.close()


def test_the_page_runs_no_script_and_takes_no_style_that_is_not_its_own(running, chromium):
    page = chromium.new_page()
    page.goto(running.url)
    page.get_by_role("heading", level=1).wait_for()

    ran = page.evaluate("""async () => {
      const inline = Object.assign(document.createElement('script'), {textContent: 'window.ran = 1'});
      document.body.append(inline);
      document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="window.ran = 2">');
      setTimeout("window.evaluated = 1");
      const asked = await fetch('http://192.0.2.1/').then(() => 'asked', () => 'refused');
      await new Promise((done) => setTimeout(done, 300));
      return [window.ran ?? 'refused', window.evaluated ?? 'refused', asked];
    }""")

    assert ran == ["refused"] * 3
    page.close()
