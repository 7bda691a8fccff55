"""The editor on 2,000 clips and an hour of sound, in a real Chromium, beside the limits it is to keep."""

from __future__ import annotations

import os
import re
import shutil
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.bench import screen_project, studios
from tests.bench.progress import Progress
from tests.bench.record import CannotMeasure, Figure, Measured
from voices.workspace import Workspace

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--mute-audio"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--autoplay-policy=no-user-gesture-required",
]
OPENINGS = 5
TIMES = 20
PATIENCE_MS = 10_000
START_SECONDS = 20.0
FIGURES = (
    Figure("first_content_s", "from the page's request to the first clip on it", "<= 1.5"),
    Figure("round_trip_ms", "an edit until the studio has answered, median", "<= 100"),
    Figure("play_ms", "from the space key until the sound goes on, median", "<= 200"),
    Figure("edit_ms", "from Enter until the next clip can be typed in, median", "<= 50"),
    Figure("typed_ms", "from a letter until it is painted, median"),
    Figure("scroll_frame_ms_p95", "a frame while the list is scrolled, 19 of 20", "<= 20"),
)


def measure(workspace: Workspace, progress: Progress) -> Measured:
    """Make the project, open it in a browser and use it."""
    project = screen_project.make(workspace)
    with running(workspace) as url, chromium() as browser:
        address = f"{url}#{project.id}/transcript"
        opened = [
            first_content(browser, address) for _ in progress.through(range(OPENINGS), "openings")
        ]
        page = open_page(browser, address)
        figures = {
            "first_content_s": statistics.median(opened),
            "round_trip_ms": round_trip(page, project.id),
            "scroll_frame_ms_p95": scroll_frames(page),
            "edit_ms": edits(page),
            "typed_ms": typed(page),
            "play_ms": plays(page),
        }
        return Measured({name.name: figures[name.name] for name in FIGURES})


# ---- A studio and a browser ----------------------------------------------------------------------


@contextmanager
def running(workspace: Workspace) -> Iterator[str]:
    """A studio of its own for a workspace; its address."""
    port = studios.a_free_port()
    studio = studios.Studio(workspace.root, port)
    try:
        if not studios.wait_for(lambda: answers(port), START_SECONDS):
            raise CannotMeasure("the studio did not answer")
        yield f"http://127.0.0.1:{port}/"
    finally:
        studio.kill()
        studio.wait()


def answers(port: int) -> bool:
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


@contextmanager
def chromium() -> Iterator[Any]:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise CannotMeasure("Playwright is not installed") from error
    path = os.environ.get("TIMBRE_TEST_BROWSER") or shutil.which("chromium")
    if path is None:
        raise CannotMeasure("there is no Chromium")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


def open_page(browser: Any, address: str) -> Any:
    page = browser.new_context(viewport={"width": 1280, "height": 900}, locale="en-US").new_page()
    page.goto(address)
    page.wait_for_selector(".line .said")
    page.wait_for_selector(".wave canvas")
    return page


# ---- What is measured ----------------------------------------------------------------------------


def first_content(browser: Any, address: str) -> float:
    """Seconds from the page's request until the first clip is there, in an empty browser."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(address, wait_until="commit")
    # The page allows no eval, which Playwright's own waiting needs.
    shown = page.evaluate(
        """() => new Promise((done) => {
            const look = () => (document.querySelector('.line .said') ? done(performance.now()) : requestAnimationFrame(look));
            look();
        })"""
    )
    seconds = float(shown) / 1000
    context.close()
    return seconds


def round_trip(page: Any, project: str) -> float:
    """Milliseconds of an edit, from asking to the answer, in the page."""
    took: list[float] = page.evaluate(_ROUND_TRIPS, [project, TIMES])
    return statistics.median(took)


_ROUND_TRIPS = """async ([project, times]) => {
    const { call } = await import('/timbre/assets/parts/api.js');
    const all = await call('transcript.clips', { project });
    let since = all.revision;
    const took = [];
    for (const [clip, revision] of all.rows.slice(900, 900 + times)) {
        const began = performance.now();
        const done = await call('transcript.text', { project, clip, revision, text: `Text ${clip}`, since });
        took.push(performance.now() - began);
        since = done.revision;
    }
    return took;
}"""


def scroll_frames(page: Any) -> float:
    """Milliseconds between frames, 19 of 20, while a wheel turns over the list."""
    page.get_by_role("button", name=re.compile("^all ")).click()
    page.locator(".virtual").hover()
    page.evaluate(
        """() => {
            window.frames_ = []; let last = performance.now();
            const step = (now) => { window.frames_.push(now - last); last = now; window.going_ = requestAnimationFrame(step); };
            window.going_ = requestAnimationFrame(step);
        }"""
    )
    for _ in range(120):
        page.mouse.wheel(0, 180)
        page.wait_for_timeout(16)
    frames: list[float] = page.evaluate("cancelAnimationFrame(window.going_), window.frames_")
    return sorted(frames[2:])[int(0.95 * len(frames[2:]))]


def edits(page: Any) -> float:
    """Milliseconds from Enter on a changed text until the next one has the keyboard, painted."""
    _type_in_first(page)
    took = []
    for number in range(TIMES):
        page.keyboard.type(f" {number}")
        page.evaluate(_UNTIL_NEXT)
        page.keyboard.press("Enter")
        took.append(_took(page))
        page.wait_for_timeout(50)
    page.wait_for_selector("[data-state=saved]")
    return statistics.median(took)


def _type_in_first(page: Any) -> None:
    page.locator(".virtual").evaluate("(box) => { box.scrollTop = 0; }")
    page.locator(".line .said").first.click()
    page.locator(".line textarea").wait_for()


def _took(page: Any) -> float:
    """Milliseconds that the page has measured; it must not wait for ever for what does not come."""
    found = page.evaluate(
        f"Promise.race([window.took_, new Promise((done) => setTimeout(done, {PATIENCE_MS}))])"
    )
    if found is None:
        raise CannotMeasure("what was waited for in the page did not come")
    return float(found)


_UNTIL_NEXT = """() => {
    const before = document.activeElement.dataset.clip;
    window.took_ = new Promise((done) => {
        document.addEventListener('keydown', () => {
            const began = performance.now();
            const look = () => {
                const at = document.activeElement?.dataset?.clip;
                if (at && at !== before) requestAnimationFrame(() => done(performance.now() - began));
                else requestAnimationFrame(look);
            };
            look();
        }, { once: true, capture: true });
    });
}"""


def typed(page: Any) -> float:
    """Milliseconds from a letter until the frame that has it."""
    took = []
    for _ in range(TIMES):
        page.evaluate(
            """() => { window.took_ = new Promise((done) => document.addEventListener('keydown', () => {
                const began = performance.now();
                document.addEventListener('input', () => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - began))), { once: true });
            }, { once: true, capture: true })); }"""
        )
        page.keyboard.press("a")
        took.append(_took(page))
    page.keyboard.press("Escape")
    page.wait_for_selector("[data-state=saved]")
    return statistics.median(took)


def plays(page: Any) -> float:
    """Milliseconds from the space key on a clip not heard before until its sound goes on."""
    took = []
    for _ in range(TIMES // 2):
        page.keyboard.press("j")
        page.wait_for_timeout(150)
        page.evaluate(
            """() => { window.took_ = new Promise((done) => document.addEventListener('keydown', () => {
                const began = performance.now(), player = document.getElementById('player');
                const look = () => (!player.paused && player.currentTime > 0 ? done(performance.now() - began) : setTimeout(look, 2));
                player.addEventListener('playing', look, { once: true });
            }, { once: true, capture: true })); }"""
        )
        page.keyboard.press(" ")
        took.append(_took(page))
        page.keyboard.press(" ")
    return statistics.median(took)
