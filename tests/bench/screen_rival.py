"""
The same 2,000 texts in the table that other programs edit them in: a plain gr.Dataframe.

`python -m tests.bench.screen_rival PORT` serves it; `measure` uses it as a person would.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from typing import Any

import psutil

from tests.bench import screen_project, studios
from tests.bench.progress import Progress
from tests.bench.record import CannotMeasure, Measured
from tests.bench.screen_editor import answers, chromium

CELL = "[role=gridcell]"
OPENINGS = 3
EDITS = 10
START_SECONDS = 60.0
PATIENCE_MS = 10_000


def measure(progress: Progress) -> Measured:
    """Start it, open it, edit in it, scroll it."""
    port = studios.a_free_port()
    began = time.monotonic()
    environment = {**os.environ, "GRADIO_ANALYTICS_ENABLED": "False"}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.screen_rival", str(port)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    try:
        if not studios.wait_for(lambda: answers(port), START_SECONDS):
            raise CannotMeasure("the table did not answer")
        started = time.monotonic() - began
        with chromium() as browser:
            try:
                figures = _used(browser, f"http://127.0.0.1:{port}/", progress)
            except Exception as problem:  # playwright's own, which is not imported here
                raise CannotMeasure(f"the table could not be used ({problem})") from problem
        rss_mb = psutil.Process(process.pid).memory_info().rss / 1e6
        return Measured({"rival_start_s": started, "rival_rss_mb": rss_mb, **figures})
    finally:
        process.kill()
        process.wait()


def _used(browser: Any, url: str, progress: Progress) -> dict[str, float]:
    opened = [_opening(browser, url) for _ in progress.through(range(OPENINGS), "openings")]
    page = browser.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.goto(url)
    page.locator(CELL).first.wait_for()
    return {
        "rival_first_content_s": statistics.median(opened),
        "rival_edit_ms": statistics.median(
            _edit(page, row) for row in progress.through(range(EDITS), "edits")
        ),
        "rival_scroll_frame_ms_p95": page.evaluate(_SCROLLED),
    }


def _opening(browser: Any, url: str) -> float:
    page = browser.new_context().new_page()
    page.goto(url, wait_until="commit")
    shown = page.evaluate(
        """() => new Promise((done, fail) => {
            setTimeout(() => fail(new Error('no table')), 20000);
            const look = () => (document.querySelectorAll('[role=gridcell]').length > 3
              ? done(performance.now()) : requestAnimationFrame(look));
            look();
        })"""
    )
    page.context.close()
    return float(shown) / 1000


def _edit(page: Any, row: int) -> float:
    """From Enter in a cell until what was typed stands in the table."""
    cell = page.locator(f"[data-testid='cell-{row}-2']")
    cell.dblclick()
    cell.locator("textarea").fill(f"changed {row}")
    began = time.monotonic()
    page.keyboard.press("Enter")
    cell.get_by_text(f"changed {row}").wait_for()
    return (time.monotonic() - began) * 1000


_SCROLLED = """() => new Promise((done) => {
  const box = [...document.querySelectorAll('*')].find(
    (each) => each.scrollHeight > each.clientHeight + 500
      && /auto|scroll/.test(getComputedStyle(each).overflowY)) ?? document.scrollingElement;
  const frames = []; let last = performance.now();
  const step = (now) => {
    frames.push(now - last); last = now; box.scrollTop += 60;
    if (frames.length < 200) requestAnimationFrame(step);
    else done(frames.slice(5).sort((a, b) => a - b)[Math.floor(195 * 0.95)]);
  };
  requestAnimationFrame(step);
})"""


def serve(port: int) -> None:
    """Show the texts of the project that the editor is measured with."""
    import gradio

    with gradio.Blocks() as page:
        table = gradio.Dataframe(
            screen_project.rows(),
            headers=["start", "seconds", "text"],
            interactive=True,
            max_height=600,
        )
        shown = gradio.Textbox()
        table.change(lambda rows: str(len(rows)), table, shown)
    page.launch(server_port=port, quiet=True)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
