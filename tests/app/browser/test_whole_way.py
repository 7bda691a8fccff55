"""The whole way as a newcomer walks it, in one browser: from a recording to a voice that speaks."""

from __future__ import annotations

import re
import time

import pytest
import soundfile

from finetune import projects
from tests.app.browser.conftest import PICTURES
from tests.app.browsing import Watched, needs_browser
from voices import library, shipped

pytestmark = [*needs_browser, pytest.mark.timeout(600)]

LONG_MS = 180_000
SECONDS = 48.0


@pytest.fixture
def page(running, chromium):
    context = chromium.new_context(
        viewport={"width": 1280, "height": 900}, locale="en-US", accept_downloads=True
    )
    watched = Watched(context.new_page())
    watched.page.set_default_timeout(60_000)
    watched.page.goto(running.url)
    yield watched.page
    watched.page.screenshot(path=PICTURES / "whole-way-end.png", full_page=True)
    assert watched.complaints == []
    assert watched.outside(running.url) == []
    context.close()


@pytest.fixture
def files(tmp_path):
    """Three quarters of a minute whose words are known, and the words."""
    with soundfile.SoundFile(shipped.demo().recording) as demo:
        soundfile.write(
            tmp_path / "evening.wav", demo.read(round(SECONDS * demo.samplerate)), demo.samplerate
        )
    (tmp_path / "script.txt").write_text(shipped.demo().script.read_text())
    return tmp_path


def seen(page, name):
    PICTURES.mkdir(exist_ok=True)
    page.screenshot(path=PICTURES / f"whole-way-{name}.png", full_page=True)


def until(page, is_true, seconds=30):
    deadline = time.monotonic() + seconds
    while not (found := is_true()):
        assert time.monotonic() < deadline
        page.wait_for_timeout(50)
    return found


def choose(page, button, *paths):
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name=button, exact=True).click()
    chooser.value.set_files(list(paths))


def is_saved(page):
    page.locator("[data-state=saved]").wait_for()


def test_from_a_recording_to_a_voice_that_speaks(page, workspace, files):
    make_a_project(page)
    bring_in_and_build(page, files)
    correct(page, workspace)
    train_and_listen(page)
    speak_and_export(page, workspace)


def make_a_project(page):
    page.get_by_label("New project").fill("Evening voice")
    page.get_by_role("button", name="Create project").click()


def bring_in_and_build(page, files):
    choose(page, "Choose files", files / "evening.wav")
    recordings = page.get_by_role("region", name="Recordings", exact=True)
    recordings.get_by_text("evening.wav").wait_for()
    page.get_by_label("I have the text").check()
    choose(page, "Choose the text", files / "script.txt")
    page.get_by_text("script.txt").first.wait_for()
    seen(page, "1-recordings")
    page.get_by_role("button", name="Build dataset").click()
    page.get_by_role("button", name="To the transcript").click(timeout=LONG_MS)


def correct(page, workspace):
    page.get_by_role("button", name=re.compile("^all ")).click()
    page.locator(".wave .word").first.wait_for()
    project = projects.shelf(workspace).all()[0]

    def clips():
        with projects.open_project(projects.folder_of(workspace, project)) as opened:
            return [each for each in opened.transcript.clips() if not each.values.gone]

    before = clips()
    page.locator(".line[aria-posinset='1'] .said").click()
    page.get_by_label("Text of clip 1").fill("Good evening, and welcome.")
    page.keyboard.press("Enter")
    is_saved(page)
    assert clips()[0].values.text == "Good evening, and welcome."
    page.keyboard.press("Escape")

    page.locator(".wave .word").first.wait_for()
    page.get_by_role("slider", name="End of the clip").press("ArrowLeft")
    until(page, lambda: clips()[1].values.end != before[1].values.end)
    page.locator(".wave .word").nth(1).click()
    page.keyboard.press("s")
    until(page, lambda: len(clips()) == len(before) + 1)
    page.keyboard.press("m")
    until(page, lambda: len(clips()) == len(before))
    for _ in range(4):  # merge, split, trim and text
        page.keyboard.press("Control+z")
        is_saved(page)
    until(page, lambda: [each.values for each in clips()] == [each.values for each in before])
    seen(page, "2-transcript")
    page.get_by_role("button", name="Freeze as dataset").click()
    page.get_by_text(re.compile("is frozen|nothing has changed")).first.wait_for()


def train_and_listen(page):
    page.get_by_role("link", name="Train").click()
    page.get_by_text(re.compile("fits, .* to spare")).wait_for(timeout=LONG_MS)
    epochs = page.get_by_role("slider", name="How often each clip is learned")
    epochs.press("Home")
    page.get_by_label("Name of the person who is heard").fill("The keeper")
    page.get_by_label("Yes").check()
    seen(page, "3-plan")
    page.get_by_role("button", name="Start training").click()
    page.get_by_text(re.compile(r"^step [\d,]+ of")).first.wait_for(timeout=LONG_MS)
    listen = page.get_by_role("region", name="Listen")
    listen.get_by_text("The finished voice").wait_for(timeout=LONG_MS)
    seen(page, "4-trained")
    listen.get_by_role("button", name=re.compile("^Play")).first.click()
    until(page, lambda: page.evaluate("document.getElementById('player').currentTime") > 0.3)
    page.locator(".chart .line").first.wait_for()


def speak_and_export(page, workspace):
    page.get_by_role("link", name="Voices").click()
    speak = page.get_by_role("region", name="Speak")
    speak.get_by_label("What is to be said").fill("Good morning. It is half past seven.")
    speak.get_by_role("button", name="Speak", exact=True).click()
    speak.get_by_text(re.compile("Sentence 2,")).wait_for(timeout=LONG_MS)
    seen(page, "5-voices")
    [voice] = library.listed(workspace)
    assert voice.consent.whose == "The keeper"
    page.get_by_role("button", name="Export").click()
    with page.expect_download(timeout=LONG_MS) as download:
        page.get_by_role("button", name="Save: One file for another Timbre").click()
    assert download.value.suggested_filename.endswith(".timbre")
