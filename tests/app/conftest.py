"""What the tests of the screen need."""

from __future__ import annotations

import pytest

from .browsing import BROWSER, FLAGS


@pytest.fixture(scope="module")  # a module each: its loop would stay in the way of others
def chromium():
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield browser
        browser.close()
