"""The real studio in a real Chromium, used as a person would."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from finetune import projects
from finetune.jobs import queue
from tests.jobs_at_work import request
from voices.workspace import open_workspace

from .browsing import Watched, needs_browser
from .test_studio import Studio

pytestmark = needs_browser

# Where screenshots are kept, for a person to look at.
PICTURES = Path(os.environ.get("TIMBRE_TEST_PICTURES", ".test-artefacts"))
HOSTILE = ["<img src=x onerror=alert(1)>", "<script>alert(1)</script>", "مرحبا", "..", "CON", "-rf"]


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
def page(request, running, chromium):
    width, scheme = request.param
    context = chromium.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, locale="en-US"
    )
    watched = Watched(context.new_page())
    watched.page.on("dialog", lambda dialog: watched.complaints.append(dialog.message))
    watched.page.goto(running.url)
    watched.page.get_by_role("button", name="Create project").wait_for(timeout=60_000)
    yield watched.page
    PICTURES.mkdir(exist_ok=True)
    watched.page.screenshot(path=PICTURES / f"{request.node.name}.png")
    assert watched.complaints == []
    assert watched.outside(running.url) == []
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= width
    context.close()


def create(page, name):
    page.get_by_label("New project").fill(name)
    page.get_by_role("button", name="Create project").click()
    page.get_by_role("radio", name=name, exact=True).wait_for()


def test_a_project_is_made_renamed_put_away_and_taken_back(page, workspace):
    name = f"Voice {time.monotonic_ns()}"
    create(page, name)

    page.get_by_label("Another name").fill(f"{name} again")
    page.get_by_role("button", name="Rename").click()
    page.get_by_role("radio", name=f"{name} again").wait_for()
    page.get_by_role("button", name="Move to trash").click()
    page.get_by_role("button", name="Trash ▼").or_(
        page.get_by_text("Trash", exact=True)
    ).last.click()
    page.get_by_role("radio", name=f"{name} again").check()
    page.get_by_role("button", name="Take back").click()
    page.get_by_role("button", name="Rename").wait_for()

    assert f"{name} again" in [item.name for item in projects.shelf(workspace).all()]


def test_what_another_window_does_is_seen_here(page, workspace):
    name = f"Elsewhere {time.monotonic_ns()}"
    item = projects.create(workspace, name)
    page.get_by_role("radio", name=name).check()
    assert page.get_by_label("Another name").input_value() == name

    projects.shelf(workspace).trash(item.id)

    page.get_by_role("radio", name=name, exact=True).wait_for(state="hidden")
    page.get_by_role("button", name="Rename").wait_for(state="hidden")


def test_hostile_names_are_shown_as_they_are_and_run_nothing(page, workspace):
    for name in HOSTILE:
        create(page, f"{name} {time.monotonic_ns()}")


def test_a_name_that_cannot_be_is_refused_with_a_sentence_and_stays_in_its_field(page, workspace):
    name = f"<b onclick=alert(1)>Twice</b> {time.monotonic_ns()}"
    create(page, name)

    page.get_by_label("New project").fill(name)
    page.get_by_role("button", name="Create project").click()

    page.get_by_text("Choose another name.").wait_for()
    assert page.get_by_label("New project").input_value() == name


def test_a_job_is_seen_and_stopped_from_the_page(page, workspace):
    job = queue.submit(workspace, request("count", 100_000))
    page.get_by_text("of 100,000 steps").first.wait_for()
    page.get_by_role("tab", name="System").click()
    page.get_by_role("cell", name=job.id).wait_for()

    page.get_by_role("listbox", name="Job").or_(page.get_by_label("Job", exact=True)).first.click()
    page.get_by_role("option", name=f"count · {job.id[:4]}").click()
    page.wait_for_timeout(2500)  # the list is drawn again each second; the choice stays
    page.get_by_role("button", name="Stop and save").click()

    list(job.folder.follow(poll_seconds=0.05))
    assert queue.find(workspace, job.id).outcome.what.startswith("Saved at step")


def test_the_computer_is_checked_from_the_page(page):
    page.get_by_role("tab", name="System").click()
    page.get_by_role("button", name="Check this computer").click()

    page.get_by_text("a second of sound written and read back").wait_for()
