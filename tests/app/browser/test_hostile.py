"""Words of others are words on every place: names, texts and logs run nothing, however written."""

from __future__ import annotations

import pytest

from finetune import projects, runs
from finetune.jobs.folder import JobFolder, Request
from finetune.jobs.outcome import Outcome
from finetune.runs import Plan
from tests.app.asking import MARKUP
from tests.app.browsing import needs_browser
from tests.stores import add_recording
from voices import files, library, names
from voices.library import Consent
from voices.workspace import now

pytestmark = needs_browser

PLACES = ("home", "recordings", "transcript", "train", "voices", "system")
# What turns the reading order is refused in names, so that there it is no danger.
NAMES = [each for each in MARKUP if "\u202e" not in each]
HOOK = "window.ran = []; for (const name of ['alert', 'confirm', 'prompt']) window[name] = (x) => window.ran.push(x)"
# What the words would become if they were taken for a page.
MADE = "document.querySelectorAll('img[src=x], svg[onload], iframe, main script, math, a[href^=javascript], [onmouseover], [onerror]').length"
SETTLE_MS = 1200


def voice(workspace, folder, name):
    with files.new_folder(folder) as new:
        (new / "model.safetensors").write_bytes(b"x")
        facts = {
            "v": 1,
            "name": name,
            "engine": "pocket",
            "language": "en",
            "licence": name,
        }
        files.write_json(new / "voice.json", facts)
    kept = library.keep(workspace, folder, name, Consent(name, True))
    library.tag(workspace, kept, [name.replace(",", "")[:40]], [])


def ended_job(workspace, words):
    folder = JobFolder(workspace.jobs / names.new_id())
    folder.write_request(Request("train", words, ("python", "-c", words)))
    folder.write_outcome(Outcome("bug", words, words, words, (words, f"Error: {words}")))
    with workspace.store.change() as store:
        store.execute(
            "INSERT INTO jobs SELECT ?, coalesce(max(place), 0) + 1, '', '', 'ended', '', ? FROM jobs",
            (folder.id, now()),
        )


def clip(store, number, recording, words):
    store.execute(
        "INSERT INTO clips VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?)",
        (number, recording, number, number + 0.9, words, number % 2, words, number),
    )
    store.execute(
        "INSERT INTO checks VALUES (?, ?, ?, '{}', x'', ?, 'look', ?, '[]')",
        (number, number, number + 0.9, words, words),
    )


@pytest.fixture(scope="module")
def project(running, tmp_path_factory):
    """A workspace in which everything is called like a piece of a page; its fullest project."""
    from voices.workspace import open_workspace

    workspace = open_workspace(running.home)
    items = [projects.create(workspace, name) for name in NAMES]
    projects.shelf(workspace).trash(items.pop().id)
    with projects.open_project(projects.folder_of(workspace, items[0])) as opened:
        for number, words in enumerate(MARKUP, 1):
            recording = add_recording(opened.store, names.new_id(), f"{words}.wav")
            with opened.store.change() as store:
                clip(store, number, recording.id, words)
    for number, words in enumerate(NAMES):
        voice(workspace, tmp_path_factory.mktemp("voice") / str(number), words)
        runs.create(workspace, Plan(words, items[0].id, 1, "pocket", words, (words,), whose=words))
        ended_job(workspace, words)
        folder = workspace.root / "models" / words.replace("/", "_").replace("\0", "")
        folder.mkdir(exist_ok=True)
    yield items[0].id
    workspace.close()


def looked_at(page, project, place):
    """Open a place and all that can be unfolded there."""
    page.goto(f"{page.url.partition('#')[0]}#{project}/{place}")
    page.locator("main:not([aria-busy])").wait_for()
    page.wait_for_timeout(SETTLE_MS)
    for summary in page.locator("main summary").all()[:12]:
        if summary.is_visible():
            summary.click()
    page.wait_for_timeout(300)


@pytest.mark.parametrize("place", PLACES)
def test_words_run_nothing_and_become_no_part_of_the_page(page, project, place):
    page.add_init_script(HOOK)
    page.reload()

    looked_at(page, project, place)

    assert page.evaluate("window.ran") == []
    assert page.evaluate(MADE) == 0
    # They are there, as they were written.
    assert any(words in page.locator("body").inner_text() for words in NAMES)


def test_what_a_job_says_of_itself_runs_nothing(page, project):
    page.add_init_script(HOOK)
    page.reload()
    looked_at(page, project, "system")

    for button in page.get_by_role("button", name="Details").all()[:6]:
        button.click()
        page.get_by_role("dialog").locator("pre").first.wait_for()
        assert page.evaluate(MADE) == 0
        page.keyboard.press("Escape")
    page.get_by_role("region", name="What takes the room").get_by_role("button", name="All").click()

    assert page.evaluate("window.ran") == [] and page.evaluate(MADE) == 0


def test_a_question_and_a_note_run_nothing(page, project):
    page.add_init_script(HOOK)
    page.reload()
    looked_at(page, project, "system")

    for button in page.get_by_role("button", name="Delete Project").all():
        button.click()
        assert page.evaluate(MADE) == 0
        page.get_by_role("button", name="No, leave it").click()
    looked_at(page, project, "home")
    page.get_by_role("button", name="Move to trash").first.click()
    page.get_by_role("status").get_by_role("button", name="Take back").click()

    assert page.evaluate("window.ran") == [] and page.evaluate(MADE) == 0
