"""A studio that runs, and a page of it in a real Chromium, watched for complaints."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.app.browsing import Watched
from tests.app.test_studio import Studio
from voices.workspace import open_workspace

# Where screenshots are kept, for a person to look at.
PICTURES = Path(os.environ.get("TIMBRE_TEST_PICTURES", ".test-artefacts"))


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    studio = Studio(tmp_path_factory.mktemp("page") / "workspace")
    studio.url = studio.wait_until_found()
    yield studio
    studio.kill()


@pytest.fixture
def workspace(running):
    opened = open_workspace(running.home)
    yield opened
    opened.close()


@pytest.fixture(params=[(1280, "light"), (390, "dark")], ids=["wide-light", "narrow-dark"])
def watched(request, running, chromium):
    """The page, wide and light or narrow and dark: no complaint, no outside request, no overhang."""
    width, scheme = request.param
    context = chromium.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, locale="en-US"
    )
    watched = Watched(context.new_page())
    watched.page.on("dialog", lambda dialog: watched.complaints.append(dialog.message))
    watched.page.goto(running.url)
    watched.page.get_by_role("heading", level=1).wait_for()
    yield watched
    PICTURES.mkdir(exist_ok=True)
    watched.page.screenshot(path=PICTURES / f"{request.node.name}.png")
    assert watched.complaints == []
    assert watched.outside(running.url) == []
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= width
    context.close()


@pytest.fixture
def page(watched):
    return watched.page
