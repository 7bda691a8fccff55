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


WIDE, NARROW = (1280, "light"), (390, "dark")
BOTH = pytest.mark.parametrize("watched", [WIDE, NARROW], indirect=True, ids=["wide", "narrow"])
"""A test that looks at the page both wide and light, and narrow and dark."""


@pytest.fixture
def watched(request, running, chromium):
    """The page in a browser: no complaint, no outside request, no overhang. Wide unless marked."""
    width, scheme = getattr(request, "param", WIDE)
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
