"""A real Chromium, watched."""

from __future__ import annotations

import os
import shutil

import pytest

BROWSER = os.environ.get("TIMBRE_TEST_BROWSER") or shutil.which("chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--mute-audio",
]

needs_browser = [
    pytest.mark.browser,
    pytest.mark.skipif(not BROWSER, reason="no Chromium: `launch.py test` brings one"),
]


class Watched:
    """A browser page, with everything it complained about and asked for."""

    def __init__(self, page):
        self.page = page
        self.complaints, self.requests = [], []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def _console(self, message):
        # A refusal in words is no complaint, though Chromium counts every answer above 399 as one.
        refused = "status of 4" in message.text and "/timbre/" in message.location["url"]
        if message.type == "error" and not refused:
            self.complaints.append(message.text)

    def outside(self, url):
        """Requests that left this studio (data: and blob: stay in the browser)."""
        return [asked for asked in self.requests if not asked.startswith((url, "data:", "blob:"))]


def let_notes_stay(page):
    """Take no note away by the clock: one that goes was taken away for a reason."""
    page.evaluate(
        """() => {
            const real = window.setTimeout;
            window.setTimeout = (act, ms, ...more) => (ms >= 5000 ? 0 : real(act, ms, ...more));
        }"""
    )
