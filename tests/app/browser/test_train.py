"""Train, used as a person would: planned, begun, heard, reloaded, stopped and gone on with."""

from __future__ import annotations

import json
import re
import time

import pytest

from finetune import projects, runs, submitting, tending
from finetune.jobs import queue
from finetune.jobs.events import Measured
from finetune.jobs.folder import JobFolder, Request
from finetune.jobs.outcome import Outcome
from finetune.runs import Plan
from finetune.settings import HearSettings, TrainSettings
from tests import trainee
from tests.app.browser.conftest import BOTH, NARROW, PICTURES
from tests.app.browsing import Watched, needs_browser
from voices import names, shipped
from voices.workspace import open_workspace

pytestmark = needs_browser

LOUD = """async (url) => {
  const bytes = await (await fetch(url)).arrayBuffer();
  const sound = await new OfflineAudioContext(1, 1, 48000).decodeAudioData(bytes);
  const samples = sound.getChannelData(0);
  return Math.sqrt(samples.reduce((sum, each) => sum + each * each, 0) / samples.length);
}"""


@pytest.fixture(scope="module")
def ada(running):
    """A project with a dataset of the recording that ships."""
    workspace, demo = open_workspace(running.home), shipped.demo()
    item = projects.create(workspace, "Ada")
    hear = HearSettings(language=demo.language)
    wish = submitting.wish_for(
        workspace, item, sources=(str(demo.recording),), text=str(demo.script), freeze=True,
        hear=hear,
    )  # fmt: skip
    job = submitting.submit(workspace, item, wish, "Build Ada")
    list(job.folder.follow(0.1, lambda: queue.advance(workspace)))
    yield item
    for run in runs.all(workspace):
        if run.state in runs.AT_WORK:
            queue.stop(workspace, run.job.id)
            list(run.job.folder.follow(0.1, lambda: queue.advance(workspace)))
    workspace.close()


@pytest.fixture
def wide(running, chromium, ada, request):
    """The place, wide, watched."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, locale="en-US")
    watched = Watched(context.new_page())
    watched.page.goto(f"{running.url}#{ada.id}/train")
    watched.page.get_by_role("heading", name="Train", level=1).wait_for()
    yield watched.page
    PICTURES.mkdir(exist_ok=True)
    watched.page.screenshot(path=PICTURES / f"{request.node.name}.png", full_page=True)
    assert watched.complaints == []
    assert watched.outside(running.url) == []
    context.close()


def step_of(page):
    """The newest step that is in sight."""
    shown = page.get_by_role("region", name="How Hers goes").get_by_text(
        re.compile(r"^step [\d,]+ of")
    )
    shown.first.wait_for(timeout=150_000)  # clips are prepared first
    return int(re.search(r"step ([\d,]+)", shown.first.inner_text())[1].replace(",", ""))


def found_after_reload(page):
    """How many seconds a reloaded page takes until the run is there, no earlier than it was."""
    seen, begun = step_of(page), time.monotonic()
    page.reload(wait_until="commit")
    assert step_of(page) >= seen
    return time.monotonic() - begun


def wait_until(page, is_true, seconds=20):
    # The page's policy lets nothing be compiled in it, as Playwright's own waiting does.
    deadline = time.monotonic() + seconds
    while not page.evaluate(is_true):
        assert time.monotonic() < deadline, is_true
        page.wait_for_timeout(50)


def wait_for_step(page, least):
    deadline = time.monotonic() + 90
    while (step := step_of(page)) < least and time.monotonic() < deadline:
        page.wait_for_timeout(100)
    assert step >= least
    return step


def test_a_training_is_planned_begun_heard_reloaded_stopped_and_gone_on_with(wide, running, ada):
    page = wide
    page.get_by_text(re.compile("fits, .* to spare")).wait_for(timeout=60_000)

    # The plan follows a slider at once.
    page.get_by_role("slider", name="Clips behind each change").press("Home")
    page.get_by_text("1 at once, the whole step").wait_for(timeout=2000)
    page.get_by_role("button", name="Back to the advice: Clips behind").click()
    page.get_by_text("6 at once, the whole step").wait_for(timeout=2000)
    page.get_by_role("slider", name="Clips at once").press("Home")
    page.get_by_text(re.compile("1 at once, 6 times a step: .* clips a second")).wait_for(
        timeout=2000
    )
    page.get_by_role("button", name="Back to the advice: Clips at once").click()
    page.get_by_label("Name of the person who is heard").fill("Ada Lovelace")
    page.get_by_label("Yes").check()
    page.get_by_label("Name of the run and its voice").fill("Hers")
    page.screenshot(path=PICTURES / "train-plan.png", full_page=True)
    page.get_by_role("button", name="Start training").click()

    # It goes, and a reload finds it with the whole curve.
    wait_for_step(page, 4)
    curve = page.get_by_role("slider", name=re.compile("Training loss from"))
    curve.press("Home")
    assert curve.get_attribute("aria-valuetext").startswith("step ")
    assert min(found_after_reload(page) for _ in range(3)) < 2
    assert page.get_by_role("slider", name=re.compile("Training loss from")).is_visible()

    # It is heard: the base at once, and what it learned when it is asked.
    page.get_by_role("button", name="Play: base, before it learned").click()
    wait_until(page, "document.getElementById('player').currentTime > 0.2")
    assert page.evaluate(LOUD, page.evaluate("document.getElementById('player').src")) > 0.01
    page.get_by_role("button", name="Sample now").click()
    spoken = page.get_by_role("button", name=re.compile(r"Play: step \d"))
    spoken.first.wait_for(timeout=60_000)
    spoken.first.click()
    wait_until(page, "/step=[1-9]/.test(document.getElementById('player').src)")

    # Stopped, it offers to go on, and goes on where it was.
    page.get_by_role("button", name="Stop and save").click()
    page.get_by_role("button", name="Resume").wait_for(timeout=60_000)
    assert page.get_by_role("button", name="Stop and save").count() == 0
    stopped = step_of(page)
    page.get_by_role("button", name="Resume").click()
    page.get_by_role("button", name="Sample now").wait_for(timeout=60_000)
    assert wait_for_step(page, stopped + 1) <= stopped + 60
    page.get_by_role("button", name="Stop and save").click()
    page.get_by_role("button", name="Resume").wait_for(timeout=60_000)

    workspace = open_workspace(running.home)
    [run] = [each for each in runs.all(workspace) if each.plan.name == "Hers"]
    steps = [event.step for event in runs.history(run.folder) if type(event).__name__ == "Step"]
    workspace.close()
    assert run.plan.whose == "Ada Lovelace" and run.plan.agreed is True
    assert max(steps) == run.step > stopped


@pytest.fixture
def two(workspace):
    """A project with two runs that are over, of which only the page is looked at."""
    item = projects.create(workspace, f"Two {time.monotonic_ns()}")
    with projects.open_project(projects.folder_of(workspace, item)) as project:
        trainee.freeze(project)
    for name, seed in (("First", 0), ("Other", 1)):
        plan = Plan(
            f"{name} {item.id}", item.id, 1, "pocket", "/base", train=TrainSettings(seed=seed)
        )
        folder = runs.create(workspace, plan)
        steps = [trainee.step_event(step, 300, 2 - step / 300) for step in range(1, 300)]
        trainee.write_history(
            folder, *steps, *(Measured(at, 1.5 - at / 300, {}) for at in (1, 299))
        )
    return item


def test_what_cannot_be_used_is_said_beside_its_field_and_nothing_begins_with_it(
    page, running, ada
):
    page.goto(f"{running.url}#{ada.id}/train")
    begin = page.get_by_role("button", name="New training")
    rate = page.get_by_role("textbox", name="Learning rate")
    start = page.get_by_role("button", name="Start training")
    begin.or_(page.get_by_role("heading", name="The plan")).first.wait_for()
    if begin.count():
        begin.click()
    page.get_by_role("radio", name="Pocket").check()
    rate.wait_for(timeout=60_000)
    advised = rate.input_value()

    for wrong in ("abc", "99", "-1", "1,000.5"):
        rate.fill(wrong)
        rate.blur()
        page.get_by_role("alert").get_by_text("a number within the limits").wait_for()
        assert rate.input_value() == wrong
        assert start.is_disabled()

    rate.fill("0,0002")
    rate.blur()
    page.get_by_text("Yours.").first.wait_for()
    assert float(rate.input_value()) == 0.0002
    assert start.is_enabled()
    rate.fill("")
    rate.blur()
    page.get_by_text("As advised for the batch.").wait_for()
    deadline = time.monotonic() + 60  # once the plan is there again
    while rate.input_value() != advised:
        assert time.monotonic() < deadline
        page.wait_for_timeout(50)

    page.get_by_label("Ends after so many minutes").fill("-5")
    page.get_by_text("What if it were another card?").click()
    page.get_by_label("Memory of that GPU").fill("0")
    page.get_by_text("More settings").click()
    decay = page.get_by_role("textbox", name="Weight decay")
    decay.fill("much")
    page.screenshot(path=PICTURES / "train-unfit.png", full_page=True)
    assert page.get_by_text("a number within the limits").count() == 3
    page.get_by_label("Ends after so many minutes").fill("")
    page.get_by_label("Memory of that GPU").fill("")
    assert start.is_disabled()
    decay.fill("0,5")
    decay.blur()
    assert start.is_enabled()


def test_a_line_says_nothing_where_its_run_never_came(page, running, workspace, two):
    long = next(each for each in runs.all(workspace) if each.plan.name == f"Other {two.id}")
    trainee.write_history(long.folder, *(trainee.step_event(at, 400, 1) for at in range(300, 400)))
    page.goto(f"{running.url}#{two.id}/train")
    listed = page.get_by_role("region", name="Trainings")

    listed.get_by_label("Compare First").check()
    listed.get_by_label("Compare Other").check()
    lines = listed.get_by_role("slider", name="Training loss of the marked")
    lines.wait_for()

    assert f"First {two.id} –" in lines.get_attribute("aria-valuetext")
    lines.press("Home")
    assert "–" not in lines.get_attribute("aria-valuetext")
    assert listed.get_by_role("row", name="How like the voice").count() == 0


@BOTH
def test_the_names_of_runs_stand_below_each_other(page, running, workspace, two):
    other = next(e for e in runs.all(workspace) if e.plan.name == f"Other {two.id}")
    tending.rename(workspace, other.id, f"A much longer name than the other {two.id}")
    page.goto(f"{running.url}#{two.id}/train")
    names = page.get_by_role("region", name="Trainings").locator(".name")
    names.nth(1).wait_for()

    begins = page.evaluate("""[...document.querySelectorAll('[aria-label=Trainings] .name')].map((each) => {
      const range = document.createRange(); range.selectNodeContents(each);
      return Math.round(range.getBoundingClientRect().left); })""")

    assert len(set(begins)) == 1


@pytest.mark.parametrize("watched", [NARROW], indirect=True, ids=["narrow"])
def test_a_chart_hangs_over_nothing_while_its_style_is_on_its_way(page, running, two):
    held = []
    page.route("**/parts/chart.css", lambda route: held.append(route))
    page.goto(f"{running.url}#{two.id}/train")
    page.locator(".chart svg").first.wait_for()

    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    held[0].continue_()


def test_runs_are_compared_renamed_put_away_and_taken_back(page, running, workspace, two):
    page.goto(f"{running.url}#{two.id}/train")
    listed = page.get_by_role("region", name="Trainings")

    listed.get_by_label("Compare First").check()
    listed.get_by_label("Compare Other").check()
    both = listed.get_by_role("slider", name="Loss of check clips of the marked")
    both.press("End")
    assert both.get_attribute("aria-valuetext").count("0.5") == 2
    assert (
        listed.get_by_role("row", name="seed 0 1")
        .or_(listed.get_by_role("row", name="seed 1 0"))
        .is_visible()
    )

    row = listed.get_by_role("listitem").filter(has_text="Other")
    row.get_by_role("button", name="Rename").click()
    page.get_by_label("Another name").fill(f"First {two.id}")
    page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    refused = page.get_by_role("dialog").get_by_role("alert")
    refused.wait_for()
    assert page.locator(".note.bad").count() == 0
    page.get_by_label("Another name").fill(f"Countess {two.id}")
    refused.wait_for(state="hidden")
    page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    row = listed.get_by_role("listitem").filter(has_text="Countess")
    row.get_by_role("button", name="Move to trash").click()
    row.wait_for(state="hidden")
    page.get_by_role("status").get_by_role("button", name="Take back").click()
    listed.get_by_role("button", name="Countess").wait_for()

    assert runs.find(workspace, f"Countess {two.id}").plan.train.seed == 1


@pytest.fixture
def broken(workspace, two):
    """A run that could not learn, with the settings that made it so."""
    settings = TrainSettings(batch=3, learning_rate=1.0)
    plan = Plan(f"Broken {two.id}", two.id, 1, "pocket", "/base", train=settings)
    folder = runs.create(workspace, plan)
    job = JobFolder(workspace.jobs / names.new_id())
    job.write_request(Request("train", "Train Broken", ("python", str(folder.path))))
    what, fix = "3 steps could not be learned from.", "Begin again."
    error = f"engines.errors.UnlearnableError: {what} {fix}"
    job.write_outcome(Outcome("not-learning", what, fix, error))
    with workspace.store.change() as store:
        store.execute("INSERT INTO jobs VALUES (?, 1, '', '', 'ended', '', '')", (job.id,))
    folder.note_job(job.id)
    return two


def test_what_could_not_learn_is_begun_again_with_its_settings_and_a_lower_rate(
    page, running, broken
):
    page.goto(f"{running.url}#{broken.id}/train")
    goes = page.get_by_role("region", name=f"How Broken {broken.id} goes")
    goes.get_by_text("could not be learned from").wait_for()
    assert goes.get_by_text("The first error").count() == 0
    assert goes.get_by_role("button", name="Resume").count() == 0

    goes.get_by_role("button", name="New training with other settings").click()

    page.get_by_text(f"These are the settings of Broken {broken.id}").wait_for()
    kept = page.evaluate("(id) => localStorage.getItem(`timbre.train.${id}`)", broken.id)
    assert json.loads(kept)["train"] == {"batch": 3}


def test_nothing_serious_is_in_the_way_of_anybody(page, running, two):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page.goto(f"{running.url}#{two.id}/train")
    page.get_by_role("button", name="New training").click()
    page.get_by_role("heading", name="The plan").wait_for()
    for folded in page.locator("summary").all():
        folded.click()

    found = axe.Axe().run(page).response["violations"]

    assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []
