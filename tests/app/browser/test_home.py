"""Home and the frame around every place, used as a person would."""

from __future__ import annotations

import time

import pytest

from finetune import projects
from finetune.jobs import queue
from tests.app.browser.conftest import BOTH
from tests.app.browsing import needs_browser
from tests.jobs_at_work import request

pytestmark = needs_browser

HOSTILE = ["<img src=x onerror=alert(1)>", "<script>alert(1)</script>", "مرحبا", "..", "CON", "-rf"]


def create(page, name):
    page.get_by_role("link", name="Home").click()
    page.get_by_label("New project").fill(name)
    page.get_by_role("button", name="Create project").click()
    page.get_by_role("link", name="Recordings").and_(page.locator("[aria-current]")).wait_for()


def entry(page, name):
    return page.get_by_role("listitem").filter(has=page.get_by_role("link", name=name, exact=True))


def test_a_project_is_made_renamed_put_away_and_taken_back(page, workspace):
    name = f"Voice {time.monotonic_ns()}"
    create(page, name)
    assert page.get_by_role("combobox", name="Project").locator(":checked").inner_text() == name

    page.get_by_role("link", name="Home").click()
    entry(page, name).get_by_role("button", name="Rename").click()
    page.get_by_label("Another name").fill(f"{name} again")
    page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    entry(page, f"{name} again").get_by_role("button", name="Move to trash").click()
    page.get_by_role("status").get_by_role("button", name="Take back").click()
    entry(page, f"{name} again").wait_for()

    assert f"{name} again" in [item.name for item in projects.shelf(workspace).all()]


def test_what_is_in_the_trash_is_listed_and_taken_back(page, workspace):
    item = projects.create(workspace, f"Away {time.monotonic_ns()}")
    projects.shelf(workspace).trash(item.id)

    page.get_by_text("Trash (").click()
    thrown = page.get_by_role("listitem").filter(has_text=item.name)
    thrown.get_by_role("button", name="Take back").click()

    entry(page, item.name).wait_for()


def test_what_another_window_does_is_seen_here_within_two_seconds(page, workspace):
    item = projects.create(workspace, f"Elsewhere {time.monotonic_ns()}")
    entry(page, item.name).wait_for(timeout=2000)

    projects.shelf(workspace).trash(item.id)

    entry(page, item.name).wait_for(state="hidden", timeout=2000)


def test_hostile_names_are_shown_as_they_are_and_run_nothing(page):
    for name in HOSTILE:
        create(page, f"{name} {time.monotonic_ns()}")


def test_a_name_that_cannot_be_is_refused_with_a_sentence_and_stays_in_its_field(page):
    name = f"<b onclick=alert(1)>Twice</b> {time.monotonic_ns()}"
    create(page, name)

    page.get_by_role("link", name="Home").click()
    page.get_by_label("New project").fill(name)
    page.get_by_role("button", name="Create project").click()

    page.get_by_text("Choose another name.").wait_for()
    assert page.get_by_label("New project").input_value() == name


def test_a_job_is_in_sight_everywhere_and_stopped_from_home(page, workspace):
    job = queue.submit(workspace, request("count", 100_000))
    page.get_by_role("link", name="count").wait_for()

    page.get_by_role("region", name="What is going on").get_by_role(
        "button", name="Stop and save"
    ).click()

    list(job.folder.follow(poll_seconds=0.05))
    assert queue.find(workspace, job.id).outcome.what.startswith("Saved at step")
    page.get_by_text("Nothing is running").wait_for()


def test_a_place_that_was_left_before_it_came_does_not_stand_in_the_way(page):
    page.route("**/places/recordings.js", lambda route: (time.sleep(0.5), route.continue_()))

    page.evaluate("location.hash = '/recordings'; setTimeout(() => location.hash = '/home', 50)")
    page.wait_for_timeout(1200)

    page.get_by_label("New project").wait_for(timeout=1000)


def test_a_reload_and_the_address_keep_the_project_and_the_place(page, workspace):
    item = projects.create(workspace, f"Kept {time.monotonic_ns()}")
    entry(page, item.name).get_by_role("link").click()

    page.get_by_role("link", name="Train").click()
    page.reload()

    current = page.get_by_role("navigation").locator("[aria-current]")
    current.wait_for()
    assert current.inner_text() == "Train"
    assert (
        page.get_by_role("combobox", name="Project").locator(":checked").inner_text() == item.name
    )


def test_a_studio_that_is_gone_is_named_and_found_again(page, watched):
    page.route("**/timbre/call/**", lambda route: route.abort())
    page.get_by_role("alert").filter(has_text="does not answer").wait_for()

    page.unroute("**/timbre/call/**")

    page.get_by_role("alert").wait_for(state="hidden")
    watched.complaints.clear()  # Chromium counts what did not arrive


def test_what_was_refused_in_one_place_is_gone_in_the_next_and_a_fault_of_ours_stays(
    watched, page, workspace
):
    item = projects.create(workspace, f"There {time.monotonic_ns()}")
    page.get_by_label("New project").fill(item.name)
    page.get_by_role("button", name="Create project").click()
    page.get_by_role("status").filter(has_text="Choose another name.").wait_for()
    page.evaluate("setTimeout(() => { throw new TypeError('nothing is undefined'); })")
    page.get_by_role("status").filter(has_text="TypeError").wait_for()

    page.get_by_role("link", name="System").click()

    page.get_by_text("Choose another name.").wait_for(state="detached")
    note = page.locator(".note.bad").filter(has_text="TypeError")
    note.get_by_role("button", name="Close").click()
    note.wait_for(state="detached")
    watched.complaints.clear()


@BOTH
def test_the_place_that_is_open_is_in_sight_among_the_places(page):
    for name in ("System", "Home"):
        page.evaluate(f"location.hash = '/{name.lower()}'")
        current = page.get_by_role("navigation").locator("[aria-current]", has_text=name)
        current.wait_for()
        page.wait_for_timeout(100)

        sides = current.evaluate("""(link) => { const [of, all] = [link, link.closest('nav')].map(
          (each) => each.getBoundingClientRect());
          return [of.left - all.left, all.right - of.right]; }""")

        assert min(sides) >= -1


def test_one_of_a_thing_is_not_called_many(page, workspace):
    words = "import('/timbre/assets/parts/words.js')"

    said = page.evaluate(f"""async () => {{ const {{ t }} = await {words}; return [
      t('train.batch.is', {{ n: '1' }}), t('train.batch.is', {{ n: '0' }}),
      t('train.epochs.is', {{ n: '1', steps: '24' }}), t('next.build', {{ n: 1 }})]; }}""")

    assert said[:3] == ["1 clip", "0 clips", "1 time, 24 steps"]
    assert said[3].startswith("1 recording is there.")


@pytest.mark.parametrize("code", ["ba", "bo", "de"])
def test_a_language_has_a_name(page, code):
    said = page.evaluate(
        "async (code) => (await import('/timbre/assets/places/recordings/languages.js'))"
        ".languageName(code)",
        code,
    )

    assert said == {"ba": "Bashkir", "bo": "Tibetan", "de": "German"}[code]


def test_a_fault_of_ours_is_said_and_offers_a_report(watched, page):
    said = {"what": "Timbre has a fault here.", "fix": "Nothing is lost.", "fault": True}
    page.route("**/call/home.create", lambda route: route.fulfill(status=500, json=said))
    page.get_by_label("New project").fill("Faulty")
    page.get_by_role("button", name="Create project").click()

    note = page.get_by_role("status").filter(has_text="Timbre has a fault here.")
    with page.expect_download() as report:
        note.get_by_role("link", name="Download a report for help").click()
    assert report.value.suggested_filename.endswith(".zip")
    watched.complaints.clear()  # of the answer 500


def test_what_goes_wrong_in_the_page_itself_is_said_too(watched, page):
    page.evaluate("setTimeout(() => { throw new TypeError('nothing is undefined'); })")

    page.get_by_role("status").filter(has_text="TypeError: nothing is undefined").wait_for()
    page.evaluate("Promise.reject(new RangeError('too far')); 0")
    page.get_by_role("status").filter(has_text="RangeError: too far").wait_for()
    page.evaluate("Promise.reject(new DOMException('stopped', 'AbortError')); 0")
    page.wait_for_timeout(300)
    assert page.get_by_role("status").filter(has_text="stopped").count() == 0
    watched.complaints.clear()


def test_a_place_that_cannot_be_drawn_says_so_and_the_others_can_be(watched, page):
    page.route("**/call/home", lambda route: route.fulfill(json={"mark": "1", "data": {}}))
    page.reload()

    page.get_by_role("alert").get_by_text("This place has a fault").wait_for()
    page.get_by_role("link", name="Download a report for help").wait_for()
    assert watched.complaints
    watched.complaints.clear()
    page.get_by_role("link", name="System").click()
    page.get_by_role("heading", name="This computer").wait_for()
    page.unroute("**/call/home")
    page.get_by_role("link", name="Home").click()
    page.get_by_role("heading", name="Your voices").wait_for()


def test_the_page_speaks_the_language_of_the_browser(running, chromium):
    context = chromium.new_context(locale="zh-CN")
    page = context.new_page()

    page.goto(running.url)

    page.get_by_role("button", name="立即试用").wait_for()
    assert page.evaluate("document.documentElement.lang") == "zh-Hans"
    context.close()
